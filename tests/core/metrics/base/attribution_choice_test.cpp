#include "core/metrics/base/attribution_choice.hpp"

#include <gtest/gtest.h>

#include "core/metrics/line_use.hpp"
#include "core/metrics/make_report.hpp"
#include "tests/core/metrics/reports.hpp"
#include "tests/core/recordings/stacks.hpp"

namespace sluice::metrics {
namespace {

using symbols::attribution;
using testing::mib;
using testing::python;
using testing::recording;

const std::string torch = "/x/site-packages/torch/nn/modules/";
const std::string models = "/x/site-packages/transformers/models/gpt2.py";
const auto train = python("<module>", "/home/me/train.py", 9);

class attribution_choice_test : public ::testing::Test {
 protected:
  attribution_choice_test() { made_.standard_tables(); }

  void hold(std::uint64_t bytes, const std::vector<testing::made_frame>& stack,
            trace::layer layer = trace::layer::framework) {
    auto row = made_.event<trace::alloc_event>(static_cast<time_ns>(++blocks_));
    row.block = trace::block_id{blocks_};
    row.bytes = bytes;
    row.layer = layer;
    row.kind = trace::memory_kind::device;
    row.device = trace::device_id{1};
    row.stack = stack_(stack);
    row.name = made_.text("PyTorch");
    made_.writer().add(row);
  }
  void hold_by_module(std::uint64_t bytes, std::string_view function) {
    hold(bytes, {python(function, models), train});
  }
  report summed(std::optional<attribution> by = std::nullopt) {
    made_.close();
    const testing::indexed loaded(made_.open());
    symbols::frame_cache book;
    return make_report(loaded.index, *loaded.snapshot, std::nullopt, naming{.book = book, .by = by});
  }
  memory_peak peak(std::optional<attribution> by = std::nullopt) { return summed(by).peaks.at(0); }
  static std::vector<std::string> names(const memory_peak& subject) {
    std::vector<std::string> strings;
    for (const line_use& use : subject.asked_by.groups.lines) strings.push_back(symbols::get_name(use.line));
    return strings;
  }

  recording made_;
  testing::stack_maker stack_{made_};
  std::uint64_t blocks_ = 0;
};

TEST_F(attribution_choice_test, modules_say_more_than_the_one_line_of_a_trainer) {
  hold_by_module(40 * mib, "GPT2MLP.forward");
  hold_by_module(35 * mib, "GPT2Attention.forward");
  hold_by_module(25 * mib, "GPT2Model.prepare");
  const memory_peak subject = peak();
  EXPECT_EQ(subject.asked_by.by, attribution::module);
  EXPECT_FALSE(subject.asked_by.chosen_by_reader);
  EXPECT_EQ(subject.asked_by.choice.largest, (std::array<std::uint64_t, 4>{100 * mib, 100 * mib, 40 * mib, 100 * mib}));
  EXPECT_EQ(names(subject),
            (std::vector<std::string>{"GPT2MLP.forward", "GPT2Attention.forward", "(outside any module's forward())"}));
  ASSERT_EQ(subject.lines.lines.size(), 1U) << "by line, as before";
  EXPECT_EQ(subject.lines.lines[0].metrics.bytes, 100 * mib);
}

TEST_F(attribution_choice_test, a_tie_leaves_the_line) {
  hold(50 * mib, {python("A.forward", "/home/me/a.py", 1), train});
  hold(50 * mib, {python("B.forward", "/home/me/b.py", 1), train});
  EXPECT_EQ(peak().asked_by.by, attribution::line);
}

TEST_F(attribution_choice_test, a_little_more_even_is_a_tie_too) {
  hold(52 * mib, {python("A.forward", "/home/me/a.py", 1), train});
  hold(48 * mib, {python("B.forward", "/home/me/b.py", 1), train});
  hold(2 * mib, {python("C.forward", models), python("A.forward", "/home/me/a.py", 1), train});
  EXPECT_EQ(peak().asked_by.by, attribution::line);
}

// Otherwise an attribution that covers almost nothing would look the most even.
TEST_F(attribution_choice_test, what_is_not_known_is_one_group) {
  hold(60 * mib, {python("load", "/home/me/a.py", 1), train});
  hold(30 * mib, {python("load", "/home/me/b.py", 1), train});
  hold(10 * mib, {python("A.forward", models), python("load", "/home/me/a.py", 1), train});
  const memory_peak subject = peak();
  EXPECT_EQ(subject.asked_by.choice.largest[2], 90 * mib) << "in no module";
  EXPECT_EQ(subject.asked_by.by, attribution::line);
}

TEST_F(attribution_choice_test, the_reader_may_choose) {
  hold_by_module(60 * mib, "GPT2MLP.forward");
  hold(40 * mib, {python("load", "/home/me/a.py", 1), train});
  const memory_peak subject = peak(attribution::package);
  EXPECT_EQ(subject.asked_by.by, attribution::package);
  EXPECT_TRUE(subject.asked_by.chosen_by_reader);
  EXPECT_EQ(names(subject), (std::vector<std::string>{"transformers", "the program"}));
}

TEST_F(attribution_choice_test, is_one_for_a_recording_whatever_suits_its_other_peaks) {
  hold(500 * mib, {python("A.forward", "/home/me/a.py", 1), train}, trace::layer::driver);
  hold(500 * mib, {python("B.forward", "/home/me/b.py", 1), train}, trace::layer::driver);
  hold_by_module(40 * mib, "GPT2MLP.forward");
  hold_by_module(35 * mib, "GPT2Attention.forward");
  const report whole_report = summed();
  ASSERT_EQ(whole_report.peaks.size(), 2U);
  ASSERT_NE(main_peak(whole_report), nullptr);
  EXPECT_EQ(main_peak(whole_report)->layer, trace::layer::framework) << "the innermost";
  EXPECT_EQ(whole_report.grouping, attribution::module);
  for (const memory_peak& each : whole_report.peaks) EXPECT_EQ(each.asked_by.by, attribution::module);
  EXPECT_EQ(whole_report.peaks[0].asked_by.choice.by, attribution::line) << "the choice for this peak alone";
}

TEST_F(attribution_choice_test, a_framework_owns_its_blocks) {
  hold_by_module(60 * mib, "GPT2MLP.forward");
  EXPECT_EQ(names(peak(attribution::owner)), std::vector<std::string>{"PyTorch"});
}

}  // namespace
}  // namespace sluice::metrics
