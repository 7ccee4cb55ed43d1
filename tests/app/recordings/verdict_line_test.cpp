#include "app/recordings/verdict_line.hpp"

#include <gtest/gtest.h>

namespace sluice::recordings {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

metrics::report get_report(std::vector<time_ns> busy, std::uint64_t peak, std::uint64_t all) {
  metrics::report subject;
  subject.verdict.time = 1000;
  for (const time_ns each : busy) subject.verdict.devices.push_back({trace::device_id{1}, each, 0, 0});
  subject.verdict.peak = peak;
  subject.verdict.device_bytes = all;
  return subject;
}

TEST(verdict_line, says_how_busy_the_gpu_was_and_the_peak) {
  const verdict_line line = make_verdict_line(get_report({910}, 71 * gib, 80 * gib));
  EXPECT_EQ(line.text, "GPU 91 % busy, peak 71.0 of 80.0 GiB");
  EXPECT_FALSE(line.bad);
  EXPECT_EQ(line.peak, 71 * gib);
}

TEST(verdict_line, keeps_units_that_differ) {
  EXPECT_EQ(make_verdict_line(get_report({50}, gib / 4, 80 * gib)).text, "GPU 5 % busy, peak 256 MiB of 80.0 GiB");
  EXPECT_EQ(make_verdict_line(get_report({50}, 2 * gib, 0)).text, "GPU 5 % busy, peak 2.00 GiB");
}

TEST(verdict_line, gives_the_range_of_several_gpus) {
  EXPECT_EQ(make_verdict_line(get_report({120, 450}, 0, 0)).text, "2 GPUs 12 % to 45 % busy");
}

TEST(verdict_line, names_an_error_first) {
  metrics::report subject = get_report({910}, 71 * gib, 80 * gib);
  metrics::finding other;
  other.severity = trace::severity::error;
  other.kind = metrics::finding_kind::failed_allocations;
  subject.findings.push_back(other);
  EXPECT_TRUE(make_verdict_line(subject).bad);
  EXPECT_NE(make_verdict_line(subject).text, "");
  subject.out_of_memory.emplace_back().short_by = "1.20 GiB";
  EXPECT_EQ(make_verdict_line(subject).text, "out of memory, short by 1.20 GiB");
  EXPECT_TRUE(make_verdict_line(subject).bad);
}

TEST(verdict_line, says_what_was_not_recorded_if_nothing_else_is_known) {
  metrics::report subject;
  subject.verdict.missing = {"no kernel ran", "no GPU memory was allocated"};
  EXPECT_EQ(make_verdict_line(subject).text, "no kernel ran");
  EXPECT_FALSE(make_verdict_line(subject).bad);
}

TEST(verdict_line, is_short_and_printable) {
  metrics::report subject;
  subject.verdict.missing = {"a\n\x1b[31m" + std::string(1000, 'x')};
  const std::string text = make_verdict_line(subject).text;
  EXPECT_LE(text.size(), 120U);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace sluice::recordings
