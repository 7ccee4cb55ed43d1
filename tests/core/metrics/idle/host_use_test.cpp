#include "core/metrics/idle/host_use.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "core/base/cancel.hpp"
#include "tests/core/recordings/each_seed.hpp"
#include "tests/core/recordings/recording.hpp"

/// Compares the sums with the obvious way: every ns of every thread is looked at.
namespace sluice::metrics {
namespace {

using testing::indexed;
using testing::recording;
using trace::device_id;
using trace::host_state;
using trace::process_id;

constexpr time_ns span = 400;

using work_key = std::tuple<std::uint64_t, host_state, std::int64_t>;
using times = std::map<work_key, time_ns>;

struct known_kernel {
  time_range span;
  device_id device{};
};
struct known_sample {
  index::thread_key thread;
  time_range span;
  work_key work;
};
struct known_launch {
  index::thread_key thread;
  time_ns begin = 0;
};

/// Process 1 uses device 1, process 2 device 2. Process 3 is a child of 1, and 4 of 2; they use no device.
class random_use_program {
 public:
  explicit random_use_program(std::uint64_t seed) : random_(seed), recorded_(1 + seed % 30) {
    recorded_.standard_tables();
    for (std::uint64_t id = 2; id <= 4; ++id) {
      trace::process_row process;
      process.id = process_id{id};
      process.parent = id == 2 ? process_id::none : process_id{id - 2};
      recorded_.writer().add(process);
    }
    trace::device_row device;
    device.id = device_id{2};
    device.ordinal = 1;
    recorded_.writer().add(device);
    trace::stream_row stream;
    stream.id = trace::stream_id{2};
    stream.process = process_id{2};
    stream.device = device.id;
    recorded_.writer().add(stream);
    for (std::uint64_t process = 1; process <= 4; ++process)
      for (std::uint64_t thread = 0; thread < 2; ++thread)
        add_samples({process_id{process}, trace::thread_id{process * 2 + thread}});
    for (int i = 0; i < 25; ++i) add_kernel(device_id{1 + random_() % 2});
    for (int i = 0; i < 6; ++i) add_call();
    recorded_.close();
  }

  [[nodiscard]] times count_slowly(const host_use_filter& filter) const {
    std::set<index::thread_key> launching;
    for (const known_launch& each : launches_)
      if (filter.range.holds(each.begin)) launching.insert(each.thread);
    times found;
    for (const known_sample& each : samples_) {
      const device_id device{2 - raw(each.thread.process) % 2};
      if (filter.device && device != *filter.device) continue;
      if (filter.process != process_id::none && filter.process != each.thread.process) continue;
      if (filter.only_launching && !launching.empty() && !launching.contains(each.thread)) continue;
      for (time_ns time = each.span.begin; time < each.span.end; ++time)
        if (filter.range.holds(time) && (!filter.only_idle || is_idle(device, time))) ++found[each.work];
    }
    return found;
  }
  [[nodiscard]] time_ns count_idle(device_id device, time_range range) const {
    time_ns idle = 0;
    for (time_ns time = range.begin; time < range.end; ++time) idle += is_idle(device, time) ? 1 : 0;
    return idle;
  }
  [[nodiscard]] const recording& recorded() const { return recorded_; }

 private:
  [[nodiscard]] bool is_idle(device_id device, time_ns time) const {
    return std::none_of(kernels_.begin(), kernels_.end(),
                        [&](const known_kernel& each) { return each.device == device && each.span.holds(time); });
  }
  time_ns draw(time_ns most) { return static_cast<time_ns>(random_() % static_cast<std::uint64_t>(most)); }

  void add_samples(const index::thread_key& thread) {
    time_ns now = draw(60);
    while (now < span) {
      trace::host_sample_event row;
      row.time = now;
      row.process = thread.process;
      row.thread = thread.thread;
      row.length = draw(40);
      row.state = static_cast<host_state>(random_() % trace::host_state_count);
      row.stack = trace::stack_id{random_() % 3};
      if (random_() % 3 == 0) row.system_call = draw(3);
      recorded_.writer().add(row);
      samples_.push_back({thread, {now, now + row.length}, {raw(row.stack), row.state, row.system_call}});
      now += row.length + (random_() % 4 == 0 ? draw(50) : 0);
    }
  }
  void add_kernel(device_id device) {
    auto row = recorded_.event<trace::kernel_event>(draw(span));
    row.process = process_id{raw(device)};
    row.device = device;
    row.stream = trace::stream_id{raw(device)};
    row.end = row.time + draw(25);
    recorded_.writer().add(row);
    kernels_.push_back({{row.time, row.end}, device});
  }
  void add_call() {
    auto row = recorded_.event<trace::api_call_event>(draw(span));
    const std::uint64_t process = 1 + random_() % 4;
    row.process = process_id{process};
    row.thread = trace::thread_id{process * 2 + random_() % 2};
    row.end = row.time + draw(10);
    const bool launches = random_() % 2 == 0;
    row.name = recorded_.text(launches ? "cuLaunchKernel" : "cuCtxSynchronize");
    recorded_.writer().add(row);
    if (launches) launches_.push_back({{row.process, row.thread}, row.time});
  }

