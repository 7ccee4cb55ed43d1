#pragma once

#include <gtest/gtest.h>

#include <string>

#include "instrumentation/runtime/error.hpp"

namespace sluice::runtime {

/// Fails the test unless `action` throws an error whose message contains `about`.
template <class Action>
void complains(const std::string& about, Action&& action) {
  try {
    action();
    ADD_FAILURE() << "no error about '" << about << "'";
  } catch (const error& e) {
    EXPECT_NE(std::string(e.what()).find(about), std::string::npos) << e.what();
  }
}

}  // namespace sluice::runtime
