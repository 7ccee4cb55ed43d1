// Allocations and frees with equal times are applied in file order, in every format that has them.
#include "core/import/event_order.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/core/import/brought_file.hpp"
#include "tests/core/import/snapshot_of.hpp"

namespace sluice::importing::equal_times {
namespace {

using nlohmann::json;
using testing::brought_file;
using trace::time_ns;

TEST(event_order, keeps_times_that_tell_the_order) {
  event_order order;
  EXPECT_EQ(order.allocation(10), 10);
  EXPECT_EQ(order.free(20), 20);
  EXPECT_EQ(order.free(20), 20);
  EXPECT_EQ(order.allocation(20), 20);
  EXPECT_EQ(order.allocation(20), 20);
}

TEST(event_order, puts_a_free_behind_an_allocation_of_its_time) {
  event_order order;
  EXPECT_EQ(order.allocation(10), 10);
  EXPECT_EQ(order.free(10), 11);
  EXPECT_EQ(order.allocation(10), 11);
  EXPECT_EQ(order.free(10), 12);
  // An event 1 ns later in the file stays after it.
  EXPECT_EQ(order.allocation(11), 12);
  EXPECT_EQ(order.free(12), 13);
  EXPECT_EQ(order.free(2000), 2000);
}

TEST(event_order, knows_times_that_it_saw_before) {
  event_order order;
  EXPECT_EQ(order.allocation(1000), 1000);
  EXPECT_EQ(order.allocation(3000), 3000);
  EXPECT_EQ(order.free(1000), 1001);
  EXPECT_EQ(order.free(2000), 2000);
  EXPECT_EQ(order.free(3000), 3001);
  for (time_ns time = 4000; time < 4000 + 10 * static_cast<time_ns>(event_order::max_times); ++time)
    EXPECT_EQ(order.allocation(time), time);
}

/// Allocations and frees, in the order of a file; times are in us.
struct change {
  std::int64_t time = 0;
  int block = 0;  ///< Each block is allocated once.
  bool is_free = false;
  std::int64_t bytes = 0;
};

/// Random times that often repeat.
std::vector<change> random_changes(std::mt19937& random, int blocks) {
  std::vector<change> changes;
  std::vector<std::pair<int, std::int64_t>> live;
  std::int64_t now = 1;
  for (int next = 0; next < blocks || !live.empty();) {
    if (random() % 3 == 0) now += 1 + random() % 3;
    const bool frees = !live.empty() && (next == blocks || random() % 2 == 0);
    if (frees) {
      const std::size_t which = random() % live.size();
      changes.push_back({now, live[which].first, true, live[which].second});
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      live.emplace_back(next, 1024 * (1 + random() % 64));
      changes.push_back({now, next++, false, live.back().second});
    }
  }
  return changes;
}

/// Applies the changes one after another. Returns the peak in bytes.
std::int64_t get_peak(const std::vector<change>& changes) {
  std::int64_t sum = 0, highest = 0;
  for (const change& each : changes) highest = std::max(highest, sum += each.is_free ? -each.bytes : each.bytes);
  return highest;
}

TEST(event_order, gives_the_peak_of_one_after_the_other) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto changes = random_changes(random, 60);
    event_order order;
    std::map<time_ns, std::int64_t> steps;  // All changes at the same time are applied together.
    std::map<int, time_ns> born;
    for (const change& each : changes) {
      const time_ns said = each.time * (round % 2 == 0 ? 1 : 1000);
      const time_ns time = each.is_free ? order.free(said) : order.allocation(said);
      EXPECT_GE(time, said);
      steps[time] += each.is_free ? -each.bytes : each.bytes;
      if (each.is_free) {
        EXPECT_GT(time, born[each.block]);
      } else {
        born[each.block] = time;
      }
    }
    std::int64_t sum = 0, highest = 0;
    for (const auto& [time, step] : steps) highest = std::max(highest, sum += step);
    EXPECT_EQ(highest, get_peak(changes)) << "round " << round;
  }
}

