// Compares a recording of journal_program (tests/device/journal/) with the program's own ledger and with what the GPU
// reported when the journal was recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "instrumentation/capture/process/activity_layout.hpp"
#include "tests/instrumentation/capture/journal_reader.hpp"
#include "tests/instrumentation/capture/recording.hpp"

namespace sluice::test {
namespace {

using namespace trace;
namespace layout = capture::layout;

/// The number and bytes of the rows that satisfy `wanted`.
template <class Row>
ledger_entry tally(const std::vector<Row>& rows, const std::function<bool(const Row&)>& wanted) {
  ledger_entry sum;
  for (const Row& row : rows) {
    if (!wanted(row)) continue;
    ++sum.count;
    if constexpr (requires { row.bytes; }) sum.bytes += row.bytes;
  }
  return sum;
}

void expect_same(const ledger_entry& recorded, const ledger_entry& done) {
  EXPECT_EQ(recorded.count, done.count);
  EXPECT_EQ(recorded.bytes, done.bytes);
}

class program_test : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    run_ = new recording(record({.arguments = {"program"}}));
    ledger_ = read_ledger("program");
    journal_ = new journal::journal(journal::read(journal_path("program")));
  }
  static void TearDownTestSuite() {
    delete run_;
    delete journal_;
  }

  static ledger_entry allocated(memory_kind kind, layer layer = layer::driver) {
    return tally<alloc_event>(run_->allocs, [=](const alloc_event& a) {
      return a.kind == kind && a.layer == layer && (a.flags & registered) == 0;
    });
  }
  /// The journal's records of one kind, by correlation id.
  template <class Prefix>
  static std::multimap<std::uint32_t, Prefix> records(std::uint32_t kind) {
    std::multimap<std::uint32_t, Prefix> found;
    for (const journal::entry& e : journal_->entries) {
      const auto* record = std::get_if<journal::activity_record>(&e);
      if (record == nullptr || record->kind != kind) continue;
      const auto prefix = journal::field<Prefix>(record->bytes, 0);
      if constexpr (requires { prefix.correlation; }) {
        found.emplace(prefix.correlation, prefix);
      } else {
        found.emplace(0, prefix);
      }
    }
    return found;
  }

  static inline recording* run_ = nullptr;
  static inline std::map<std::string, ledger_entry> ledger_;
  static inline journal::journal* journal_ = nullptr;
};

TEST_F(program_test, ends_as_it_does_alone) { EXPECT_EQ(run_->status, 0); }

TEST_F(program_test, loses_nothing) {
  EXPECT_EQ(run_->summary.lost_events, 0U);
  EXPECT_TRUE(run_->losses.empty());
}

TEST_F(program_test, device_allocations_are_those_the_program_made) {
  expect_same(allocated(memory_kind::device), ledger_["device_alloc"]);
}
TEST_F(program_test, host_allocations_are_those_the_program_made) {
  expect_same(allocated(memory_kind::pinned), ledger_["host_alloc"]);
}
TEST_F(program_test, registered_host_memory_is_marked) {
  expect_same(tally<alloc_event>(run_->allocs, [](const alloc_event& a) { return (a.flags & registered) != 0; }),
              ledger_["host_register"]);
}
TEST_F(program_test, managed_allocations_are_those_the_program_made) {
  expect_same(allocated(memory_kind::managed), ledger_["managed_alloc"]);
}
TEST_F(program_test, arrays_are_those_the_program_made) {
  expect_same(allocated(memory_kind::array), ledger_["array_alloc"]);
}
TEST_F(program_test, virtual_memory_is_addresses_bytes_and_mappings) {
  expect_same(allocated(memory_kind::reservation), ledger_["address_reserve"]);
  expect_same(allocated(memory_kind::physical), ledger_["physical_alloc"]);
  expect_same(allocated(memory_kind::mapping), ledger_["map"]);
}
TEST_F(program_test, stream_ordered_allocations_and_graphs_memory_nodes_are_in_the_pool_layer) {
  const ledger_entry asked = ledger_["async_alloc"], in_graphs = ledger_["graph_alloc"];
  ASSERT_GT(in_graphs.count, 0U);
  expect_same(allocated(memory_kind::device, layer::pool),
              {asked.count + in_graphs.count, asked.bytes + in_graphs.bytes});
}

