#include "core/index/memory/memory_use.hpp"
#include "core/index/growing_index.hpp"

#include <gtest/gtest.h>

#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::index {
namespace {

using testing::gib;
using testing::indexed;
using testing::mib;
using testing::ms;
using testing::recording;
using trace::layer;
using trace::memory_kind;

const metrics::memory_statistics* find(const metrics::range_statistics& statistics, layer layer, memory_kind kind) {
  for (const metrics::memory_statistics& memory_statistics : statistics.memory) {
    if (memory_statistics.layer == layer && memory_statistics.kind == kind) return &memory_statistics;
  }
  return nullptr;
}

TEST(memory_use, counts_a_block_from_its_birth_to_the_request_of_its_free) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(10 * ms, 1, 3 * gib);
  recorded.add_alloc(20 * ms, 2, 1 * gib);
  recorded.add_free(30 * ms, 1);
  recorded.add_free(50 * ms, 2);
  recorded.close();
  const indexed loaded(recorded.open());
  const metrics::range_statistics metrics = metrics::measure(loaded.index, loaded.snapshot->tables(), {0, 100 * ms});
  const metrics::memory_statistics* device = find(metrics, layer::driver, memory_kind::device);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->maximum, 4 * gib);
  EXPECT_EQ(device->maximum_time, 20 * ms);
  EXPECT_EQ(device->minimum, 0U);
  EXPECT_EQ(device->at_begin, 0U);
  EXPECT_EQ(device->at_end, 0U);
  EXPECT_DOUBLE_EQ(device->mean, (3.0 * gib * 20 + 1.0 * gib * 30) / 100);
  EXPECT_EQ(device->allocations, 2U);
  EXPECT_EQ(device->freed_bytes, 4 * gib);

  const metrics::range_statistics part = metrics::measure(loaded.index, loaded.snapshot->tables(), {20 * ms, 30 * ms});
  device = find(part, layer::driver, memory_kind::device);
  EXPECT_EQ(device->at_begin, 3 * gib) << "the second comes at that moment";
  EXPECT_EQ(device->minimum, 4 * gib);
  EXPECT_EQ(device->allocations, 1U);
  EXPECT_EQ(device->frees, 0U) << "the range ends before the free";
}

TEST(memory_use, keeps_layers_and_kinds_apart_and_host_memory_off_the_device) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1, 1, 100, memory_kind::device, layer::driver);
  recorded.add_alloc(2, 2, 60, memory_kind::device, layer::framework);
  recorded.add_alloc(3, 3, 7, memory_kind::pinned, layer::driver);
  recorded.close();
  const indexed loaded(recorded.open());
  const metrics::range_statistics metrics = metrics::measure(loaded.index, loaded.snapshot->tables(), {0, 10});
  ASSERT_EQ(metrics.memory.size(), 3U);
  EXPECT_EQ(find(metrics, layer::driver, memory_kind::device)->maximum, 100U);
  EXPECT_EQ(find(metrics, layer::framework, memory_kind::device)->maximum, 60U);
  const metrics::memory_statistics* pinned = find(metrics, layer::driver, memory_kind::pinned);
  EXPECT_EQ(pinned->maximum, 7U);
  EXPECT_EQ(pinned->device, trace::device_id::none);
}

TEST(memory_use, does_not_count_imported_memory_or_births_before_the_recording) {
  recording recorded;
  recorded.standard_tables();
  auto imported = recorded.event<trace::alloc_event>(5);
  imported.block = trace::block_id{1};
  imported.bytes = 1000;
  imported.kind = memory_kind::device;
  imported.device = trace::device_id{1};
  imported.flags = trace::ipc_import;
  recorded.writer().add(imported);
  auto before = imported;
  before.id = {};
  before.block = trace::block_id{2};
  before.time = 0;
  before.flags = trace::born_before;
  recorded.writer().add(before);
  recorded.close();
  const indexed loaded(recorded.open());
  const metrics::report metrics = metrics::make_report(loaded.index, *loaded.snapshot);
  const metrics::memory_statistics* device = find(metrics.whole, layer::driver, memory_kind::device);
  EXPECT_EQ(device->maximum, 1000U);
  EXPECT_EQ(device->allocations, 0U);
  EXPECT_TRUE(metrics.unfreed.empty()) << "it was allocated before this recording";
}

