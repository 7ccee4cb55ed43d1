#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "core/query/engine/engine.hpp"
#include "core/summary/passes/finalize.hpp"
#include "tests/core/recordings/recording.hpp"

/// Computes results for one program twice: from an index of its whole recording, and from sections that are read a few
/// at a time.
namespace sluice::query {

template <class Query>
typename Query::result_type make_result(const std::string& path, const Query& query) {
  engine asked(trace::file::open(path).value());
  const auto found = asked.ask_now(query);
  EXPECT_TRUE(found) << found.error().to_string();
  return found ? **found : typename Query::result_type{};
}

template <class Result>
struct both_ways {
  Result whole;
  Result sections;
};

/// Runs `query` both ways. `write` writes the recording and is called twice.
template <class Query>
both_ways<typename Query::result_type> ask_both_ways(const std::function<void(testing::recording&)>& write,
                                                     const Query& query) {
  testing::recording whole;
  testing::recording sections(64);
  write(whole);
  write(sections);
  whole.close();
  summary::finalize_options ending;
  ending.min_events = 1;
  ending.section_events = 50;
  EXPECT_TRUE(summary::finalize(sections.writer(), ending));
  return {make_result(whole.path(), query), make_result(sections.path(), query)};
}

}  // namespace sluice::query
