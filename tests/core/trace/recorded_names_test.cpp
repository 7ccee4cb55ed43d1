#include "core/trace/model/recorded_names.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace sluice::trace {
namespace {

TEST(recorded_names, of_python_are_those_that_its_hook_writes) {
  std::ifstream in(SLUICE_SOURCE_DIR "/instrumentation/capture/python/sitecustomize.py");
  const std::string hook(std::istreambuf_iterator<char>(in), {});
  ASSERT_FALSE(hook.empty());
  for (const char* const name :
       {recorded_names::garbage_collection, recorded_names::next_batch, recorded_names::compilation})
    EXPECT_NE(hook.find("(b\"" + std::string(name) + "\""), std::string::npos) << name;
}

}  // namespace
}  // namespace sluice::trace