TEST_F(program_test, stream_ordered_allocations_name_stream_and_pool) {
  std::set<pool_id> pools;
  for (const alloc_event& a : run_->allocs) {
    if (a.layer != layer::pool || (a.flags & graph_memory) != 0) continue;
    EXPECT_NE(a.stream, stream_id::none);
    EXPECT_NE(a.pool, pool_id::none);
    pools.insert(a.pool);
  }
  EXPECT_EQ(pools.size(), 2U) << "the default pool and the program's own";
}

TEST_F(program_test, the_failed_allocation_is_an_event) {
  ASSERT_EQ(run_->failed.size(), ledger_["failed_alloc"].count);
  EXPECT_EQ(run_->failed[0].bytes, ledger_["failed_alloc"].bytes);
  EXPECT_EQ(run_->failed[0].error, 2) << "CUDA_ERROR_OUT_OF_MEMORY";
  EXPECT_EQ(run_->tables().text(run_->failed[0].name), "cuMemAlloc");
}

TEST_F(program_test, only_the_leak_is_left) {
  std::set<block_id> freed;
  for (const free_event& f : run_->frees) {
    EXPECT_NE(f.block, block_id::none) << "a free without a block at " << std::hex << f.address;
    freed.insert(f.block);
  }
  std::vector<std::uint64_t> left;
  for (const alloc_event& a : run_->allocs) {
    if (!freed.contains(a.block)) left.push_back(a.bytes);
  }
  EXPECT_THAT(left, testing::ElementsAre(std::uint64_t{7} << 20));
}

TEST_F(program_test, an_allocation_is_timed_at_its_exit_and_a_free_at_its_entry) {
  std::map<block_id, time_ns> freed;
  for (const free_event& f : run_->frees) freed[f.block] = f.time;
  for (const alloc_event& a : run_->allocs) {
    EXPECT_LE(a.call_begin, a.time);
    if (freed.contains(a.block)) {
      EXPECT_LT(a.time, freed[a.block]);
    }
  }
}

TEST_F(program_test, copies_are_those_the_program_made) {
  const auto copies = [](direction d, memory_kind to) {
    return tally<transfer_event>(run_->transfers,
                                 [=](const transfer_event& t) { return t.direction == d && t.destination_kind == to; });
  };
  // CUPTI 13 reports a batch of copies as one record.
  ledger_entry to_device = ledger_["copy_h2d"];
  to_device.count += ledger_["graph_copy_h2d"].count + 1;
  to_device.bytes += ledger_["graph_copy_h2d"].bytes + ledger_["batch_copy_h2d"].bytes;
  expect_same(copies(direction::h2d, memory_kind::device), to_device);
  expect_same(copies(direction::h2d, memory_kind::array), ledger_["copy_h2a"]);
  expect_same(copies(direction::d2d, memory_kind::device), ledger_["copy_d2d"]);
  const auto from_device =
      tally<transfer_event>(run_->transfers, [](const transfer_event& t) { return t.direction == direction::d2h; });
  expect_same(from_device, ledger_["copy_d2h"]);
}

TEST_F(program_test, each_copy_took_as_long_as_the_gpu_said) {
  auto said = records<layout::memcpy_prefix>(layout::kind_memcpy);
  ASSERT_EQ(run_->transfers.size(), said.size());
  for (const transfer_event& t : run_->transfers) {
    const auto found = std::find_if(said.begin(), said.end(), [&](const auto& s) {
      const auto duration = static_cast<time_ns>(s.second.end) - static_cast<time_ns>(s.second.start);
      return s.first == t.correlation && s.second.bytes == t.bytes && duration == t.end - t.time;
    });
    ASSERT_NE(found, said.end()) << t.bytes << " bytes, correlation " << t.correlation;
    said.erase(found);
  }
}

TEST_F(program_test, copies_know_their_addresses_and_blocks) {
  for (const transfer_event& t : run_->transfers) {
    if (t.graph_node != 0) continue;  // The launch has no addresses.
    if (t.copies > 1) continue;       // Its parts have addresses.
    EXPECT_NE(t.source_address, 0U);
    EXPECT_NE(t.destination_address, 0U);
    EXPECT_NE(t.call, event_id::none);
    if (t.source_kind == memory_kind::device) {
      EXPECT_NE(t.source_block, block_id::none);
    }
    if (t.destination_kind == memory_kind::device) {
      EXPECT_NE(t.destination_block, block_id::none);
    }
    if (t.source_kind == memory_kind::pinned) {
      EXPECT_NE(t.source_block, block_id::none);
    }
  }
}

