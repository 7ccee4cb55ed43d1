#include "core/replay/requests.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/replay/replay.hpp"
#include "core/trace/file/reader.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/replay/slow_allocator.hpp"

namespace sluice::replay {
namespace {

using testing::indexed;

/// The events that a capture would record for a program with a native allocator.
class program {
 public:
  program() {
    allocator_.on_segment = [this](bool taken, std::uint64_t address, std::uint64_t bytes) {
      if (taken) segments_[address] = {bytes, add(trace::layer::driver, address, bytes, 0)};
      if (!taken) {
        add_free(trace::layer::driver, segments_.at(address).second);
        segments_.erase(address);
        ++given_back_;
      }
    };
  }

  /// Returns false if memory is exhausted.
  bool allocate(std::uint64_t bytes, std::uint16_t arena) {
    const auto block = static_cast<std::uint32_t>(ids_.size());
    const bool fits = allocator_.allocate(block, bytes, arena);
    ids_.push_back(0);
    if (!fits) return false;
    const auto [address, size] = allocator_.place[block];
    ids_.back() = add(trace::layer::framework, address, size, std::prev(segments_.upper_bound(address))->second.second);
    return true;
  }
  void free(std::uint32_t block) {
    request_free(block);
    allocator_.free(block);
  }
  /// Frees a block that another stream still uses: the allocator delays `complete_free`.
  void request_free(std::uint32_t block) {
    if (ids_[block] != 0) add_free(trace::layer::framework, ids_[block]);
  }
  void complete_free(std::uint32_t block) { allocator_.free(block); }
  slow_allocator& allocator() { return allocator_; }
  [[nodiscard]] std::uint32_t blocks() const { return static_cast<std::uint32_t>(ids_.size()); }
  [[nodiscard]] std::uint64_t given_back() const { return given_back_; }

  allocator_requests requests() {
    memory_.settle(tables_);
    auto whole = collect_requests(memory_, tables_);
    return whole.empty() ? allocator_requests{} : std::move(whole.front());
  }

