#include "core/replay/allocator_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "tests/core/replay/slow_allocator.hpp"

namespace sluice::replay {
namespace {

/// Requests for blocks of random sizes in one or more arenas, freed at random. `empties`: the share of requests before
/// which the program empties the cache.
allocator_requests random_requests(unsigned seed, std::size_t count, std::uint16_t arenas, double empties = 0.002) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> power(8, 26);
  allocator_requests requests;
  requests.arenas = arenas;
  requests.private_arenas.assign(arenas, false);
  std::vector<std::pair<std::uint32_t, std::uint16_t>> live;
  while (requests.requests.size() < count) {
    if (std::uniform_real_distribution<double>(0, 1)(random) < empties) {
      requests.requests.push_back(
          {0, static_cast<std::uint32_t>(requests.kept_arenas.size()), 0, request_kind::empty_cache});
      requests.kept_arenas.emplace_back();
    }
    if (live.size() < 8 || (live.size() < 60 && random() % 2 == 0)) {
      const auto arena = static_cast<std::uint16_t>(random() % arenas);
      requests.requests.push_back(
          {static_cast<std::uint64_t>(std::exp2(power(random))), requests.blocks, arena, request_kind::allocate});
      live.emplace_back(requests.blocks++, arena);
    } else {
      const std::size_t at = random() % live.size();
      requests.requests.push_back({0, live[at].first, live[at].second, request_kind::free});
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  return requests;
}

allocator_requests requests_for(const std::vector<std::uint64_t>& sizes) {
  allocator_requests requests;
  for (const std::uint64_t size : sizes)
    requests.requests.push_back({size, requests.blocks++, 0, request_kind::allocate});
  return requests;
}

TEST(allocator_model, places_each_block_where_a_slow_reference_does) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const allocator_requests requests = random_requests(seed, 3000, seed % 2 == 0 ? 1 : 3);
    allocator_model model(requests, rules_for(*parse_policy("native"), requests));
    slow_allocator slow;
    for (const request& each : requests.requests) {
      if (each.kind == request_kind::allocate) {
        ASSERT_TRUE(model.allocate(each.block, each.bytes, each.arena, 0));
        ASSERT_TRUE(slow.allocate(each.block, each.bytes, each.arena));
        ASSERT_EQ(model.get_place(each.block).address, slow.place[each.block].first) << "block " << each.block;
      } else if (each.kind == request_kind::free) {
        model.free(each.block);
        slow.free(each.block);
      } else {
        model.empty_cache({});
        slow.empty_cache();
      }
      ASSERT_EQ(model.reserved(), slow.reserved);
    }
    EXPECT_EQ(model.metrics().peak_reserved, slow.peak);
  }
}

TEST(allocator_model, keeps_live_blocks_apart_under_each_policy) {
  auto policies = default_policies();
  policies.push_back(*parse_policy("expandable_segments:True,roundup_power2_divisions:4,max_split_size_mb:32"));
  for (const policy& by : policies) {
    for (unsigned seed = 20; seed < 23; ++seed) {
      allocator_requests requests = random_requests(seed, 4000, 2);
      if (seed == 22) {
        requests.limit = 700 * mib;
        requests.limit_inferred = true;
      }
      allocator_model model(requests, rules_for(by, requests));
      std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> live;  // Ends of ranges, by pool and address.
      std::map<std::uint32_t, std::pair<std::uint32_t, std::uint64_t>> begins;
      std::uint64_t sum = 0;
      for (const request& each : requests.requests) {
        if (each.kind == request_kind::empty_cache) {
          model.empty_cache({});
        } else if (each.kind == request_kind::free) {
          const auto begin = begins.find(each.block);
          if (begin != begins.end()) {
            sum -= live.at(begin->second) - begin->second.second;
            live.erase(begin->second);
          }
          model.free(each.block);
        } else if (model.allocate(each.block, each.bytes, each.arena, 0)) {
          const auto at = model.get_place(each.block);
          ASSERT_GE(at.bytes, each.bytes);
          begins[each.block] = {at.pool, at.address};
          const auto [placed, fresh] = live.emplace(std::pair(at.pool, at.address), at.address + at.bytes);
          ASSERT_TRUE(fresh) << by.text;
          const auto after = std::next(placed);
          if (after != live.end() && after->first.first == at.pool) {
            ASSERT_LE(placed->second, after->first.second) << by.text;
          }
          if (placed != live.begin() && std::prev(placed)->first.first == at.pool) {
            ASSERT_LE(std::prev(placed)->second, at.address) << by.text;
          }
          sum += at.bytes;
        } else {
          ASSERT_NE(requests.limit, 0U) << by.text << ": only a limit makes an allocation fail";
        }
        ASSERT_EQ(model.allocated(), sum) << by.text;
        ASSERT_GE(model.reserved(), model.allocated()) << by.text;
        if (requests.limit != 0 && by.by != policy::model::best_fit) {
          ASSERT_LE(model.reserved(), requests.limit) << by.text;
        }
      }
      EXPECT_EQ(replay_policy(requests, by), replay_policy(requests, by))
          << by.text << ": the same requests, the same metrics";
    }
  }
}

TEST(allocator_model, maps_pages_of_expandable_segments) {
  const policy by = *parse_policy("expandable_segments:True");
  const allocator_requests requests = requests_for({15 * mib, 15 * mib, 100, 50 * mib});
  const auto metrics = replay_policy(requests, by);
  EXPECT_EQ(metrics.peak_reserved, (80 + 2) * mib) << "20 MiB pages for 80 MiB, and 2 MiB for the small one";
  EXPECT_EQ(metrics.segments, 2U);
  EXPECT_EQ(metrics.largest_hole, 2 * mib - 512);
  const auto native = replay_policy(requests, *parse_policy("native"));
  EXPECT_EQ(native.peak_reserved, (16 + 16 + 2 + 50) * mib);
  EXPECT_EQ(native.segments, 4U);
  EXPECT_EQ(native.driver_calls, 4U);
}

TEST(allocator_model, gives_back_the_pages_of_an_expandable_segment_and_maps_them_again) {
  allocator_requests requests = requests_for({40 * mib, 40 * mib, 40 * mib});
  allocator_model model(requests, rules_for(*parse_policy("expandable_segments:True"), requests));
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(model.allocate(i, 40 * mib, 0, 0));
  model.free(1);
  model.empty_cache({});
  EXPECT_EQ(model.reserved(), 80 * mib);
  ASSERT_TRUE(model.allocate(1, 30 * mib, 0, 0));
  EXPECT_EQ(model.get_place(1).address, 40 * mib) << "the lowest addresses first";
  EXPECT_EQ(model.reserved(), 120 * mib);
}

TEST(allocator_model, does_not_split_oversize_blocks) {
  allocator_requests requests = requests_for({200 * mib, 100 * mib, 100 * mib});
  requests.requests.insert(requests.requests.begin() + 1, {0, 0, 0, request_kind::free});
  EXPECT_EQ(replay_policy(requests, *parse_policy("native")).peak_reserved, 200 * mib);
  EXPECT_EQ(replay_policy(requests, *parse_policy("max_split_size_mb:128")).peak_reserved, 400 * mib);
  requests.limit = 300 * mib;
  const auto limited = replay_policy(requests, *parse_policy("max_split_size_mb:128"));
  EXPECT_EQ(limited.peak_reserved, 300 * mib);
  EXPECT_EQ(limited.failures, 0U) << "the oversize block is released first";
  EXPECT_EQ(limited.retries, 0U);
}

TEST(allocator_model, empties_its_cache_at_the_limit_and_then_fails) {
  allocator_requests requests = requests_for({100 * mib, 150 * mib, 150 * mib});
  requests.requests.insert(requests.requests.begin() + 1, {0, 0, 0, request_kind::free});
  requests.limit = 200 * mib;
  const auto metrics = replay_policy(requests, *parse_policy("native"));
  EXPECT_EQ(metrics.retries, 2U);
  EXPECT_EQ(metrics.failures, 1U);
  EXPECT_EQ(metrics.peak_reserved, 150 * mib);
}

TEST(allocator_model, collects_old_blocks_above_the_threshold_of_a_limit_that_was_set) {
  allocator_requests requests = requests_for({60 * mib, 62 * mib, 64 * mib});
  requests.requests.insert(requests.requests.begin() + 2, {0, 1, 0, request_kind::free});
  requests.requests.insert(requests.requests.begin() + 1, {0, 0, 0, request_kind::free});
  requests.limit = 200 * mib;
  const policy by = *parse_policy("garbage_collection_threshold:0.1");
  EXPECT_EQ(replay_policy(requests, by).peak_reserved, 186 * mib) << "the device's memory is not a configured limit";
  requests.limit_inferred = true;
  EXPECT_LT(replay_policy(requests, by).peak_reserved, 186 * mib);
}

TEST(allocator_model, keeps_the_memory_of_graphs) {
  allocator_requests requests = requests_for({30 * mib, 40 * mib, 30 * mib});
  requests.arenas = 2;
  requests.private_arenas = {false, true};
  requests.requests[0].arena = 1;
  requests.requests.insert(requests.requests.begin() + 1, {0, 0, 1, request_kind::free});
  requests.requests.insert(requests.requests.begin() + 2, {0, 0, 0, request_kind::empty_cache});
  requests.kept_arenas = {{1}};
  EXPECT_EQ(replay_policy(requests, *parse_policy("native")).peak_reserved, 100 * mib);
  EXPECT_EQ(replay_policy(requests, *parse_policy("best fit")).peak_reserved, 70 * mib);
}

// --- a program that empties the cache -------------------------------------------------------------------------------

/// Requests 10 ns apart, with a step before every 200th. Blocks of the second arena belong to a graph.
allocator_requests requests_in_steps(unsigned seed) {
  allocator_requests requests = random_requests(seed, 2000, 2, 0);
  requests.private_arenas = {false, true};
  for (std::size_t i = 0; i < requests.requests.size(); ++i) {
    requests.times.push_back(static_cast<trace::time_ns>(i) * 10);
    if (i % 200 == 0) requests.step_begins.push_back(requests.times.back() - 3);
  }
  return requests;
}

/// Returns `requests` as from a program that calls empty_cache before each request in `positions`.
allocator_requests with_calls(const allocator_requests& requests, const std::vector<std::size_t>& positions) {
  allocator_requests output = requests;
  output.requests.clear();
  output.times.clear();
  output.step_begins.clear();
  output.kept_arenas = {{1}};
  for (std::size_t i = 0; i < requests.requests.size(); ++i) {
    if (std::find(positions.begin(), positions.end(), i) != positions.end())
      output.requests.push_back({0, 0, 0, request_kind::empty_cache});
    output.requests.push_back(requests.requests[i]);
  }
  return output;
}

TEST(empty_cache, in_each_step_is_as_if_the_program_had_called_it) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    const allocator_requests requests = requests_in_steps(seed);
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < requests.requests.size(); i += 200) positions.push_back(i);
    const allocator_requests reference = with_calls(requests, positions);
    for (const char* setting : {"native", "expandable_segments:True", "max_split_size_mb:64"}) {
      const std::string with =
          setting == std::string("native") ? "empty_cache:step" : setting + std::string(",empty_cache:step");
      EXPECT_EQ(replay_policy(requests, *parse_policy(with)), replay_policy(reference, *parse_policy(setting))) << with;
    }
    EXPECT_NE(replay_policy(requests, *parse_policy("empty_cache:step")).driver_calls,
              replay_policy(requests, *parse_policy("native")).driver_calls);
  }
}

