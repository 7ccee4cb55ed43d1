#include "core/metrics/verdict/finding_title.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/metrics/findings/shared/thresholds.hpp"

namespace sluice::metrics::finding_titles {
namespace {

finding of_kind(finding_kind kind, std::string detail = {}) {
  finding output;
  output.kind = kind;
  output.detail = std::move(detail);
  return output;
}

TEST(title, names_the_problem_and_not_what_is_saved) {
  for (std::size_t i = 0; i < finding_kind_count; ++i) {
    const std::string title = get_title(of_kind(static_cast<finding_kind>(i)));
    EXPECT_NE(title, "Finding") << i;
    EXPECT_FALSE(title.starts_with("Saves")) << title;
    EXPECT_TRUE(title[0] >= 'A' && title[0] <= 'Z') << title;
    EXPECT_NE(title.back(), '.');
  }
}

TEST(title, says_how_much) {
  EXPECT_EQ(get_title(of_kind(finding_kind::memory_grows, "304 MiB in 19 blocks")),
            "Memory leak: 304 MiB in 19 blocks");
  EXPECT_EQ(get_title(of_kind(finding_kind::failed_allocations, "short by 14.2 GiB")),
            "Out of memory: short by 14.2 GiB");
  EXPECT_EQ(get_title(of_kind(finding_kind::idle_gaps, "host code")), "GPU waits for the host: host code");
}

TEST(title, names_no_cause_that_is_not_known) {
  EXPECT_EQ(get_title(of_kind(finding_kind::idle_gaps)), "GPU idle");
  EXPECT_EQ(get_title(of_kind(finding_kind::failed_allocations)), "Failed allocations");
}

TEST(title, calls_memory_that_is_kept_once_no_leak) {
  finding kept = of_kind(finding_kind::unfreed_blocks, "30.0 MiB in 40 blocks");
  EXPECT_EQ(get_title(kept), "Never freed: 30.0 MiB in 40 blocks");
  kept.severity = trace::severity::warning;
  EXPECT_EQ(get_title(kept), "Memory leak: 30.0 MiB in 40 blocks") << "more was allocated until the end";
}

TEST(saving, says_how_much_and_how_sure) {
  EXPECT_EQ(describe_saving({}), "");
  EXPECT_EQ(describe_saving({.reserved_bytes = 114U << 20, .basis = saving_basis::measured, .share = 0.12}),
            "up to 114 MiB of reserved memory (12 %, measured)");
  EXPECT_EQ(describe_saving({.time = 842'000'000, .basis = saving_basis::modelled, .share = 0.58}),
            "up to 842 ms (58 % of the time after start-up, estimated)");
  EXPECT_EQ(describe_saving({.peak_bytes = 80U << 20, .basis = saving_basis::swept, .share = 0.26}),
            "up to 80.0 MiB of the peak (26 %, replayed)");
  EXPECT_EQ(
      describe_saving(
          {.reserved_bytes = 104U << 20, .basis = saving_basis::modelled, .share = 0.25, .bytes_error = 32U << 20}),
      "72.0 MiB to 136 MiB of reserved memory (25 %, replayed)");
}

TEST(overlaps, names_the_other_findings_and_says_that_their_savings_do_not_add_up) {
  report subject;
  for (const finding_kind kind : {finding_kind::pageable_copies, finding_kind::copies_not_overlapped})
    subject.findings.emplace_back().kind = kind;
  EXPECT_EQ(describe_overlaps(subject.findings[0], subject), "");
  subject.findings[0].overlaps = {1};
  EXPECT_EQ(describe_overlaps(subject.findings[0], subject),
            "Overlaps with: GPU waits for copies. Both savings cannot be added.");
}

TEST(commands, show_the_finding_of_the_recording_in_a_shell) {
  finding subject;
  subject.kind = finding_kind::held_late;
  EXPECT_EQ(list_commands(subject, "runs/train.sluice").front(), "sluice report runs/train.sluice --explain held_late");
  EXPECT_EQ(list_commands(subject, "my run's.sluice").front(),
            "sluice report 'my run'\\''s.sluice' --explain held_late");
}

TEST(place, names_the_line_and_who_called_it) {
  code_place place;
  EXPECT_EQ(describe_place(place), "");
  place.known = true;
  place.line.kind = trace::frame_kind::python;
  place.line.function = "make_batch";
  place.line.file = "train.py";
  place.line.line = 12;
  place.caller = place.line;
  EXPECT_EQ(describe_place(place), "train.py:12 (make_batch)");
  place.caller.function = "main";
  place.caller.line = 80;
  EXPECT_EQ(describe_place(place), "train.py:12 (make_batch), called from train.py:80 (main)");
}

}  // namespace
}  // namespace sluice::metrics::finding_titles
