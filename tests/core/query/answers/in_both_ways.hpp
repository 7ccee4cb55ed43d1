#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "core/query/engine/engine.hpp"
#include "core/summary/passes/finalize.hpp"
#include "tests/core/recordings/recording.hpp"

/// Answers about one program, from an index of its whole recording and from sections read a few at a time.
namespace sluice::query {

template <class Question>
typename Question::answer_type answer_of(const std::string& path, const Question& question) {
  engine asked(trace::file::open(path).value());
  const auto found = asked.ask_now(question);
  EXPECT_TRUE(found) << found.error().to_string();
  return found ? **found : typename Question::answer_type{};
}

template <class Answer>
struct both_ways {
  Answer whole;
  Answer sections;
};

/// `write` records the program; it is called twice.
template <class Question>
both_ways<typename Question::answer_type> ask_both_ways(const std::function<void(testing::recording&)>& write,
                                                        const Question& question) {
  testing::recording whole;
  testing::recording sections(64);
  write(whole);
  write(sections);
  whole.close();
  analysis::finalize_options ending;
  ending.least_events = 1;
  ending.section_events = 50;
  EXPECT_TRUE(analysis::finalize(sections.writer(), ending));
  return {answer_of(whole.path(), question), answer_of(sections.path(), question)};
}

}  // namespace sluice::query