TEST_F(program_test, copies_tell_pinned_from_pageable) {
  std::set<memory_kind> kinds;
  for (const transfer_event& t : run_->transfers) {
    if (t.direction == direction::h2d) kinds.insert(t.source_kind);
  }
  EXPECT_EQ(kinds, (std::set<memory_kind>{memory_kind::host, memory_kind::pinned}));
}

TEST_F(program_test, memsets_are_those_the_program_made) {
  ledger_entry done = ledger_["memset"];
  done.count += ledger_["graph_memset"].count;
  done.bytes += ledger_["graph_memset"].bytes;
  expect_same(tally<memset_event>(run_->memsets, [](const memset_event&) { return true; }), done);
}

TEST_F(program_test, kernels_are_those_the_program_launched) {
  EXPECT_EQ(run_->kernels.size(), ledger_["kernel"].count + ledger_["graph_kernel"].count);
  for (const kernel_event& k : run_->kernels) {
    EXPECT_FALSE(run_->tables().text(k.name).empty());
    EXPECT_GT(k.end, k.time);
    EXPECT_EQ(k.block_x, 256U);
  }
}

TEST_F(program_test, kernels_ran_on_the_streams_their_launches_named) {
  std::map<event_id, stream_id> stream_of_call;
  for (const api_call_event& c : run_->calls) stream_of_call[c.id] = c.stream;
  std::set<stream_id> streams;
  for (const kernel_event& k : run_->kernels) {
    ASSERT_TRUE(stream_of_call.contains(k.call));
    EXPECT_EQ(stream_of_call[k.call], k.stream);
    streams.insert(k.stream);
  }
  EXPECT_EQ(streams.size(), 6U)
      << "the null stream, one each of pinned, pooled and graph work, one each of two threads";
}

TEST_F(program_test, calls_ran_on_three_threads) {
  std::set<thread_id> threads;
  for (const api_call_event& c : run_->calls) threads.insert(c.thread);
  EXPECT_EQ(threads.size(), 3U);
}

TEST_F(program_test, migrations_carry_the_bytes_that_moved) {
  std::map<direction, std::uint64_t> moved;
  for (const migration_event& m : run_->migrations) moved[m.direction] += m.bytes;
  std::map<direction, std::uint64_t> said;
  for (const auto& [none, m] : records<layout::migration_prefix>(layout::kind_unified_memory_counter)) {
    if (m.counter_kind == 1) said[direction::h2d] += m.value;
    if (m.counter_kind == 2) said[direction::d2h] += m.value;
  }
  EXPECT_EQ(moved, said);
  EXPECT_EQ(moved[direction::h2d], ledger_["managed_alloc"].bytes) << "the host had written all of the memory";
}

TEST_F(program_test, faults_of_managed_memory_are_counted) {
  std::map<std::uint32_t, std::uint64_t> said;
  for (const auto& [none, m] : records<layout::migration_prefix>(layout::kind_unified_memory_counter)) {
    said[m.counter_kind] += m.value;
  }
  std::map<std::string, double> counted;
  const auto read = run_->snapshot->for_each<counter_event>([&](const counter_event& c) {
    const counter_row* counter = run_->tables().counters.find(c.counter);
    ASSERT_NE(counter, nullptr);
    double& total = counted[std::string(run_->tables().text(counter->name))];
    EXPECT_GT(c.value, total) << "the total increases";
    total = c.value;
  });
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(counted["managed memory: CPU page faults"], static_cast<double>(said[3]));
  EXPECT_EQ(counted["managed memory: GPU page faults"], static_cast<double>(said[4]));
  EXPECT_GT(said[3] + said[4], 0U);
}

