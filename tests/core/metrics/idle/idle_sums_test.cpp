#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/core/metrics/idle/idle_program.hpp"
#include "tests/core/recordings/each_seed.hpp"
#include "tests/core/recordings/stacks.hpp"

/// Properties of all of a device's idle time: each ns has one cause, whatever the program does and wherever the
/// recording is cut into sections.
namespace sluice::metrics {
namespace {

using testing::for_each_seed;
using testing::idle_program;

/// A program of random work, calls, ranges and allocations on two devices, two processes and several threads.
class random_program : public idle_program {
 public:
  explicit random_program(std::uint64_t seed) : random_(seed) {
    const trace::stack_id stack = stacks_({testing::python("step", "/home/me/train.py", 9)});
    for (int i = 0; i < 120; ++i) {
      switch (draw(6)) {
        case 0:
        case 1:
          add_work();
          break;
        case 2:
          add_call();
          break;
        case 3:
          add_range();
          break;
        case 4:
          add_read();
          break;
        default:
          add_block(static_cast<std::uint64_t>(i) + 1, stack);
      }
      now_ += draw(3) == 0 ? draw(400) : draw(15);
    }
  }
  /// Returns up to six times (us), in order, at which to cut the recording.
  std::vector<time_ns> draw_cuts() {
    std::vector<time_ns> cuts;
    for (time_ns i = draw(7); i > 0; --i) cuts.push_back(draw(now_ + 10));
    std::sort(cuts.begin(), cuts.end());
    return cuts;
  }
  /// Counts, us by us, how long the device has no work between its first and its last (us).
  [[nodiscard]] time_ns count_idle(std::uint64_t device) const {
    const auto found = busy_.find(device);
    if (found == busy_.end()) return 0;
    const std::vector<bool>& busy = found->second;
    const auto first = std::find(busy.begin(), busy.end(), true);
    const auto last = std::find(busy.rbegin(), busy.rend(), true).base();
    return std::count(first, last, false);
  }

 private:
  time_ns draw(time_ns end) { return std::uniform_int_distribution<time_ns>(0, end - 1)(random_); }
  template <class Row>
  Row start(time_ns begin) {
    Row row = recorded.event<Row>(begin * us);
    row.process = trace::process_id{static_cast<std::uint64_t>(1 + draw(2))};
    row.thread = trace::thread_id{raw(row.process) * 10 + static_cast<std::uint64_t>(draw(3))};
    return row;
  }
  void add_work() {
    const time_ns begin = now_ + draw(30);
    const time_ns end = begin + 1 + draw(60);
    auto row = start<trace::kernel_event>(begin);
    row.end = end * us;
    row.name = recorded.text(draw(4) == 0 ? "ncclDevKernel_AllReduce" : "gemm");
    const auto device = static_cast<std::uint64_t>(1 + draw(2));
    row.device = trace::device_id{device};
    row.stream = trace::stream_id{device * 10 + static_cast<std::uint64_t>(draw(2))};
    if (draw(4) > 0) row.enqueued = (begin - draw(40)) * us;
    recorded.writer().add(row);
    if (row.enqueued != trace::unknown_time && draw(3) > 0) {
      auto call = recorded.event<trace::api_call_event>(row.enqueued);
      call.process = row.process;
      call.thread = row.thread;
      call.end = call.time + (1 + draw(3) * draw(120)) * us;
      call.name = recorded.text(draw(4) == 0 ? "cuMemcpyHtoD_v2" : "cuLaunchKernel");
      recorded.writer().add(call);
    }
    std::vector<bool>& busy = busy_[device];
    if (busy.size() < static_cast<std::size_t>(end)) busy.resize(static_cast<std::size_t>(end));
    std::fill(busy.begin() + begin, busy.begin() + end, true);
  }
  void add_call() {
    constexpr std::array<std::string_view, 6> names{"cuStreamSynchronize", "cuMemcpyHtoD_v2",  "cuMemAlloc_v2",
                                                    "cuMemFree_v2",        "cuModuleLoadData", "cuLaunchKernel"};
    auto row = start<trace::api_call_event>(now_);
    row.end = (now_ + 1 + draw(200)) * us;
    row.name = recorded.text(names[static_cast<std::size_t>(draw(6))]);
    recorded.writer().add(row);
  }
  void add_range() {
    constexpr std::array<std::string_view, 6> names{"garbage collection", "next batch of the DataLoader",
                                                    "waiting for a lock", "waiting for Python's GIL",
                                                    "torch.compile",      "epoch"};
    auto row = start<trace::host_range_event>(now_);
    row.end = (now_ + 1 + draw(300)) * us;
    row.name = recorded.text(names[static_cast<std::size_t>(draw(6))]);
    recorded.writer().add(row);
  }
  void add_read() {
    auto row = start<trace::file_io_event>(now_);
    row.end = (now_ + 1 + draw(100)) * us;
    recorded.writer().add(row);
  }
  void add_block(std::uint64_t block, trace::stack_id stack) {
    auto row = start<trace::alloc_event>(now_);
    row.block = trace::block_id{block};
    row.bytes = 100;
    row.kind = trace::memory_kind::device;
    row.layer = trace::layer::framework;
    row.device = trace::device_id{1};
    row.stack = stack;
    recorded.writer().add(row);
  }