TEST(event_order, sorts_what_threads_write_late) {
  std::mt19937 random(8);
  for (int round = 0; round < 100; ++round) {
    auto changes = random_changes(random, 60);
    std::vector<std::pair<std::int64_t, std::size_t>> written;  // Each up to 20 us late; equal times keep their order.
    for (std::size_t i = 0; i < changes.size(); ++i)
      written.emplace_back(changes[i].time + (changes[i].time * 7919) % 20, i);
    std::stable_sort(written.begin(), written.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    event_order order;
    std::map<time_ns, std::int64_t> steps;
    for (const auto& [at, which] : written) {
      const change& each = changes[which];
      const time_ns time = each.is_free ? order.free(each.time * 1000) : order.allocation(each.time * 1000);
      steps[time] += each.is_free ? -each.bytes : each.bytes;
    }
    std::int64_t sum = 0, highest = 0;
    for (const auto& [time, step] : steps) highest = std::max(highest, sum += step);
    EXPECT_EQ(highest, get_peak(changes)) << "round " << round;
  }
}

// --- formats ----------------------------------------------------------------------------------------------------------

std::int64_t get_address(const change& subject) { return (subject.block + 1) * 0x1000000; }

std::string rmm_log(const std::vector<change>& changes) {
  std::string text = "Thread,Time,Action,Pointer,Size,Stream\n";
  for (const change& each : changes) {
    char line[128];
    std::snprintf(line, sizeof line, "7,10:00:00.%06lld,%s,0x%llx,%lld,0x0\n", static_cast<long long>(each.time),
                  each.is_free ? "free" : "allocate", static_cast<unsigned long long>(get_address(each)),
                  static_cast<long long>(each.bytes));
    text += line;
  }
  return text;
}

std::string snapshot(const std::vector<change>& changes) {
  json entries = json::array();
  for (const change& each : changes) {
    const auto add = [&](const char* action) {
      entries.push_back(testing::entry(action, static_cast<std::uint64_t>(get_address(each)),
                                       static_cast<std::uint64_t>(each.bytes), 1'700'000'000'000'000 + each.time));
    };
    if (each.is_free) {
      add("free_requested");
      add("free_completed");
    } else {
      add("alloc");
    }
  }
  return testing::pickled({{"device_traces", json::array({entries})}, {"segments", json::array()}});
}

std::string kineto(const std::vector<change>& changes) {
  json events = json::array();
  for (const change& each : changes) {
    events.push_back({{"ph", "i"},
                      {"s", "t"},
                      {"name", "[memory]"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", 1'700'000'000'000'000 + each.time},
                      {"args",
                       {{"Device Type", 1},
                        {"Device Id", 0},
                        {"Bytes", each.is_free ? -each.bytes : each.bytes},
                        {"Addr", get_address(each)}}}});
  }
  return json({{"traceEvents", events}}).dump();
}

std::string rocprofv3(const std::vector<change>& changes) {
  json records = json::array();
  for (const change& each : changes) {
    records.push_back({{"operation", each.is_free ? 3 : 1},
                       {"thread_id", 5},
                       {"start_timestamp", 1000 + each.time},
                       {"end_timestamp", 1000 + each.time},
                       {"agent_id", {{"handle", 2}}},
                       {"address", get_address(each)},
                       {"allocation_size", each.bytes}});
  }
  const json agent = {{"id", {{"handle", 2}}}, {"type", 2}, {"logical_node_type_id", 0}, {"name", "gfx"}};
  return json({{"rocprofiler-sdk-tool", json::array({{{"metadata", {{"pid", 4}}},
                                                      {"agents", json::array({agent})},
                                                      {"buffer_records", {{"memory_allocation", records}}}}})}})
      .dump();
}

TEST(equal_times, do_not_hide_a_peak_in_any_format) {
  using writer = std::string (*)(const std::vector<change>&);
  const std::pair<writer, trace::layer> formats[] = {{rmm_log, trace::layer::framework},
                                                     {snapshot, trace::layer::framework},
                                                     {kineto, trace::layer::framework},
                                                     {rocprofv3, trace::layer::driver}};
  std::mt19937 random(9);
  for (int round = 0; round < 4; ++round) {
    const auto changes = random_changes(random, 80);
    for (const auto& [write, layer] : formats) {
      const brought_file file("file", write(changes));
      ASSERT_TRUE(file.is_read()) << file.refusal();
      const auto memory = file.memory(layer);
      EXPECT_EQ(static_cast<std::int64_t>(memory.maximum), get_peak(changes)) << get_name(file.imported().from);
      EXPECT_EQ(memory.allocations, 80U) << get_name(file.imported().from);
      EXPECT_EQ(memory.frees, 80U) << get_name(file.imported().from);
    }
  }
}

TEST(equal_times, of_sums_count_one_after_the_other) {
  const brought_file file("memory_record.csv",
                          "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\n"
                          "PTA,1700000000000000.000,1,8,NPU:0\n"
                          "PTA,1700000000000010.000,5,8,NPU:0\n"
                          "PTA,1700000000000010.000,2,8,NPU:0\n"
                          "PTA,1700000000000020.000,1,8,NPU:0\n");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, 5 * 1024 * 1024);
  EXPECT_EQ(file.framework().at_end, 1024 * 1024);
}

}  // namespace
}  // namespace sluice::importing::equal_times