TEST_F(program_test, a_batch_of_copies_says_how_many_it_is) {
  const auto batch = std::find_if(run_->transfers.begin(), run_->transfers.end(),
                                  [](const transfer_event& t) { return t.bytes == ledger_["batch_copy_h2d"].bytes; });
  ASSERT_NE(batch, run_->transfers.end());
  EXPECT_EQ(batch->copies, ledger_["batch_copy_h2d"].count);
  ASSERT_EQ(run_->parts.size(), batch->copies);
  std::uint64_t bytes = 0;
  for (const transfer_part_event& part : run_->parts) {
    EXPECT_EQ(part.transfer, batch->id);
    EXPECT_NE(part.source_block, block_id::none);
    EXPECT_NE(part.destination_block, block_id::none);
    EXPECT_EQ(part.direction, direction::h2d);
    EXPECT_EQ(part.source_kind, memory_kind::pinned);
    bytes += part.bytes;
  }
  EXPECT_EQ(bytes, batch->bytes);
  EXPECT_TRUE(std::any_of(run_->transfers.begin(), run_->transfers.end(), [](const transfer_event& t) {
    return t.channel != 0;
  })) << "CUPTI reports the copy engine";
}

TEST_F(program_test, the_device_is_named_with_its_link) {
  ASSERT_EQ(run_->tables().devices.rows().size(), 1U);
  const device_row& device = run_->tables().devices.rows()[0];
  EXPECT_EQ(run_->tables().text(device.name), "NVIDIA H200");
  EXPECT_EQ(device.kind, device_kind::cuda);
  EXPECT_EQ(device.memory_bytes, 150109880320U);
  EXPECT_NE(device.uuid_high | device.uuid_low, 0U);
  EXPECT_EQ(device.link_generation, 5U);
  EXPECT_EQ(device.link_width, 16U);
  // 32 GT/s on 16 lanes; 128 of 130 bits are data.
  EXPECT_NEAR(static_cast<double>(device.link_peak), 63.0e9, 0.1e9);
  EXPECT_EQ(device.compute_major, 9U);
}

TEST_F(program_test, device_times_are_complete_to_the_end) {
  ASSERT_FALSE(run_->watermarks.empty());
  time_ns last_call = INT64_MIN;
  for (const api_call_event& c : run_->calls) last_call = std::max(last_call, c.time);
  EXPECT_GE(run_->watermarks.back().complete_until, last_call);
}

TEST_F(program_test, device_memory_is_sampled_and_our_share_of_it_named) {
  ASSERT_FALSE(run_->device_memory.empty());
  for (const device_memory_event& m : run_->device_memory) {
    EXPECT_EQ(m.source, provenance::sampled);
    EXPECT_GT(m.total, 0U);
    EXPECT_LE(m.free, m.total);
    EXPECT_EQ(m.recorder, 3U * (3'200'000U + 1'000'000U)) << "the buffers that CUPTI reports at the start";
    EXPECT_NE(m.device, device_id::none);
  }
}

TEST_F(program_test, the_recording_names_its_cupti) { EXPECT_TRUE(run_->says("CUPTI version 130001")); }

TEST(graphs, as_a_whole_a_launch_is_one_interval) {
  const recording run = record({.arguments = {"graphs"}, .graphs = "whole"});
  auto ledger = read_ledger("graphs");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.graph_launches.size(), ledger["graph_launch"].count);
  for (const graph_launch_event& g : run.graph_launches) EXPECT_GT(g.end, g.time);
  EXPECT_EQ(run.kernels.size(), ledger["kernel"].count);
  EXPECT_TRUE(run.says("--graphs node")) << "missing detail must be reported";
}

TEST(py_torch, a_trainings_kernels_copies_and_segments_are_there) {
  const recording run = record({.arguments = {"torch"}});
  const journal::journal said = journal::read(journal_path("torch"));
  std::map<std::uint32_t, std::size_t> records;
  std::size_t allocations = 0;
  for (const journal::entry& e : said.entries) {
    if (const auto* r = std::get_if<journal::activity_record>(&e)) ++records[r->kind];
    const auto* call = std::get_if<journal::api_edge>(&e);
    if (call != nullptr && call->site == 1 && call->cbid == 243 /* cuMemAlloc_v2 */) ++allocations;
  }
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.kernels.size(), records[layout::kind_concurrent_kernel]);
  EXPECT_EQ(run.transfers.size(), records[layout::kind_memcpy]);
  EXPECT_EQ(run.memsets.size(), records[layout::kind_memset]);
  EXPECT_EQ(tally<alloc_event>(run.allocs, [](const alloc_event& a) { return a.kind == memory_kind::device; }).count,
            allocations);
  EXPECT_EQ(run.summary.lost_events, 0U);
}

}  // namespace
}  // namespace sluice::test