  std::mt19937_64 random_;
  recording recorded_;
  std::vector<known_kernel> kernels_;
  std::vector<known_sample> samples_;
  std::vector<known_launch> launches_;
};

times to_times(const std::vector<host_share>& shares) {
  times found;
  for (const host_share& each : shares)
    found[{raw(each.work.stack), each.work.state, each.work.system_call}] += each.time;
  return found;
}

std::vector<host_use_filter> list_filters(std::uint64_t seed) {
  const time_ns begin = static_cast<time_ns>(seed * 37 % 300);
  const time_range part{begin, begin + 1 + static_cast<time_ns>(seed * 53 % 150)};
  std::vector<host_use_filter> filters;
  for (const time_range range : {time_range{0, span + 60}, part})
    for (const bool only_idle : {true, false})
      for (const bool only_launching : {true, false})
        for (const process_id process : {process_id::none, process_id{3}})
          for (const std::optional<device_id> device :
               {std::optional(device_id{1 + seed % 2}), std::optional<device_id>()})
            filters.push_back({range, only_idle, only_launching, device, process});
  return filters;
}

TEST(use_of_the_host, is_what_looking_at_every_ns_finds) {
  testing::for_each_seed(1, 40, [](std::uint64_t seed) {
    const random_use_program program(seed);
    const indexed all(program.recorded().open());
    const trace::tables& tables = all.snapshot->tables();
    for (const host_use_filter& filter : list_filters(seed)) {
      host_use_builder use(filter);
      use.add(all.index, tables, filter.range, never_cancelled);
      EXPECT_EQ(to_times(use.get_shares(tables)), program.count_slowly(filter));
      EXPECT_EQ(use.idle(), filter.device ? program.count_idle(*filter.device, filter.range) : 0);
    }
  });
}

TEST(use_of_the_host, does_not_depend_on_the_cut_into_parts) {
  testing::for_each_seed(1, 20, [](std::uint64_t seed) {
    const random_use_program program(seed);
    const indexed all(program.recorded().open());
    const trace::tables& tables = all.snapshot->tables();
    for (const host_use_filter& filter : list_filters(seed)) {
      host_use_builder whole(filter), parts(filter);
      whole.add(all.index, tables, filter.range, never_cancelled);
      const time_ns step = 1 + static_cast<time_ns>(seed * 7);
      for (time_ns begin = filter.range.begin; begin < filter.range.end; begin += step)
        parts.add(all.index, tables, {begin, std::min(begin + step, filter.range.end)}, never_cancelled);
      EXPECT_EQ(parts.idle(), whole.idle());
      const auto expected = whole.get_shares(tables), found = parts.get_shares(tables);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].work, expected[i].work);
        EXPECT_EQ(found[i].time, expected[i].time);
        EXPECT_EQ(found[i].idle, expected[i].idle);
        EXPECT_EQ(found[i].samples, expected[i].samples);
      }
    }
  });
}

class use_by_stack : public ::testing::Test {
 protected:
  void SetUp() override { made_.standard_tables(); }

  /// Declares device 2, with a stream for process 1 and one for process 2.
  void add_second_device() {
    trace::device_row device;
    device.id = device_id{2};
    device.ordinal = 1;
    made_.writer().add(device);
    for (const std::uint64_t process : {1, 2}) {
      trace::stream_row stream;
      stream.id = trace::stream_id{10 + process};
      stream.process = process_id{process};
      stream.device = device.id;
      made_.writer().add(stream);
    }
  }
  void sample(time_ns begin, time_ns length, std::uint64_t stack, host_state state = host_state::running,
              std::uint64_t thread = 1, std::uint64_t process = 1) {
    auto row = made_.event<trace::host_sample_event>(begin);
    row.length = length;
    row.stack = trace::stack_id{stack};
    row.state = state;
    row.thread = trace::thread_id{thread};
    row.process = process_id{process};
    made_.writer().add(row);
  }
  void kernel(time_ns begin, time_ns end, std::uint64_t device = 1, std::uint64_t process = 1) {
    auto row = made_.event<trace::kernel_event>(begin);
    row.end = end;
    row.device = device_id{device};
    row.stream = trace::stream_id{device == 1 ? 1 : 10 + process};
    row.process = process_id{process};
    made_.writer().add(row);
  }
  stack_use get_use(host_use_filter filter, const std::atomic<bool>& cancelled = never_cancelled) {
    if (!indexed_) {
      made_.close();
      indexed_ = std::make_unique<indexed>(made_.open());
    }
    filter.only_idle = filter.only_launching = false;
    host_use_builder builder(filter);
    builder.add(indexed_->index, indexed_->snapshot->tables(), filter.range, cancelled);
    return builder.get_stacks(indexed_->snapshot->tables());
  }
  using sums = std::map<std::uint64_t, stack_metrics>;
  sums sum(const host_use_filter& filter) {
    sums by_stack;
    for (const stack_share& share : get_use(filter).shares) by_stack[raw(share.stack)] = share.metrics;
    return by_stack;
  }

