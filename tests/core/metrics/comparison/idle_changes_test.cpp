// Causes of idle time before and after.
#include "core/metrics/comparison/idle_changes.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/metrics/comparison/diff.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::metrics {
namespace {

using testing::ms;

/// A device's idle time in a recording of its own, in which ids and line numbers differ from those of others.
class idle_side {
 public:
  explicit idle_side(std::uint64_t first_id = 1) : next_(first_id) { idle_.span = {0, 30'000 * ms}; }

  idle_side& host(host_reason reason, std::string library, std::string_view function, std::uint64_t line, time_ns total,
                  std::string_view folder = "/home/a/") {
    trace::frame_row row;
    row.id = trace::frame_id{next_++};
    row.kind = trace::frame_kind::python;
    row.function = recorded_.text(function);
    row.file = recorded_.text(std::string(folder) + "model.py");
    row.line = line;
    recorded_.writer().add(row);
    host_cause_group group;
    group.cause = {reason, std::move(library), raw(row.id)};
    group.total = total;
    idle_.host.push_back(group);
    return add(gap_cause::host, total);
  }
  idle_side& add(gap_cause cause, time_ns total) {
    idle_.causes.push_back({cause, 1, total, total});
    idle_.busy = idle_.span.length();
    for (const cause_time& each : idle_.causes) idle_.busy -= each.total;
    return *this;
  }
  [[nodiscard]] const device_idle& idle() const { return idle_; }
  [[nodiscard]] named_idle named() {
    if (!trace_) {
      recorded_.close();
      trace_ = trace::file::open(recorded_.path()).value()->latest();
    }
    return {idle_, trace_->tables()};
  }

 private:
  testing::recording recorded_;
  std::shared_ptr<const trace::snapshot> trace_;
  device_idle idle_;
  std::uint64_t next_;
};

std::string describe(idle_side& before, idle_side& after) {
  return describe_idle_change({{0, 0}, before.idle(), after.idle(), compare_idle(before.named(), after.named())});
}

TEST(idle_changes, name_the_cause_that_went_away) {
  idle_side before, after(50);
  before.host(host_reason::nvrtc_compile, "NVRTC", "forward", 64, 9'400 * ms);
  before.host(host_reason::data_wait, "PyTorch", "batches", 12, 2'600 * ms);
  after.host(host_reason::data_wait, "PyTorch", "batches", 12, 2'000 * ms);
  const auto changes = compare_idle(before.named(), after.named());
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].reason, host_reason::nvrtc_compile);
  EXPECT_EQ(changes[0].library, "NVRTC");
  EXPECT_EQ(changes[0].line.line, 64U);
  EXPECT_EQ(changes[0].before, 9'400 * ms);
  EXPECT_EQ(changes[0].after, 0);
  EXPECT_EQ(describe_trend(changes[0]), "went away");
  EXPECT_EQ(describe_trend(changes[1]), "shrank");
  EXPECT_EQ(
      describe(before, after),
      "idle 12.0 s of 30.0 s -> 2.00 s of 30.0 s; went away: the host compiles CUDA C++ (NVRTC), at a/model.py:64 "
      "(forward) (-9.40 s)");
}

TEST(idle_changes, are_none_between_runs_that_differ_in_ids_lines_and_folders_only) {
  idle_side before, after(900);
  before.host(host_reason::sleep, "", "step", 10, 500 * ms).host(host_reason::lock, "", "step", 14, 300 * ms);
  before.add(gap_cause::wait, 200 * ms);
  after.host(host_reason::lock, "", "step", 17, 300 * ms, "/srv/b/");
  after.host(host_reason::sleep, "", "step", 13, 500 * ms, "/srv/b/").add(gap_cause::wait, 200 * ms);
  const auto changes = compare_idle(before.named(), after.named());
  ASSERT_EQ(changes.size(), 3U);
  for (const idle_cause_change& each : changes) EXPECT_EQ(each.change(), 0) << describe_cause_and_line(each);
  EXPECT_EQ(find_main_change(changes), nullptr);
  EXPECT_EQ(describe(before, after), "idle 1.00 s of 30.0 s -> 1.00 s of 30.0 s");
}

TEST(idle_changes, keep_reasons_libraries_and_lines_apart) {
  idle_side before, after;
  before.host(host_reason::cudnn_plan, "cuDNN", "step", 10, 100 * ms);
  before.host(host_reason::library_setup, "cuDNN", "step", 10, 200 * ms);
  before.host(host_reason::library_setup, "cuBLAS", "step", 10, 300 * ms);
  before.host(host_reason::library_setup, "cuBLAS", "step", 20, 400 * ms);
  after.host(host_reason::library_setup, "cuBLAS", "step", 20, 400 * ms);
  after.host(host_reason::library_setup, "cuFFT", "step", 10, 50 * ms);
  const auto changes = compare_idle(before.named(), after.named());
  ASSERT_EQ(changes.size(), 5U);
  EXPECT_EQ(changes[0].change(), -300 * ms);
  EXPECT_EQ(changes[1].change(), -200 * ms);
  EXPECT_EQ(changes[2].change(), -100 * ms);
  EXPECT_EQ(changes[3].library, "cuFFT");
  EXPECT_EQ(describe_trend(changes[3]), "new");
  EXPECT_EQ(describe_trend(changes[4]), "same");
}

TEST(idle_changes, name_the_largest_change_in_the_direction_of_the_sum) {
  idle_side before, after;
  before.add(gap_cause::wait, 600 * ms).add(gap_cause::blocking_copy, 600 * ms).add(gap_cause::launch, 0);
  after.add(gap_cause::launch, 700 * ms);
  const auto changes = compare_idle(before.named(), after.named());
  EXPECT_EQ(changes.front().cause, gap_cause::launch) << "the largest change comes first";
  const idle_cause_change* most = find_main_change(changes);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(most->cause, gap_cause::wait) << "less time in total";
}

TEST(idle_changes, compare_host_code_as_a_whole_if_one_side_was_not_sampled) {
  idle_side before, after;
  before.host(host_reason::sleep, "", "step", 10, 500 * ms);
  after.add(gap_cause::host, 300 * ms);
  const auto changes = compare_idle(before.named(), after.named());
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_FALSE(changes[0].reason);
  EXPECT_EQ(changes[0].change(), -200 * ms);
  EXPECT_EQ(describe_cause_and_line(changes[0]), "host code");
}

TEST(idle_changes, add_up_to_the_idle_time_of_each_side) {
  idle_side before, after;
  before.host(host_reason::sleep, "", "step", 10, 500 * ms).add(gap_cause::queued, 7 * ms);
  after.host(host_reason::sleep, "", "other", 10, 400 * ms).host(host_reason::gil, "", "step", 10, 30 * ms);
  time_ns sums[2] = {};
  for (const idle_cause_change& each : compare_idle(before.named(), after.named()))
    sums[0] += each.before, sums[1] += each.after;
  EXPECT_EQ(sums[0], before.idle().idle());
  EXPECT_EQ(sums[1], after.idle().idle());
}

}  // namespace
}  // namespace sluice::metrics
