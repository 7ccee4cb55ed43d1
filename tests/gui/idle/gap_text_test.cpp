#include "app/gui/views/idle/gap_text.hpp"

#include <gtest/gtest.h>

namespace sluice::gui {
namespace {

using metrics::gap_cause;
using metrics::host_reason;

query::gap_words make_words(host_reason reason, std::string library, std::string place, bool is_next = false) {
  query::gap_words words;
  words.reason = reason;
  words.library = std::move(library);
  words.place = std::move(place);
  words.place_is_next = is_next;
  return words;
}

TEST(text_of_a_gap, names_cause_call_and_line) {
  EXPECT_EQ(describe_cause(gap_cause::wait, "cuStreamSynchronize", "train.py:12 (step)", true),
            "synchronization (cuStreamSynchronize), at train.py:12 (step)");
  EXPECT_EQ(describe_cause(gap_cause::host, "", "train.py:12 (step)", true), "host code, before train.py:12 (step)");
  EXPECT_EQ(describe_cause(gap_cause::host, "", "", false), "host code");
}

TEST(text_of_a_gap, names_library_and_reason_if_samples_tell) {
  const auto words = make_words(host_reason::cudnn_plan, "cuDNN", "train.py:12 (step)");
  const std::string reason{metrics::get_words(host_reason::cudnn_plan)};
  EXPECT_EQ(describe_gap(gap_cause::host, "", words), reason + " (cuDNN), at train.py:12 (step)");
  EXPECT_EQ(make_gap_label(gap_cause::host, words), "cuDNN");
  EXPECT_EQ(describe_samples(words), reason + " (cuDNN)");
}

TEST(text_of_a_gap, keeps_the_cause_where_a_call_already_says_why) {
  const auto words = make_words(host_reason::gpu_wait, "", "train.py:12 (step)");
  EXPECT_EQ(describe_gap(gap_cause::wait, "cuStreamSynchronize", words),
            "synchronization (cuStreamSynchronize), at train.py:12 (step)");
  EXPECT_EQ(make_gap_label(gap_cause::wait, words), "synchronization");
}

TEST(text_of_a_gap, is_the_cause_without_samples) {
  const auto words = make_words(host_reason::unsampled, "", "train.py:12 (step)", true);
  EXPECT_EQ(describe_gap(gap_cause::host, "", words), "host code, before train.py:12 (step)");
  EXPECT_EQ(make_gap_label(gap_cause::host, words), "host code");
  EXPECT_EQ(describe_samples(words), "");
}

TEST(text_of_a_gap, is_the_line_where_no_reason_is_known) {
  const auto words = make_words(host_reason::own_code, "", "train.py:12 (step)");
  EXPECT_EQ(make_gap_label(gap_cause::host, words), "train.py:12 (step)");
}

}  // namespace
}  // namespace sluice::gui