  static constexpr time_range all_{0, 100};
  recording made_;
  std::unique_ptr<indexed> indexed_;
};

TEST_F(use_by_stack, counts_the_time_inside_the_range) {
  sample(0, 10, 1);
  sample(10, 10, 2);
  sample(20, 10, 1, host_state::blocked);
  EXPECT_EQ(sum({all_}), (sums{{1, {0, 2, 20, 0}}, {2, {0, 1, 10, 0}}}));
  EXPECT_EQ(sum({{5, 22}}), (sums{{1, {0, 2, 7, 0}}, {2, {0, 1, 10, 0}}}));
  EXPECT_EQ(sum({{40, 50}}), sums{});
  EXPECT_FALSE(get_use({all_}).kernels_known);
}

TEST_F(use_by_stack, counts_apart_what_ran_while_the_gpu_was_idle) {
  sample(0, 10, 1);
  sample(10, 10, 2);
  kernel(4, 8);
  kernel(6, 15);
  EXPECT_EQ(sum({all_}), (sums{{1, {0, 1, 10, 4}}, {2, {0, 1, 10, 5}}}));
  EXPECT_TRUE(get_use({all_}).kernels_known);
}

TEST_F(use_by_stack, has_threads_wait_for_the_devices_of_their_own_process) {
  add_second_device();
  sample(0, 12, 1);
  sample(0, 12, 2, host_state::running, 2, 2);
  sample(0, 12, 3, host_state::running, 3, 3);
  kernel(0, 5, 1, 1);
  kernel(3, 7, 2, 1);
  kernel(8, 10, 2, 2);
  EXPECT_EQ(sum({all_}), (sums{{1, {0, 1, 12, 3}}, {2, {0, 1, 12, 6}}, {3, {0, 1, 12, 3}}}))
      << "the first process uses both devices, the second one, and the third may wait for any";
  host_use_filter filter{all_};
  filter.device = device_id{1};
  EXPECT_EQ(sum(filter), (sums{{1, {0, 1, 12, 7}}, {3, {0, 1, 12, 7}}}));
  filter.device = device_id{2};
  EXPECT_EQ(sum(filter), (sums{{1, {0, 1, 12, 6}}, {2, {0, 1, 12, 6}}, {3, {0, 1, 12, 6}}}));
}

TEST_F(use_by_stack, is_chosen_by_thread_and_state) {
  sample(0, 10, 1);
  sample(10, 10, 1, host_state::blocked);
  sample(0, 10, 2, host_state::blocked, 2);
  host_use_filter filter{all_};
  filter.thread = trace::thread_id{1};
  EXPECT_EQ(sum(filter), (sums{{1, {0, 2, 20, 0}}}));
  filter.state = host_state::blocked;
  EXPECT_EQ(sum(filter), (sums{{1, {0, 1, 10, 0}}}));
  filter.thread.reset();
  EXPECT_EQ(sum(filter), (sums{{1, {0, 1, 10, 0}}, {2, {0, 1, 10, 0}}}));
}

TEST_F(use_by_stack, ends_when_it_is_not_wanted) {
  sample(0, 10, 1);
  const std::atomic<bool> cancelled{true};
  EXPECT_TRUE(get_use({all_}, cancelled).shares.empty());
}

TEST(use_of_the_host, chooses_the_first_device_that_ran_kernels) {
  recording recorded;
  recorded.standard_tables();
  trace::device_row idle;
  idle.id = device_id{7};
  idle.ordinal = -1;
  recorded.writer().add(idle);
  recorded.add_kernel(10, 20);
  recorded.close();
  const indexed all(recorded.open());
  const auto devices = list_kernel_devices(all.index, all.snapshot->tables());
  EXPECT_EQ(devices, std::vector{device_id{1}});
  EXPECT_EQ(choose_device(std::nullopt, devices), device_id{1});
  EXPECT_EQ(choose_device(device_id{7}, devices), device_id{1}) << "it ran no kernel";
  EXPECT_EQ(choose_device(device_id{1}, {}), std::nullopt);
}

}  // namespace
}  // namespace sluice::metrics