 private:
  std::uint64_t add(trace::layer layer, std::uint64_t address, std::uint64_t bytes, std::uint64_t parent) {
    trace::alloc_event row;
    row.id = trace::event_id{++event_};
    row.time = time_ += 10;
    row.process = trace::process_id{1};
    row.device = trace::device_id{1};
    row.block = trace::block_id{++last_};
    row.parent = trace::block_id{parent};
    row.layer = layer;
    row.kind = trace::memory_kind::device;
    row.address = address;
    row.bytes = bytes;
    memory_.add(row);
    return last_;
  }
  void add_free(trace::layer layer, std::uint64_t block) {
    trace::free_event row;
    row.id = trace::event_id{++event_};
    row.time = time_ += 10;
    row.process = trace::process_id{1};
    row.block = trace::block_id{block};
    row.layer = layer;
    memory_.add(row);
  }
  slow_allocator allocator_;
  index::memory_use memory_;
  trace::tables tables_;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> segments_;  ///< Bytes and id, by address.
  std::vector<std::uint64_t> ids_;                                             ///< Id of each block; 0 if it has none.
  std::uint64_t given_back_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t event_ = 0;
  trace::time_ns time_ = 0;
};

/// Allocates and frees random blocks on each stream in turn; calls `between` at random.
void run_randomly(program& new_program, unsigned seed, std::uint16_t arenas, const std::function<void(int)>& between) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> power(9, 26);
  std::vector<std::uint32_t> live;
  for (int i = 0; i < 2500; ++i) {
    between(i);
    if (live.size() < 10 || (live.size() < 50 && random() % 2 == 0)) {
      live.push_back(new_program.blocks());
      (void)new_program.allocate(static_cast<std::uint64_t>(std::exp2(power(random))),
                                 static_cast<std::uint16_t>(random() % arenas));
    } else {
      const std::size_t at = random() % live.size();
      new_program.free(live[at]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
}

void expect_replays_exactly(program& new_program, const allocator_requests& requests, const std::string& subject) {
  const replay_metrics native = replay_policy(requests, *parse_policy("native"));
  const auto error = to_error(requests, native);
  ASSERT_TRUE(error.has_value()) << subject;
  EXPECT_TRUE(error->exact()) << subject << ": " << error->peak_reserved << " bytes, " << error->segments
                              << " segments, " << error->driver_calls << " calls";
  EXPECT_EQ(native.peak_reserved, new_program.allocator().peak) << subject;
}

TEST(requests, replay_as_recorded_although_streams_are_not) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const auto arenas = static_cast<std::uint16_t>(1 + seed % 4);
    program new_program;
    run_randomly(new_program, seed, arenas, [](int) {});
    const allocator_requests subject = new_program.requests();
    expect_replays_exactly(new_program, subject, "seed " + std::to_string(seed));
    if (arenas == 1) {
      EXPECT_EQ(subject.arenas, 2U) << "one for each size class";
    } else {
      EXPECT_GT(subject.arenas, 2U);
    }
  }
}

TEST(requests, hold_the_emptyings_that_the_program_asked_for) {
  for (unsigned seed = 30; seed < 34; ++seed) {
    program new_program;
    run_randomly(new_program, seed, 1, [&](int i) {
      if (i % 400 == 399) new_program.allocator().empty_cache();
    });
    ASSERT_GT(new_program.given_back(), 0U);
    const allocator_requests subject = new_program.requests();
    EXPECT_FALSE(subject.kept_arenas.empty());
    EXPECT_FALSE(subject.limit_inferred);
    expect_replays_exactly(new_program, subject, "seed " + std::to_string(seed));
  }
}

TEST(requests, show_the_limit_that_retries_came_from) {
  for (unsigned seed = 40; seed < 44; ++seed) {
    program unlimited;
    run_randomly(unlimited, seed, 1, [](int) {});
    const std::uint64_t limit = unlimited.allocator().peak * 4 / 5;
    program new_program;
    new_program.allocator().limit = limit;
    run_randomly(new_program, seed, 1, [](int) {});
    ASSERT_GT(new_program.allocator().retries, 2U);
    const allocator_requests subject = new_program.requests();
    EXPECT_TRUE(subject.limit_inferred);
    EXPECT_LE(new_program.allocator().peak, subject.limit);
    EXPECT_NEAR(static_cast<double>(subject.limit), static_cast<double>(limit), 32.0 * mib);
    expect_replays_exactly(new_program, subject, "seed " + std::to_string(seed));
  }
}

TEST(requests, free_late_what_another_stream_still_used) {
  std::mt19937_64 random(50);
  program new_program;
  std::vector<std::vector<std::uint32_t>> waiting;
  for (int step = 0; step < 80; ++step) {
    std::vector<std::uint32_t> blocks;
    for (int i = 0; i < 6; ++i) {
      blocks.push_back(new_program.blocks());
      ASSERT_TRUE(new_program.allocate(mib + random() % (29 * mib), 0));
    }
    for (const std::uint32_t block : blocks) new_program.request_free(block);
    waiting.push_back(std::move(blocks));
    while (waiting.size() > 3) {
      for (const std::uint32_t block : waiting.front()) new_program.complete_free(block);
      waiting.erase(waiting.begin());
    }
  }
  const allocator_requests subject = new_program.requests();
  EXPECT_LE(subject.arenas, 2U) << "late frees, not many streams";
  const auto error = to_error(subject, replay_policy(subject, *parse_policy("native")));
  ASSERT_TRUE(error.has_value());
  EXPECT_LE(std::abs(static_cast<double>(error->peak_reserved)),
            0.05 * static_cast<double>(new_program.allocator().peak));
}

std::vector<std::uint64_t> asked(const allocator_requests& requests) {
  std::vector<std::uint64_t> sizes;
  for (const request& each : requests.requests)
    if (each.kind == request_kind::allocate) sizes.push_back(each.bytes);
  return sizes;
}

TEST(requests, guess_the_size_asked_for_of_blocks_that_could_not_be_split) {
  program odd;
  ASSERT_TRUE(odd.allocate(29 * mib + 512 * 1024 + 512, 0));  // Takes a whole segment of 30 MiB.
  ASSERT_TRUE(odd.allocate(3 * mib + 512, 0));                // Split off a segment of 20 MiB, so its size is exact.
  EXPECT_EQ(asked(odd.requests()), (std::vector<std::uint64_t>{29 * mib + mib / 2, 3 * mib + 512}));
  program round;
  ASSERT_TRUE(round.allocate(30 * mib, 0));
  ASSERT_TRUE(round.allocate(4 * mib, 0));
  EXPECT_EQ(asked(round.requests()), (std::vector<std::uint64_t>{30 * mib, 4 * mib})) << "sizes are rounded here";
}

/// Expandable segments: a program maps parts of an address range one at a time.
TEST(requests, count_each_mapped_piece_of_several_spaces) {
  constexpr std::uint64_t first_space = std::uint64_t{1} << 40, second_space = std::uint64_t{2} << 40;
  constexpr std::uint64_t pieces = 8;
  index::memory_use memory;
  std::uint64_t last = 0;
  const auto add = [&](trace::layer layer, trace::memory_kind kind, std::uint64_t address, std::uint64_t bytes,
                       std::uint64_t parent = 0) {
    trace::alloc_event row;
    row.id = trace::event_id{++last};
    row.time = static_cast<trace::time_ns>(last);
    row.process = trace::process_id{1};
    row.device = trace::device_id{1};
    row.block = trace::block_id{last};
    row.parent = trace::block_id{parent};
    row.layer = layer;
    row.kind = kind;
    row.address = address;
    row.bytes = bytes;
    memory.add(row);
    return last;
  };
  for (const std::uint64_t space : {first_space, second_space}) {
    add(trace::layer::driver, trace::memory_kind::reservation, space, 64 * mib);
    const std::uint64_t piece = add(trace::layer::driver, trace::memory_kind::mapping, space, 2 * mib);
    add(trace::layer::framework, trace::memory_kind::device, space, 512, piece);
  }
  // No block starts in these mappings.
  for (const std::uint64_t space : {first_space, second_space})
    for (std::uint64_t i = 1; i < pieces; ++i)
      add(trace::layer::driver, trace::memory_kind::mapping, space + i * 2 * mib, 2 * mib);
  const trace::tables tables;
  memory.settle(tables);
  const auto whole = collect_requests(memory, tables);
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole.front().recorded.peak_segments, 2 * pieces);
  EXPECT_EQ(whole.front().recorded.peak_reserved, 2 * pieces * 2 * mib);
}

/// A snapshot may be taken while there is memory in the cache.
TEST(requests, know_the_cached_segments_in_which_no_block_began) {
  index::memory_use memory;
  trace::tables tables;
  trace::pool_row pool;
  pool.id = trace::pool_id{1};
  pool.layer = trace::layer::framework;
  tables.pools.put(pool);
  std::uint64_t last = 0;
  const auto add = [&](trace::layer layer, std::uint64_t bytes, trace::pool_id id, std::uint64_t parent = 0) {
    trace::alloc_event row;
    row.id = trace::event_id{++last};
    row.time = static_cast<trace::time_ns>(last);
    row.process = trace::process_id{1};
    row.device = trace::device_id{1};
    row.block = trace::block_id{last};
    row.parent = trace::block_id{parent};
    row.layer = layer;
    row.kind = trace::memory_kind::device;
    row.pool = id;
    row.address = last << 40;
    row.bytes = bytes;
    memory.add(row);
    return last;
  };
  const auto free = [&](std::uint64_t block) {
    trace::free_event row;
    row.id = trace::event_id{++last};
    row.time = static_cast<trace::time_ns>(last);
    row.process = trace::process_id{1};
    row.block = trace::block_id{block};
    row.layer = trace::layer::driver;
    memory.add(row);
  };
  const std::uint64_t cached = add(trace::layer::driver, 50 * mib, pool.id);
  add(trace::layer::driver, 70 * mib, {});  // A library allocated this block, which belongs to no pool.
  const std::uint64_t used = add(trace::layer::driver, 20 * mib, pool.id);
  add(trace::layer::framework, 8 * mib, pool.id, used);
  free(cached);
  add(trace::layer::driver, 30 * mib, pool.id);
  memory.settle(tables);
  const auto whole = collect_requests(memory, tables);
  ASSERT_EQ(whole.size(), 1U);
  const recorded_allocator& recorded = whole.front().recorded;
  EXPECT_EQ(recorded.peak_reserved, 70 * mib);
  EXPECT_EQ(recorded.peak_segments, 2U);
  EXPECT_EQ(recorded.driver_calls, 4U);
  EXPECT_EQ(recorded.empty_segments, 2U);
  EXPECT_EQ(recorded.empty_bytes, 80 * mib);
  const auto error = to_error(whole.front(), replay_policy(whole.front(), *parse_policy("native")));
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->exact()) << "no request explains the empty ones";
}

