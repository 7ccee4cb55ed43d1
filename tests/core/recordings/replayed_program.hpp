#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "tests/core/recordings/recording.hpp"
#include "tests/core/replay/slow_allocator.hpp"

/// Recordings of programs whose memory comes from a model of PyTorch's native allocator, with the segments that the
/// model takes from the driver.
namespace sluice::testing {

class replayed_program {
 public:
  /// Writes to `into`, which must outlive this object. `limit`: maximum number of bytes in segments.
  explicit replayed_program(recording& into, std::uint64_t limit = replay::no_limit) : into_(into) {
    into_.standard_tables();
    allocator_.limit = limit;
    allocator_.on_segment = [this](bool taken, std::uint64_t address, std::uint64_t bytes) {
      if (taken) {
        segments_[address] = row(trace::layer::driver, address, bytes, 0, "cudaMalloc");
      } else {
        into_.add_free(tick(), segments_.at(address));
        segments_.erase(address);
      }
    };
  }

  /// Returns the block's number, for `free`. `category`: a tag such as "weight"; empty for no tag.
  std::uint32_t allocate(std::uint64_t bytes, std::string_view category = {}) {
    const auto number = static_cast<std::uint32_t>(blocks_.size());
    EXPECT_TRUE(allocator_.allocate(number, bytes, 0)) << "out of memory";
    const auto [address, size] = allocator_.place[number];
    const std::uint64_t segment = std::prev(segments_.upper_bound(address))->second;
    blocks_.push_back(row(trace::layer::framework, address, size, segment, "torch"));
    if (!category.empty()) tag(category);
    return number;
  }
  void free(std::uint32_t number) {
    into_.add_free(tick(), blocks_[number], trace::layer::framework);
    allocator_.free(number);
  }
  [[nodiscard]] const replay::slow_allocator& allocator() const { return allocator_; }

 private:
  time_ns tick() { return time_ += 10'000; }

  std::uint64_t row(trace::layer layer, std::uint64_t address, std::uint64_t bytes, std::uint64_t parent,
                    std::string_view name) {
    auto output = into_.event<trace::alloc_event>(tick());
    output.block = trace::block_id{++last_};
    output.parent = trace::block_id{parent};
    output.bytes = bytes;
    output.kind = trace::memory_kind::device;
    output.layer = layer;
    output.device = trace::device_id{1};
    output.address = address;
    output.name = into_.text(name);
    event_ = trace::event_id{into_.writer().add(output)};
    return last_;
  }
  void tag(std::string_view category) {
    auto output = into_.event<trace::attribute_event>(time_);
    output.target = event_;
    output.key = into_.text("category");
    output.text = into_.text(category);
    into_.writer().add(output);
  }

  recording& into_;
  replay::slow_allocator allocator_;
  std::map<std::uint64_t, std::uint64_t> segments_;  ///< Id of each segment's driver block, by address.
  std::vector<std::uint64_t> blocks_;
  std::uint64_t last_ = 0;
  trace::event_id event_{};
  time_ns time_ = 0;
};

/// Allocates sizes that grow with each step: each time the native allocator needs a new segment, and it keeps the old
/// segments.
inline void grow_slowly(replayed_program& program, int steps) {
  const std::uint32_t kept = program.allocate(40 * mib, "weight");
  for (int step = 0; step < steps; ++step) {
    const std::uint32_t block = program.allocate((100 + 4 * static_cast<std::uint64_t>(step)) * mib, "activation");
    const std::uint32_t other = program.allocate(30 * mib, "workspace");
    program.free(block);
    program.free(other);
  }
  program.free(kept);
}

/// Runs a training whose block sizes follow a rule: weights of 6 * 4 MiB; in each step an input of n * 128 KiB, 8
/// activations of 2 MiB + n * 128 KiB that are live together, and then gradients of 6 * 4 MiB. With an n of 16, 32 or
/// 64 the requested sizes can be inferred from the recording.
inline void train(replayed_program& program, std::uint64_t batch, int steps = 5) {
  const std::uint64_t sample = mib / 8;
  std::vector<std::uint32_t> weights;
  for (int i = 0; i < 6; ++i) weights.push_back(program.allocate(4 * mib, "weight"));
  for (int step = 0; step < steps; ++step) {
    std::vector<std::uint32_t> values;
    values.push_back(program.allocate(batch * sample, "input"));
    for (int i = 0; i < 8; ++i) values.push_back(program.allocate(2 * mib + batch * sample, "activation"));
    for (int i = 0; i < 6; ++i) values.push_back(program.allocate(4 * mib, "gradient"));
    for (const std::uint32_t each : values) program.free(each);
  }
  for (const std::uint32_t each : weights) program.free(each);
}

}  // namespace sluice::testing
