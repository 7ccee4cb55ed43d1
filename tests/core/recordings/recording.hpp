#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "core/index/growing_index.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Synthetic traces for tests.
namespace sluice::testing {

using trace::time_ns;

inline constexpr time_ns ms = 1'000'000;
inline constexpr std::uint64_t mib = std::uint64_t{1} << 20;
inline constexpr std::uint64_t gib = std::uint64_t{1} << 30;

/// A trace in a temporary file, which the destructor deletes. Short functions add rows; `close` ends the trace, and
/// `open` opens it for reading.
class recording {
 public:
  explicit recording(std::size_t rows_per_chunk = 8192, bool simulated = false)
      : path_((std::filesystem::temp_directory_path() / ("sluice-analysis-" + std::to_string(::getpid()) + "-" +
                                                         std::to_string(serial_.fetch_add(1)) + ".sluice"))
                  .string()) {
    trace::writer_options options;
    options.rows_per_chunk = rows_per_chunk;
    options.simulated = simulated;
    writer_ = std::make_unique<trace::file_writer>(trace::file_writer::create(path_, options).value());
  }
  ~recording() {
    writer_.reset();
    std::filesystem::remove(path_);
  }
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;

  trace::file_writer& writer() { return *writer_; }
  const std::string& path() const { return path_; }
  trace::string_id text(std::string_view words) { return writer_->intern(words); }

  /// Adds a process, a thread, an H200 with a 64 GB/s link, and a stream, all with id 1.
  void standard_tables(bool ended = true) {
    trace::process_row process;
    process.id = trace::process_id{1};
    process.pid = 42;
    process.command = text("/usr/bin/python train.py");
    process.begin = 0;
    if (ended) {
      process.end = 10'000 * ms;
      process.exit_status = 0;
    }
    writer_->add(process);
    trace::thread_row thread;
    thread.id = trace::thread_id{1};
    thread.process = process.id;
    thread.tid = 43;
    thread.name = text("main");
    writer_->add(thread);
    trace::device_row device;
    device.id = trace::device_id{1};
    device.uuid_low = 7;
    device.name = text("NVIDIA H200");
    device.kind = trace::device_kind::cuda;
    device.ordinal = 0;
    device.memory_bytes = 140 * gib;
    device.link_generation = 5;
    device.link_width = 16;
    device.link_peak = 64'000'000'000;
    writer_->add(device);
    trace::stream_row stream;
    stream.id = trace::stream_id{1};
    stream.process = process.id;
    stream.device = device.id;
    stream.handle = 7;
    writer_->add(stream);
  }

  template <class Row>
  Row event(time_ns time) {
    Row row;
    row.time = time;
    row.process = trace::process_id{1};
    row.thread = trace::thread_id{1};
    return row;
  }

  trace::event_id add_alloc(time_ns time, std::uint64_t block, std::uint64_t bytes,
                            trace::memory_kind kind = trace::memory_kind::device,
                            trace::layer layer = trace::layer::driver, std::string_view name = "cuMemAlloc_v2") {
    auto row = event<trace::alloc_event>(time);
    row.block = trace::block_id{block};
    row.bytes = bytes;
    row.kind = kind;
    row.layer = layer;
    row.device = trace::device_id{1};
    row.address = block << 32;
    row.name = text(name);
    return trace::event_id{writer_->add(row)};
  }
  void add_free(time_ns time, std::uint64_t block, trace::layer layer = trace::layer::driver) {
    auto row = event<trace::free_event>(time);
    row.block = trace::block_id{block};
    row.layer = layer;
    writer_->add(row);
  }
  trace::event_id add_copy(time_ns begin, time_ns end, std::uint64_t bytes,
                           trace::direction way = trace::direction::h2d,
                           trace::memory_kind host_side = trace::memory_kind::pinned, std::uint64_t stream = 1) {
    auto row = event<trace::transfer_event>(begin);
    row.end = end;
    row.bytes = bytes;
    row.direction = way;
    row.source_kind = way == trace::direction::h2d ? host_side : trace::memory_kind::device;
    row.destination_kind = way == trace::direction::d2h ? host_side : trace::memory_kind::device;
    row.device = trace::device_id{1};
    row.stream = trace::stream_id{stream};
    return trace::event_id{writer_->add(row)};
  }
  trace::event_id add_kernel(time_ns begin, time_ns end, std::string_view name = "gemm", std::uint64_t stream = 1) {
    auto row = event<trace::kernel_event>(begin);
    row.end = end;
    row.name = text(name);
    row.device = trace::device_id{1};
    row.stream = trace::stream_id{stream};
    return trace::event_id{writer_->add(row)};
  }
  trace::event_id add_range(time_ns begin, time_ns end, std::string_view name = "range") {
    auto row = event<trace::host_range_event>(begin);
    row.end = end;
    row.name = text(name);
    return trace::event_id{writer_->add(row)};
  }
  trace::event_id add_call(time_ns begin, time_ns end, std::string_view name) {
    auto row = event<trace::api_call_event>(begin);
    row.end = end;
    row.name = text(name);
    return trace::event_id{writer_->add(row)};
  }
  void add_device_memory(time_ns time, std::uint64_t free, std::uint64_t total, std::uint64_t recorder = 0) {
    auto row = event<trace::device_memory_event>(time);
    row.device = trace::device_id{1};
    row.free = free;
    row.total = total;
    row.recorder = recorder;
    row.source = trace::provenance::sampled;
    writer_->add(row);
  }

  void flush() { ASSERT_TRUE(writer_->flush()); }
  void close() { ASSERT_TRUE(writer_->close()); }
  std::shared_ptr<trace::file> open(const trace::reader_options& options = {}) const {
    return trace::file::open(path_, options).value();
  }

 private:
  static inline std::atomic<int> serial_{0};
  std::string path_;
  std::unique_ptr<trace::file_writer> writer_;
};

/// An index of a file's whole newest snapshot.
struct indexed {
  explicit indexed(const std::shared_ptr<trace::file>& file) : snapshot(file->latest()) {
    while (!index.absorb(*snapshot, 3)) {
    }
  }
  std::shared_ptr<const trace::snapshot> snapshot;
  index::growing_index index;
};

}  // namespace sluice::testing