/// A corrupt file may place a block on another device than its segment. Only the device of the block has an allocator.
TEST(requests, are_none_for_a_device_that_has_segments_only) {
  index::memory_use memory;
  std::uint64_t last = 0;
  const auto add = [&](trace::layer layer, trace::memory_kind kind, std::uint32_t device, std::uint64_t parent) {
    trace::alloc_event row;
    row.id = trace::event_id{++last};
    row.time = static_cast<trace::time_ns>(last);
    row.process = trace::process_id{1};
    row.device = trace::device_id{device};
    row.block = trace::block_id{last};
    row.parent = trace::block_id{parent};
    row.layer = layer;
    row.kind = kind;
    row.address = (std::uint64_t{1} << 40) + last * 2 * mib;
    row.bytes = 2 * mib;
    memory.add(row);
    return last;
  };
  const std::uint64_t segment = add(trace::layer::driver, trace::memory_kind::mapping, 1, 0);
  add(trace::layer::driver, trace::memory_kind::mapping, 1, 0);
  add(trace::layer::framework, trace::memory_kind::device, 2, segment);
  const trace::tables tables;
  memory.settle(tables);
  const auto whole = collect_requests(memory, tables);
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole.front().device, trace::device_id{2});
  EXPECT_FALSE(whole.front().requests.empty());
}

TEST(requests, are_none_without_a_framework) {
  trace::tables tables;
  index::memory_use memory;
  memory.settle(tables);
  EXPECT_TRUE(collect_requests(memory, tables).empty());
}

TEST(requests, of_recorded_trainings_replay_as_recorded) {
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/tests/data/trainings")) {
    if (entry.path().extension() != ".sluice") continue;
    const indexed loaded(trace::file::open(entry.path().string()).value());
    for (const allocator_requests& each : collect_requests(loaded.index.memory(), loaded.snapshot->tables())) {
      const replay_metrics native = replay_policy(each, *parse_policy("native"));
      const auto error = to_error(each, native);
      ASSERT_TRUE(error.has_value()) << entry.path();
      EXPECT_TRUE(error->exact()) << entry.path() << ": " << error->peak_reserved << " bytes, " << error->segments
                                  << " segments, " << error->driver_calls << " calls";
      ++compared;
    }
  }
  EXPECT_GE(compared, 15U);
}

}  // namespace
}  // namespace sluice::replay