  std::mt19937_64 random_;
  time_ns now_ = 50;
  std::map<std::uint64_t, std::vector<bool>> busy_;
  testing::stack_maker stacks_{recorded};
};

TEST(idle_time, has_causes_that_add_up_to_all_of_it) {
  for_each_seed(1, 150, [](std::uint64_t seed) {
    random_program program(seed);
    const idle_gaps_builder builder = program.build();
    for (const device_idle& device : builder.devices()) {
      time_ns total = 0;
      for (const cause_time& each : device.causes) total += each.total;
      EXPECT_EQ(total, device.idle());
      EXPECT_EQ(total, program.count_idle(raw(device.device)) * idle_program::us);
      EXPECT_LE(device.collectives_alone, device.busy);
      time_ns of_groups = 0;
      for (const gap_group& each : builder.gaps()) of_groups += each.device == device.device ? each.total : 0;
      EXPECT_EQ(of_groups, total);
      const auto lengths = builder.lengths().find(device.device);
      EXPECT_EQ(lengths == builder.lengths().end() ? 0 : lengths->second.total, total);
    }
  });
}

TEST(idle_time, has_the_same_causes_for_any_cut_of_the_recording) {
  for_each_seed(1, 150, [](std::uint64_t seed) {
    random_program program(seed);
    const auto get_totals = [](const idle_gaps_builder& builder) {
      std::map<std::tuple<trace::device_id, gap_cause, trace::string_id, trace::stack_id>, time_ns> totals;
      for (const gap_group& each : builder.gaps())
        totals[{each.device, each.cause, each.call, each.stack}] = each.total;
      return totals;
    };
    const idle_gaps_builder whole = program.build();
    for (int i = 0; i < 4; ++i) {
      const idle_gaps_builder cut = program.build(program.draw_cuts());
      EXPECT_EQ(get_totals(cut), get_totals(whole));
      const auto one = cut.devices(), other = whole.devices();
      ASSERT_EQ(one.size(), other.size());
      for (std::size_t k = 0; k < one.size(); ++k) {
        EXPECT_EQ(one[k].busy, other[k].busy);
        EXPECT_EQ(one[k].collectives_alone, other[k].collectives_alone);
        EXPECT_EQ(one[k].launches.launches, other[k].launches.launches);
        EXPECT_EQ(one[k].launches.saved, other[k].launches.saved);
      }
    }
  });
}

TEST(idle_time, of_a_copy_between_kernels_is_no_idle_time) {
  idle_program program;
  program.launch(0, 5, 100);
  program.recorded.add_copy(100'000, 200'000, 1000);
  program.launch(150, 200, 300);
  EXPECT_EQ(program.build().devices().at(0).idle(), 0);
}

TEST(idle_time, does_not_contain_collectives_which_are_a_share_of_their_own) {
  idle_program program;
  program.launch(0, 5, 100);
  program.launch(10, 50, 180, 3, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 2);
  program.launch(20, 150, 250);
  const device_idle device = program.build().devices().at(0);
  EXPECT_EQ(device.idle(), 0);
  EXPECT_EQ(device.busy, 245 * idle_program::us);
  EXPECT_EQ(device.collectives_alone, 50 * idle_program::us) << "from 100 to 150; kernels hide the rest";
}

TEST(host_parts, name_the_thread_that_enqueues_the_next_work_and_its_time) {
  idle_program program;
  program.launch(0, 5, 100);
  program.launch(300, 305, 400);
  program.launch(405, 410, 500);
  const idle_gaps_builder builder = program.build();
  std::vector<idle_part> parts;
  builder.for_each_part([&](const idle_part& each) {
    if (comes_from_thread(each.cause)) parts.push_back(each);
  });
  ASSERT_EQ(parts.size(), 1U) << "the launches are no host code";
  EXPECT_EQ(parts[0].cause, gap_cause::host);
  EXPECT_EQ(parts[0].span, (time_range{100 * idle_program::us, 300 * idle_program::us}));
  EXPECT_EQ(parts[0].gap, (time_range{100 * idle_program::us, 305 * idle_program::us}));
  EXPECT_EQ(parts[0].thread, (index::thread_key{trace::process_id{1}, trace::thread_id{1}}));
  EXPECT_EQ(builder.open_since(), 500 * idle_program::us);
}

TEST(host_parts, begin_when_the_thread_went_on_after_a_call_that_blocked_it) {
  idle_program program;
  program.launch(0, 5, 100);
  program.call(50, 110, "cuStreamSynchronize");
  program.launch(300, 305, 400);
  std::vector<idle_part> parts;
  program.build().for_each_part([&](const idle_part& each) {
    if (comes_from_thread(each.cause)) parts.push_back(each);
  });
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].span, (time_range{160 * idle_program::us, 300 * idle_program::us})) << "60 us are the wait's";
  EXPECT_EQ(parts[0].ran, (time_range{110 * idle_program::us, 300 * idle_program::us}));
}

TEST(host_parts, of_all_sections_are_the_idle_time_of_the_host) {
  for_each_seed(1, 40, [](std::uint64_t seed) {
    random_program program(seed);
    const idle_gaps_builder builder = program.build();
    std::map<trace::device_id, time_ns> parts, causes;
    builder.for_each_part([&](const idle_part& each) {
      if (comes_from_thread(each.cause)) parts[each.device] += each.span.length();
    });
    for (const device_idle& device : builder.devices())
      for (const cause_time& each : device.causes)
        if (each.cause != gap_cause::wait && each.cause != gap_cause::launch && each.cause != gap_cause::queued)
          causes[device.device] += each.total;
    EXPECT_EQ(parts, causes);
  });
}

}  // namespace
}  // namespace sluice::metrics