TEST(memory_use, finds_what_is_not_tracked_between_the_samples) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(10, 1, 2 * gib);
  recorded.add_device_memory(20, 137 * gib, 140 * gib, 100 * mib);  // 3 GiB used, 1 GiB minus 100 MiB of it untracked.
  recorded.add_free(30, 1);
  recorded.add_device_memory(40, 138 * gib, 140 * gib, 100 * mib);  // 2 GiB are used, none of which are tracked.
  recorded.add_device_memory(60, 140 * gib, 140 * gib, 100 * mib);  // Less than the recorder's own use: never below 0.
  recorded.close();
  const indexed loaded(recorded.open());
  const metrics::range_statistics metrics = metrics::measure(loaded.index, loaded.snapshot->tables(), {0, 100});
  ASSERT_EQ(metrics.untracked.size(), 1U);
  const metrics::untracked_statistics& statistics = metrics.untracked[0];
  EXPECT_EQ(statistics.samples, 3U);
  EXPECT_EQ(statistics.maximum, 2 * gib - 100 * mib);
  EXPECT_EQ(statistics.at_end, 0U);
  EXPECT_EQ(statistics.recorder, 0U);
  EXPECT_EQ(statistics.used_maximum, 3 * gib);
  const double expected =
      (static_cast<double>(1 * gib - 100 * mib) * 20 + static_cast<double>(2 * gib - 100 * mib) * 20) / 80;
  EXPECT_DOUBLE_EQ(statistics.mean, expected) << "from the first sample on";
  EXPECT_TRUE(metrics::measure(loaded.index, loaded.snapshot->tables(), {0, 15}).untracked.empty())
      << "nothing is known yet";
}

TEST(memory_use, corrects_what_is_not_tracked_when_an_allocation_comes_late) {
  recording recorded(1);
  recorded.standard_tables();
  recorded.add_device_memory(20, 138 * gib, 140 * gib);
  recorded.flush();
  const auto file = recorded.open();
  growing_index growing;
  auto now = file->latest();
  ASSERT_TRUE(growing.absorb(*now, 100));
  EXPECT_EQ(metrics::measure(growing, now->tables(), {0, 100}).untracked[0].maximum, 2 * gib);
  recorded.add_alloc(10, 1, 1 * gib);
  recorded.close();
  ASSERT_TRUE(file->refresh().value());
  now = file->latest();
  ASSERT_TRUE(growing.absorb(*now, 100));
  EXPECT_EQ(metrics::measure(growing, now->tables(), {0, 100}).untracked[0].maximum, 1 * gib);
}

class pools : public ::testing::Test {
 protected:
  void define(layer layer) {
    trace::pool_row row;
    row.id = trace::pool_id{1};
    row.device = trace::device_id{1};
    row.layer = layer;
    row.name = made_.text("cache");
    made_.writer().add(row);
  }
  void state(time_ns time, std::uint64_t reserved, std::uint64_t used) {
    auto row = made_.event<trace::pool_event>(time);
    row.pool = trace::pool_id{1};
    row.reserved = reserved;
    row.used = used;
    made_.writer().add(row);
  }
  void block(time_ns time, std::uint64_t id, std::uint64_t bytes) {
    auto row = made_.event<trace::alloc_event>(time);
    row.block = trace::block_id{id};
    row.bytes = bytes;
    row.layer = layer::pool;
    row.kind = memory_kind::device;
    row.device = trace::device_id{1};
    row.pool = trace::pool_id{1};
    made_.writer().add(row);
  }
  recording made_;
};

