// A frame of sluice top has the right content and fits the terminal.
#include "app/cli/top/view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/printable.hpp"
#include "core/base/utf8.hpp"

namespace sluice::cli::top {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

top_metrics training(std::size_t gpus = 1, std::size_t processes = 1, std::size_t held = 2) {
  top_metrics output;
  output.span = {0, 12'000'000'000};
  output.growing = true;
  output.events = 1'200'000;
  output.memory = "framework tensors";
  for (std::size_t i = 0; i < gpus; ++i) {
    gpu_row gpu;
    gpu.label = "GPU " + std::to_string(i);
    gpu.name = "NVIDIA H200";
    gpu.used = 10 * gib;
    gpu.change = -static_cast<std::int64_t>(gib);
    gpu.reserved = 12 * gib;
    gpu.untracked = gib;
    gpu.whole = 14 * gib;
    gpu.memory_bytes = 140 * gib;
    gpu.to_device = {true, 12e9, 50.4e9, 63e9, 0.25};
    output.gpus.push_back(gpu);
  }
  for (std::size_t i = 0; i < processes; ++i)
    output.processes.push_back({4000 + i, -1, "GPU 0", 10 * gib, 12 * gib, "python train.py"});
  output.stacks = true;
  output.held_title = "GPU 0, framework tensors, by line";
  for (std::size_t i = 0; i < held; ++i)
    output.held.push_back({6 * gib, 12, 0.6, "train.py:" + std::to_string(i + 1) + ", make"});
  return output;
}

std::vector<std::string> to_text(const top_metrics& subject, std::size_t columns = 80, std::size_t rows = 24,
                                 std::optional<double> rate = std::nullopt) {
  std::vector<std::string> strings;
  for (const view_line& each : make_view(subject, {"train.sluice", rate, columns, rows})) strings.push_back(each.text);
  return strings;
}

TEST(top_view, says_the_metrics) {
  const auto lines = to_text(training());
  EXPECT_THAT(lines, ::testing::ElementsAre(
                         "train.sluice: 12.0 s, being written",
                         "1,200,000 events, 100,000 per second (mean), 0 lost, 0 failed allocations",
                         "used: framework tensors; reserved: from the driver", "",
                         "GPU        used   in 1 min  reserved  untracked  whole GPU  in use  name",
                         "GPU 0  10.0 GiB  -1.00 GiB  12.0 GiB   1.00 GiB   14.0 GiB    10 %  NVIDIA H200", "",
                         "GPU    copies          last second  while copying  of link  copying",
                         "GPU 0  host to device    12.0 GB/s      50.4 GB/s     80 %     25 %", "",
                         " PID  GPU        used  reserved  command", "4000  GPU 0  10.0 GiB  12.0 GiB  python train.py",
                         "", "Live memory: GPU 0, framework tensors, by line",
                         "6.00 GiB  60 %  12 blocks  train.py:1, make", "6.00 GiB  60 %  12 blocks  train.py:2, make"));
}

TEST(top_view, says_how_the_recording_is) {
  top_metrics subject = training();
  subject.seconds_since = 12.3;
  EXPECT_EQ(to_text(subject)[0], "train.sluice: 12.0 s, being written, no new events for 12 s");
  subject.seconds_behind = 5;
  EXPECT_EQ(to_text(subject)[0], "train.sluice: 12.0 s, being written, metrics 5 s old");
  subject.growing = false;
  EXPECT_EQ(to_text(subject)[0], "train.sluice: 12.0 s, cut short: the recorder ended early");
  subject.complete = true;
  subject.simulated = true;
  EXPECT_EQ(to_text(subject)[0], "train.sluice: 12.0 s on the simulated device, finished");
  subject.lost = 7;
  subject.failed = 1;
  EXPECT_EQ(to_text(subject, 80, 24, 2'500.4)[1], "1,200,000 events, 2,500 per second, 7 lost, 1 failed allocation");
}

TEST(top_view, shows_errors_first) {
  top_metrics subject = training();
  subject.errors = {"12 allocations failed."};
  const auto lines = to_text(subject);
  EXPECT_EQ(lines[4], "Errors");
  EXPECT_EQ(lines[5], "12 allocations failed.");
}

TEST(top_view, says_what_is_not_known) {
  top_metrics subject = training();
  gpu_row& gpu = subject.gpus[0];
  gpu.used.reset();
  gpu.untracked.reset();
  gpu.whole.reset();
  gpu.reserved = 0;
  gpu.to_device = {};
  subject.processes[0].gpu.clear();
  subject.processes[0].reserved = 0;
  subject.processes[0].rank = 3;
  subject.stacks = false;
  const auto lines = to_text(subject);
  EXPECT_THAT(lines, Contains("GPU 0     -         -         -          -          -       -  NVIDIA H200"));
  EXPECT_THAT(lines, Contains("4000     3  -       -         -  python train.py"));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("copies"))));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("Live memory"))));
  EXPECT_EQ(to_text({}).size(), 3U) << "nothing was recorded";
}

TEST(top_view, fits_every_terminal) {
  top_metrics subject = training(8, 64, 64);
  subject.errors.assign(5, std::string(500, 'x'));
  for (const std::size_t columns : {1U, 2U, 40U, 80U, 200U})
    for (std::size_t rows = 1; rows < 120; ++rows) {
      const auto lines = to_text(subject, columns, rows);
      ASSERT_LE(lines.size(), rows);
      for (const std::string& line : lines) ASSERT_LE(line.size(), columns) << line;
    }
  const auto lines = to_text(subject);
  EXPECT_EQ(lines.size(), 24U);
  for (const char* each : {"Errors", "GPU        used", "GPU    copies", " PID  GPU"})
    EXPECT_THAT(lines, Contains(HasSubstr(each)));
  EXPECT_THAT(lines, Contains("... 63 more"));
  EXPECT_EQ(to_text(subject, 80, 1000).size(), 3U + 7 + 10 + 10 + 66 + 66) << "everything, if there is space";
}

TEST(top_view, cuts_between_characters) {
  top_metrics subject = training();
  subject.held[0].text = "α.py:1, ββββββββββββ";
  for (std::size_t columns = 1; columns < 60; ++columns)
    for (const std::string& line : to_text(subject, columns))
      EXPECT_EQ(first_not_utf8(line), std::string::npos) << line;
}

// Names that contain terminal control sequences.
TEST(top_view, escapes_names) {
  const std::string hostile =
      "a\033[2J\r\nb\xe2\x80\xae\x9b"
      "c";
  top_metrics subject = training();
  subject.gpus[0].name = subject.processes[0].command = subject.held[0].text = subject.held_title = hostile;
  subject.errors = {hostile};
  for (const view_line& each : make_view(subject, {hostile, std::nullopt, 500, 100}))
    EXPECT_TRUE(is_printable(each.text)) << each.text;
}

}  // namespace
}  // namespace sluice::cli::top