TEST(empty_cache, before_a_failure_leaves_only_what_is_in_use_then) {
  allocator_requests requests = requests_for({30 * mib, 40 * mib, 50 * mib});
  requests.times = {10, 20, 40};
  requests.requests.insert(requests.requests.begin() + 2, {0, 0, 0, request_kind::free});
  requests.times.insert(requests.times.begin() + 2, 30);
  requests.failures = {35};
  EXPECT_EQ(replay_policy(requests, *parse_policy("native")).at_failure, 70 * mib);
  const auto emptied = replay_policy(requests, *parse_policy("empty_cache:failure"));
  EXPECT_EQ(emptied.at_failure, 40 * mib);
  EXPECT_EQ(emptied.peak_reserved, 90 * mib);
  EXPECT_EQ(replay_policy(requests, *parse_policy("native")).peak_reserved, 120 * mib);
  requests.failures = {1000};
  EXPECT_EQ(replay_policy(requests, *parse_policy("empty_cache:failure")).at_failure, 90 * mib)
      << "after the last request";
}

TEST(empty_cache, changes_nothing_where_no_step_and_no_failure_is_known) {
  const allocator_requests requests = random_requests(3, 1000, 1);
  const auto native = replay_policy(requests, *parse_policy("native"));
  EXPECT_EQ(replay_policy(requests, *parse_policy("empty_cache:step")), native);
  EXPECT_EQ(replay_policy(requests, *parse_policy("empty_cache:failure")), native);
  EXPECT_EQ(policies_for(std::vector{requests}).size(), default_policies().size());
  allocator_requests known = requests;
  known.step_begins = {1, 2};
  known.failures = {5};
  EXPECT_EQ(policies_for(std::vector{known}).size(), default_policies().size() + 2);
}

TEST(empty_cache, knows_the_steps_of_its_process_and_the_failures_on_its_device) {
  std::vector<allocator_requests> items(2);
  items[0].process = items[1].process = trace::process_id{1};
  items[0].device = trace::device_id{1};
  items[1].device = trace::device_id{2};
  std::map<trace::process_id, index::step_list> steps;
  steps[trace::process_id{1}].steps = {{.span = {10, 20}}, {.span = {20, 30}}};
  steps[trace::process_id{2}].steps = {{.span = {5, 6}}};
  std::vector<trace::alloc_failed_event> failed(1);
  failed[0].time = 25;
  failed[0].process = trace::process_id{1};
  failed[0].device = trace::device_id{2};
  put_moments(items, steps, failed);
  EXPECT_EQ(items[0].step_begins, (std::vector<trace::time_ns>{10, 20}));
  EXPECT_TRUE(items[0].failures.empty());
  EXPECT_EQ(items[1].failures, (std::vector<trace::time_ns>{25}));
}

}  // namespace
}  // namespace sluice::replay