TEST_F(pools, use_what_their_blocks_say_and_reserve_what_was_sampled) {
  made_.standard_tables();
  define(layer::driver);
  state(10, 1000, 100);
  block(15, 1, 700);
  made_.add_free(17, 1, layer::pool);
  state(20, 2000, 100);
  made_.close();
  const indexed loaded(made_.open());
  const auto metrics = metrics::measure(loaded.index, loaded.snapshot->tables(), {0, 30});
  ASSERT_EQ(metrics.pools.size(), 1U);
  EXPECT_EQ(metrics.pools[0].reserved_maximum, 2000U);
  EXPECT_EQ(metrics.pools[0].reserved_maximum_time, 20);
  EXPECT_EQ(metrics.pools[0].used_maximum, 700U) << "between two samples";
  EXPECT_EQ(metrics.pools[0].used_at_end, 0U);
  EXPECT_DOUBLE_EQ(metrics.pools[0].used_share, 700.0 * 2 / (1000.0 * 10 + 2000.0 * 10));
}

TEST_F(pools, of_the_driver_are_tracked_memory) {
  made_.standard_tables();
  define(layer::driver);
  state(10, 3 * gib, 1 * gib);
  made_.add_device_memory(20, 136 * gib, 140 * gib);
  made_.close();
  const indexed loaded(made_.open());
  EXPECT_EQ(metrics::measure(loaded.index, loaded.snapshot->tables(), {0, 30}).untracked[0].maximum, 1 * gib);
}

// A recorder samples a device and its pools at the same time, the device first.
TEST_F(pools, that_grow_at_once_are_not_untracked) {
  made_.standard_tables();
  define(layer::driver);
  made_.add_device_memory(10, 139 * gib, 140 * gib);
  made_.add_device_memory(20, 34 * gib, 140 * gib);
  state(20, 105 * gib, 0);
  made_.close();
  const indexed loaded(made_.open());
  const auto metrics = metrics::measure(loaded.index, loaded.snapshot->tables(), {0, 30});
  EXPECT_EQ(metrics.untracked[0].maximum, 1 * gib);
  EXPECT_EQ(metrics.pools[0].reserved_maximum, 105 * gib);
  EXPECT_EQ(metrics.pools[0].used_maximum, 0U);
}

TEST_F(pools, hold_at_least_what_their_blocks_use) {
  made_.standard_tables();
  define(layer::driver);
  state(5, 1 * gib, 0);
  block(10, 1, 8 * gib);
  made_.add_device_memory(12, 131 * gib, 140 * gib);  // The pool is sampled later.
  made_.close();
  const indexed loaded(made_.open());
  EXPECT_EQ(metrics::measure(loaded.index, loaded.snapshot->tables(), {0, 30}).untracked[0].maximum, 1 * gib);
}

TEST_F(pools, of_others_lie_in_blocks_of_the_driver_that_count_already) {
  made_.standard_tables();
  define(layer::pool);
  made_.add_alloc(5, 1, 3 * gib);
  state(10, 3 * gib, 1 * gib);
  made_.add_device_memory(20, 136 * gib, 140 * gib);
  made_.close();
  const indexed loaded(made_.open());
  EXPECT_EQ(metrics::measure(loaded.index, loaded.snapshot->tables(), {0, 30}).untracked[0].maximum, 1 * gib);
}

TEST(memory_use, takes_frees_that_are_reported_before_their_allocations) {
  recording recorded(1);
  recorded.standard_tables();
  recorded.add_free(20, 1);
  recorded.flush();
  recorded.add_alloc(10, 1, 500);
  recorded.close();
  const indexed loaded(recorded.open());
  const metrics::memory_statistics* device = nullptr;
  const auto metrics = metrics::measure(loaded.index, loaded.snapshot->tables(), {0, 30});
  ASSERT_NE(device = find(metrics, layer::driver, memory_kind::device), nullptr);
  EXPECT_EQ(device->maximum, 500U);
  EXPECT_EQ(device->at_end, 0U);
  EXPECT_TRUE(loaded.index.warnings().empty());
}

