#include "core/replay/requests.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <vector>

#include "core/replay/allocator_model.hpp"
#include "core/trace/file/reader.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::replay {
namespace {

using testing::indexed;

/// What a capture would record of a program: its own allocator is the native model, whose places become addresses.
class program {
 public:
  program() : of_(make_requests()), model_(of_, rules_for(*parse_policy("native"), of_)) {}

  void allocate(std::uint64_t bytes, std::uint16_t arena) {
    const std::uint64_t calls = model_.figures().driver_calls;
    const auto block = static_cast<std::uint32_t>(addresses_.size());
    ASSERT_TRUE(model_.allocate(block, bytes, arena, 0));
    const auto at = model_.place_of(block);
    if (model_.figures().driver_calls != calls) add(trace::layer::driver, at.address, segment_size(at.bytes), 0);
    addresses_.push_back(at.address);
    add(trace::layer::framework, at.address, at.bytes, segment_at(at.address));
    ids_.push_back(next_);
  }
  void free(std::uint32_t block) {
    model_.free(block);
    trace::free_event row;
    row.id = trace::event_id{++event_};
    row.time = time_ += 10;
    row.process = trace::process_id{1};
    row.block = trace::block_id{ids_[block]};
    row.layer = trace::layer::framework;
    memory_.add(row);
  }
  [[nodiscard]] std::uint32_t blocks() const { return static_cast<std::uint32_t>(addresses_.size()); }
  [[nodiscard]] const replay_figures& figures() const { return model_.figures(); }
  allocator_requests requests() {
    memory_.settle(tables_);
    auto all = requests_of(memory_, tables_);
    return all.empty() ? allocator_requests{} : std::move(all.front());
  }

 private:
  static allocator_requests make_requests() {
    allocator_requests made;
    made.arenas = 4;
    made.blocks = 100000;
    return made;
  }
  void add(trace::layer layer, std::uint64_t address, std::uint64_t bytes, std::uint64_t parent) {
    trace::alloc_event row;
    row.id = trace::event_id{++event_};
    row.time = time_ += 10;
    row.process = trace::process_id{1};
    row.device = trace::device_id{1};
    row.block = trace::block_id{++next_};
    row.parent = trace::block_id{parent};
    row.layer = layer;
    row.kind = trace::memory_kind::device;
    row.address = address;
    row.bytes = bytes;
    memory_.add(row);
    if (layer == trace::layer::driver) segments_.push_back({address, bytes, next_});
  }
  [[nodiscard]] std::uint64_t segment_at(std::uint64_t address) const {
    for (const auto& each : segments_)
      if (address >= each.address && address - each.address < each.bytes) return each.id;
    return 0;
  }
  struct segment {
    std::uint64_t address, bytes, id;
  };
  allocator_requests of_;
  allocator_model model_;
  analysis::memory_use memory_;
  trace::tables tables_;
  std::vector<segment> segments_;
  std::vector<std::uint64_t> addresses_;
  std::vector<std::uint64_t> ids_;
  std::uint64_t next_ = 0;
  std::uint64_t event_ = 0;
  trace::time_ns time_ = 0;
};

TEST(requests, replay_as_recorded_although_streams_are_not) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> power(9, 26);
    program made;
    std::vector<std::uint32_t> live;
    const std::uint16_t arenas = static_cast<std::uint16_t>(1 + seed % 4);
    for (int i = 0; i < 2500; ++i) {
      if (live.size() < 10 || (live.size() < 50 && random() % 2 == 0)) {
        live.push_back(made.blocks());
        made.allocate(static_cast<std::uint64_t>(std::exp2(power(random))),
                      static_cast<std::uint16_t>(random() % arenas));
      } else {
        const std::size_t at = random() % live.size();
        made.free(live[at]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    const allocator_requests of = made.requests();
    const replay_figures native = replay_policy(of, *parse_policy("native"));
    const auto error = error_of(of, native);
    ASSERT_TRUE(error.has_value());
    EXPECT_TRUE(error->exact()) << error->peak_reserved << " bytes, " << error->segments << " segments";
    EXPECT_EQ(native.peak_reserved, made.figures().peak_reserved);
    EXPECT_EQ(native.driver_calls, made.figures().driver_calls);
    if (arenas == 1) {
      EXPECT_EQ(of.arenas, 2U) << "one for each class of size";
    } else {
      EXPECT_GT(of.arenas, 2U);
    }
  }
}

TEST(requests, are_none_without_a_framework) {
  trace::tables tables;
  analysis::memory_use memory;
  memory.settle(tables);
  EXPECT_TRUE(requests_of(memory, tables).empty());
}

TEST(requests, of_recorded_trainings_replay_as_recorded) {
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/tests/data/trainings")) {
    if (entry.path().extension() != ".sluice") continue;
    const indexed all(trace::file::open(entry.path().string()).value());
    for (const allocator_requests& each : requests_of(all.index.memory(), all.snapshot->tables())) {
      const replay_figures native = replay_policy(each, *parse_policy("native"));
      const auto error = error_of(each, native);
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
