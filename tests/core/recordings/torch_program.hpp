#pragma once

#include <cstdint>
#include <vector>

#include "tests/core/recordings/stacks.hpp"

/// Synthetic PyTorch programs that run out of memory.
namespace sluice::testing {

/// A PyTorch program, written row by row: driver segments, blocks in them, and kernels that use the blocks.
class torch_program {
 public:
  explicit torch_program(recording& into, std::uint64_t device_bytes) : into_(into), stacks_(into) {
    trace::process_row process;
    process.id = trace::process_id{1};
    process.pid = 42;
    process.mode = trace::recording_mode::memory;
    into.writer().add(process);
    trace::thread_row thread;
    thread.id = trace::thread_id{1};
    thread.process = process.id;
    thread.tid = 43;
    into.writer().add(thread);
    trace::device_row device;
    device.id = trace::device_id{1};
    device.name = into.text("GPU");
    device.kind = trace::device_kind::cuda;
    device.ordinal = 0;
    device.memory_bytes = device_bytes;
    into.writer().add(device);
    trace::stream_row stream;
    stream.id = trace::stream_id{1};
    stream.process = process.id;
    stream.device = device.id;
    into.writer().add(stream);
  }

  std::uint64_t segment(std::uint64_t bytes) {
    auto row = alloc(bytes, trace::layer::driver);
    row.address = next_address_;
    next_address_ += std::uint64_t{1} << 32;
    addresses_.push_back(row.address);
    into_.writer().add(row);
    return raw(row.block);
  }
  std::uint64_t block(std::uint64_t segment, std::uint64_t offset, std::uint64_t bytes, const char* function,
                      std::uint64_t line) {
    auto row = alloc(bytes, trace::layer::framework);
    row.parent = trace::block_id{segment};
    row.address = addresses_[segment - 1] + offset;
    row.stack = stack(function, line);
    row.name = into_.text("PyTorch");
    addresses_.push_back(row.address);
    last_block_ = trace::event_id{into_.writer().add(row)};
    return raw(row.block);
  }
  /// Tags the last block: "weight", "activation", ...
  void tag(std::string_view category) {
    auto row = into_.event<trace::attribute_event>(now_);
    row.target = last_block_;
    row.key = into_.text("category");
    row.text = into_.text(category);
    into_.writer().add(row);
  }
  void free(std::uint64_t block, trace::layer layer = trace::layer::framework) { into_.add_free(tick(), block, layer); }
  void use(std::uint64_t block, int times = 1) {
    for (int i = 0; i < times; ++i) {
      auto row = into_.event<trace::touch_event>(tick());
      row.block = trace::block_id{block};
      row.stream = trace::stream_id{1};
      row.correlation = ++correlation_;
      row.name = into_.text("kernel");
      into_.writer().add(row);
    }
  }
  /// PyTorch fails to allocate a block of `bytes`, because the driver refuses a segment of `segment` bytes. If
  /// `driver` is false, only PyTorch's failure is recorded.
  void fail(std::uint64_t bytes, std::uint64_t segment, bool driver = true) {
    if (driver) refuse(segment, trace::layer::driver);
    refuse(bytes, trace::layer::framework);
  }
  [[nodiscard]] time_ns now() const { return now_; }
  time_ns tick() { return now_ += ms; }

 private:
  void refuse(std::uint64_t bytes, trace::layer layer) {
    auto row = into_.event<trace::alloc_failed_event>(tick());
    row.layer = layer;
    row.kind = trace::memory_kind::device;
    row.device = trace::device_id{1};
    row.bytes = bytes;
    row.error = 2;
    row.stack = stack("forward", 40);
    row.name = into_.text(layer == trace::layer::driver ? "cuMemAlloc_v2" : "PyTorch");
    into_.writer().add(row);
  }
  trace::alloc_event alloc(std::uint64_t bytes, trace::layer layer) {
    auto row = into_.event<trace::alloc_event>(tick());
    row.block = trace::block_id{++blocks_};
    row.bytes = bytes;
    row.kind = trace::memory_kind::device;
    row.layer = layer;
    row.device = trace::device_id{1};
    return row;
  }
  trace::stack_id stack(const char* function, std::uint64_t line) {
    return stacks_({python("empty", "/usr/lib/python3/site-packages/torch/functional.py"),
                    python(function, "/home/me/train.py", line), python("<module>", "/home/me/train.py", 99)});
  }

  recording& into_;
  testing::stack_maker stacks_;
  time_ns now_ = 0;
  std::uint64_t blocks_ = 0;
  trace::event_id last_block_{};
  std::uint64_t correlation_ = 0;
  std::uint64_t next_address_ = std::uint64_t{1} << 36;
  std::vector<std::uint64_t> addresses_;  ///< Addresses of blocks 1, 2, ...
};

/// Three segments of 100 MiB on a GPU of 340 MiB: a model in use, a history that is never read again, and a request for
/// 100 MiB more.
inline void write_history(recording& recorded, bool dead = true) {
  torch_program program(recorded, 340 * mib);
  const auto model = program.segment(100 * mib);
  const auto weights = program.block(model, 0, 100 * mib, "build", 10);
  const auto old = program.segment(100 * mib);
  const auto history = program.block(old, 0, 100 * mib, "keep_history", 20);
  program.use(history);
  const auto more = program.segment(100 * mib);
  const auto batch = program.block(more, 0, 100 * mib, "load", 30);
  program.use(batch);
  for (int i = 0; i < 40; ++i) {
    program.use(weights);
    program.use(batch);
    if (!dead) program.use(history);
  }
  program.fail(90 * mib, 90 * mib);
}

/// Four segments of 60 MiB, each with only a block of 4 MiB in use. A request for 100 MiB more fits no
/// hole and exceeds the memory that is left.
inline void write_fragments(recording& recorded) {
  torch_program program(recorded, 340 * mib);
  std::vector<std::uint64_t> kept;
  std::vector<std::uint64_t> freed;
  for (int i = 0; i < 4; ++i) {
    const auto segment = program.segment(60 * mib);
    program.free(program.block(segment, 0, 60 * mib, "pass", 20));
    kept.push_back(program.block(segment, 0, 4 * mib, "keep", 10));
    freed.push_back(program.block(segment, 4 * mib, 56 * mib, "pass", 21));
  }
  for (const auto each : freed) {
    program.use(each);
    program.free(each);
  }
  for (int i = 0; i < 10; ++i)
    for (const auto each : kept) program.use(each);
  program.fail(100 * mib, 100 * mib);
}

}  // namespace sluice::testing
