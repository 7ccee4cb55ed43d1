// Which panel is in front when a recording is opened.
#include "app/gui/shell/panels/front_panel.hpp"

#include <gtest/gtest.h>

namespace sluice::gui::front_panels {
namespace {

TEST(front_panel, follows_the_kind_of_recording) {
  EXPECT_EQ(choose_front_panel({.kernels = true}), "Idle gaps") << "a timeline of Nsight or Kineto";
  EXPECT_EQ(choose_front_panel({.memory = true}), "Memory over time") << "a snapshot of PyTorch";
  EXPECT_EQ(choose_front_panel({.kernels = true, .memory = true}), "Blocks");
  EXPECT_EQ(choose_front_panel({}), "Blocks");
}

TEST(front_panel, shows_ranks_of_a_job_and_before_all_else_memory_that_ran_out) {
  EXPECT_EQ(choose_front_panel({.kernels = true, .memory = true, .ranks = true}), "Ranks");
  EXPECT_EQ(choose_front_panel({.memory = true, .out_of_memory = true, .ranks = true}), "Memory map");
}

TEST(front_panel, takes_the_facts_from_the_report) {
  metrics::report report;
  EXPECT_EQ(find_facts(report), recording_facts{});
  report.whole.devices.emplace_back().kernels = 1;
  metrics::memory_peak& peak = report.peaks.emplace_back();
  peak.blocks = 1;
  peak.kind = trace::memory_kind::device;
  report.waste.ranks.resize(2);
  report.out_of_memory.emplace_back();
  EXPECT_EQ(find_facts(report), (recording_facts{true, true, true, true}));
}

TEST(front_panel, does_not_count_host_memory_or_a_single_rank) {
  metrics::report report;
  metrics::memory_peak& peak = report.peaks.emplace_back();
  peak.blocks = 1;
  peak.kind = trace::memory_kind::pinned;
  report.waste.ranks.resize(1);
  EXPECT_EQ(find_facts(report), recording_facts{});
}

}  // namespace
}  // namespace sluice::gui::front_panels