TEST(memory_use, leaves_out_what_makes_no_sense_and_says_so) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(10, 1, 500);
  recorded.add_alloc(11, 1, 900);                // Allocated twice.
  recorded.add_free(5, 1);                       // Freed before it is allocated.
  recorded.add_free(7, 1);                       // Freed twice.
  recorded.add_alloc(12, 2, ~std::uint64_t{0});  // More than there is.
  recorded.add_alloc(12, 0, 5);                  // No block.
  recorded.close();
  const indexed loaded(recorded.open());
  ASSERT_EQ(loaded.index.warnings().size(), 1U);
  EXPECT_NE(loaded.index.warnings()[0].find("5 events are invalid"), std::string::npos) << loaded.index.warnings()[0];
  const auto metrics = metrics::measure(loaded.index, loaded.snapshot->tables(), {0, 12});
  EXPECT_EQ(find(metrics, layer::driver, memory_kind::device)->maximum, 0U);
}

// --- after a loss ---------------------------------------------------------------------------------------------------

class after_a_loss : public ::testing::Test {
 protected:
  void checkpoint(time_ns time, std::initializer_list<std::uint64_t> live, bool exact = true) {
    auto row = made_.event<trace::checkpoint_event>(time);
    row.blocks = live.size();
    row.exact = exact;
    row.id = made_.writer().next_event();
    made_.writer().add(row);
    for (const std::uint64_t id : live) {
      auto block = made_.event<trace::live_block_event>(time);
      block.block = trace::block_id{id};
      block.bytes = 100 * id;
      block.kind = memory_kind::device;
      block.device = trace::device_id{1};
      block.checkpoint = row.id;
      block.born = 15;
      made_.writer().add(block);
    }
  }
  void loss(std::uint64_t memory_events) {
    auto row = made_.event<trace::loss_event>(20);
    row.end = 30;
    row.events = 10;
    row.memory_events = memory_events;
    made_.writer().add(row);
  }
  std::uint64_t at(time_ns time) {
    made_.close();
    const indexed loaded(made_.open());
    const auto metrics = metrics::measure(loaded.index, loaded.snapshot->tables(), {time, time + 1});
    const metrics::memory_statistics* device = find(metrics, layer::driver, memory_kind::device);
    return device == nullptr ? 0 : device->maximum;
  }
  recording made_;
};

TEST_F(after_a_loss, a_checkpoint_brings_blocks_whose_allocation_was_lost) {
  made_.add_alloc(10, 1, 100);
  loss(3);
  checkpoint(40, {1, 2});
  EXPECT_EQ(at(50), 300U);
}

TEST_F(after_a_loss, a_checkpoint_ends_blocks_whose_free_was_lost) {
  made_.add_alloc(10, 1, 100);
  made_.add_alloc(10, 2, 200);
  loss(3);
  checkpoint(40, {1});
  EXPECT_EQ(at(50), 100U);
}

TEST_F(after_a_loss, an_inexact_checkpoint_ends_nothing) {
  made_.add_alloc(10, 2, 200);
  loss(3);
  checkpoint(40, {}, false);
  EXPECT_EQ(at(50), 200U);
}

TEST_F(after_a_loss, of_other_events_a_checkpoint_ends_nothing) {
  made_.add_alloc(10, 2, 200);
  loss(0);
  checkpoint(40, {});
  EXPECT_EQ(at(50), 200U);
}

TEST_F(after_a_loss, the_free_itself_is_believed_when_it_comes_late) {
  made_.add_alloc(10, 2, 200);
  loss(1);
  checkpoint(40, {});
  made_.flush();
  const auto file = made_.open();
  growing_index growing;
  auto now = file->latest();
  ASSERT_TRUE(growing.absorb(*now, 100));
  EXPECT_TRUE(growing.memory().find(trace::block_id{2})->death_inferred);
  made_.add_free(25, 2);
  made_.close();
  ASSERT_TRUE(file->refresh().value());
  ASSERT_TRUE(growing.absorb(*file->latest(), 100));
  EXPECT_FALSE(growing.memory().find(trace::block_id{2})->death_inferred);
  EXPECT_EQ(growing.memory().find(trace::block_id{2})->died, 25);
  EXPECT_EQ(metrics::measure(growing, now->tables(), {26, 60}).memory.size(), 0U);
}

}  // namespace
}  // namespace sluice::index
