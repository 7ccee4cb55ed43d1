#include "tests/gui/sample.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "core/trace/file/writer.hpp"

namespace sluice::test {
namespace {

using namespace trace;

constexpr time_ns ms = 1'000'000;

class pipeline {
 public:
  pipeline(file_writer& to, bool with_stacks) : to_(to) {
    if (with_stacks) stacks();
  }

  void write() {
    tables();
    memory();
    for (int i = 0; i < sample::chunks; ++i) chunk(i);
    samples();
    finish();
  }

 private:
  event_base base(time_ns time) const {
    event_base output;
    output.time = time;
    output.process = process_id{1};
    output.thread = thread_id{1};
    return output;
  }

  template <class Row>
  Row at(time_ns time) const {
    Row row;
    static_cast<event_base&>(row) = base(time);
    return row;
  }

  void tables() {
    process_row process;
    process.id = process_id{1};
    process.pid = 4242;
    process.command = to_.intern("./pipeline --chunks 60");
    to_.add(process);
    thread_row thread;
    thread.id = thread_id{1};
    thread.process = process_id{1};
    thread.tid = 4242;
    thread.name = to_.intern("pipeline");
    to_.add(thread);
    device_row device;
    device.id = device_id{1};
    device.uuid_high = 1;
    device.name = to_.intern("NVIDIA H200");
    device.kind = device_kind::cuda;
    device.ordinal = 0;
    device.memory_bytes = std::uint64_t{141} << 30;
    device.link_generation = 5;
    device.link_width = 16;
    device.link_peak = sample::peak;
    to_.add(device);
    context_row context;
    context.id = context_id{1};
    context.process = process_id{1};
    context.device = device_id{1};
    to_.add(context);
    const char* names[] = {"copy in", "compute", "copy out"};
    for (std::uint64_t i = 1; i <= 3; ++i) {
      stream_row stream;
      stream.id = stream_id{i};
      stream.process = process_id{1};
      stream.context = context_id{1};
      stream.device = device_id{1};
      stream.handle = 6 + i;
      stream.name = to_.intern(names[i - 1]);
      to_.add(stream);
    }
    pool_row pool;
    pool.id = pool_id{1};
    pool.process = process_id{1};
    pool.device = device_id{1};
    pool.layer = layer::pool;
    pool.name = to_.intern("chunk pool");
    to_.add(pool);
  }

  stack_id call(stack_id caller, frame_kind kind, const char* function, const char* file, std::uint64_t line) {
    frame_row frame;
    frame.id = frame_id{++frames_};
    frame.kind = kind;
    frame.function = to_.intern(function);
    frame.file = to_.intern(file);
    frame.line = line;
    if (kind == frame_kind::native) frame.module = to_.intern("/home/me/pipeline/fast.so");
    to_.add(frame);
    to_.add(stack_row{stack_id{frames_}, caller, frame.id});
    return stack_id{frames_};
  }

  /// Adds call stacks of a Python program that calls a library and an extension of its own.
  void stacks() {
    const char* own = "/home/me/pipeline/pipeline.py";
    const char* library = "/home/me/venv/lib/python3.12/site-packages/cupy/cuda/memory.py";
    source_row source;
    source.id = source_id{1};
    source.file = to_.intern(own);
    source.first_line = 40;
    source.text = to_.intern("def process(chunk):\n    out = pool.get(CHUNK)\n    fast.scale_and_add(out, chunk)\n");
    to_.add(source);
    const stack_id main = call(call({}, frame_kind::python, "<module>", own, 90), frame_kind::python, "main", own, 81);
    setup_ = call(main, frame_kind::python, "set_up", own, 22);
    segment_stack_ = call(call(setup_, frame_kind::python, "MemoryPool.malloc", library, 1412), frame_kind::python,
                          "Memory.__init__", library, 104);
    const stack_id process = call(main, frame_kind::python, "process", own, 41);
    chunk_ = call(call(process, frame_kind::python, "MemoryPool.malloc", library, 1412), frame_kind::python,
                  "SingleDeviceMemoryPool.malloc", library, 1210);
    copy_in_ = call(call(main, frame_kind::python, "load", own, 33), frame_kind::native, "fast::upload(float const*)",
                    "/home/me/pipeline/fast.cpp", 118);
    copy_out_ = call(call(main, frame_kind::python, "store", own, 57), frame_kind::native, "fast::download(float*)",
                     "/home/me/pipeline/fast.cpp", 131);
  }

  block_id alloc(time_ns time, layer layer, memory_kind kind, std::uint64_t bytes, const char* name,
                 block_id parent = {}) {
    auto row = at<alloc_event>(time);
    row.block = block_id{++blocks_};
    row.parent = parent;
    row.layer = layer;
    row.kind = kind;
    if (kind == memory_kind::device) row.device = device_id{1};
    if (layer == layer::pool) row.pool = pool_id{1};
    row.address = parent == block_id::none
                      ? first_address + blocks_ * sample::segment_bytes
                      : first_address + sample::segment_bytes + take_slot(time) * sample::slot_bytes;
    row.bytes = bytes;
    row.call_begin = time - 20'000;
    row.name = to_.intern(name);
    row.stack = layer == layer::pool ? chunk_ : kind == memory_kind::device ? segment_stack_ : setup_;
    to_.add(row);
    return row.block;
  }

  /// The first slot of the segment that is free at `time`. `keep_slot` sets the time until which the slot is taken.
  std::uint64_t take_slot(time_ns time) {
    for (slot_ = 0; slot_ + 1 < taken_until_.size() && taken_until_[slot_] > time;) ++slot_;
    return slot_;
  }
  void keep_slot(time_ns until) { taken_until_[slot_] = until; }

  void release(time_ns time, block_id block, layer layer) {
    auto row = at<free_event>(time);
    row.block = block;
    row.layer = layer;
    to_.add(row);
  }

  void memory() {
    segment_ = alloc(200'000, layer::driver, memory_kind::device, sample::segment_bytes, "cuMemAlloc");
    pinned_ = alloc(350'000, layer::driver, memory_kind::pinned, 64 << 20, "cuMemHostAlloc");
    pool_state(210'000, sample::segment_bytes, 0);
  }

  void pool_state(time_ns time, std::uint64_t reserved, std::uint64_t used) {
    auto row = at<pool_event>(time);
    row.pool = pool_id{1};
    row.operation = pool_operation::grow;
    row.reserved = reserved;
    row.used = used;
    to_.add(row);
  }

  void copy(time_ns begin, direction way, stream_id stream) {
    auto call = at<api_call_event>(begin - 60'000);
    call.end = begin - 30'000;
    call.name = to_.intern("cuMemcpyAsync");
    call.stream = stream;
    call.bytes = sample::chunk_bytes;
    call.stack = way == direction::h2d ? copy_in_ : copy_out_;
    call.id = to_.next_event();
    to_.add(call);
    auto row = at<transfer_event>(begin);
    row.end = begin + sample::copy_ns;
    row.direction = way;
    row.source_kind = way == direction::h2d ? memory_kind::pinned : memory_kind::device;
    row.destination_kind = way == direction::h2d ? memory_kind::device : memory_kind::pinned;
    row.bytes = sample::chunk_bytes;
    row.device = device_id{1};
    row.context = context_id{1};
    row.stream = stream;
    row.call = call.id;
    row.asynchronous = true;
    to_.add(row);
  }

  void chunk(int i) {
    const time_ns begin = ms + i * sample::chunk_ns;
    auto scope = at<host_range_event>(begin - 80'000);
    scope.end = begin + 280'000;
    scope.name = to_.intern("chunk");
    to_.add(scope);
    const block_id buffer =
        alloc(begin - 70'000, layer::pool, memory_kind::device, sample::chunk_bytes, "chunk buffer", segment_);
    used_ += sample::chunk_bytes;
    pool_state(begin - 70'000, sample::segment_bytes, used_);
    copy(begin, direction::h2d, stream_id{1});
    auto kernel = at<kernel_event>(begin + sample::copy_ns);
    kernel.end = begin + sample::copy_ns + 250'000 + (i % 7) * 12'000;
    kernel.name = to_.intern(i % 5 == 4 ? "void reduce_blocks<256>(float const*, float*)"
                                        : "void scale_and_add<float, 4>(float*, float const*, int)");
    kernel.device = device_id{1};
    kernel.context = context_id{1};
    kernel.stream = stream_id{2};
    kernel.grid_x = 4096;
    kernel.grid_y = kernel.grid_z = 1;
    kernel.block_x = 256;
    kernel.block_y = kernel.block_z = 1;
    to_.add(kernel);
    copy(begin + 2 * sample::chunk_ns, direction::d2h, stream_id{3});
    const time_ns done = begin + 3 * sample::chunk_ns;
    const bool kept = i % 20 == 19;
    keep_slot(kept ? INT64_MAX : done);
    if (kept) return;  // The buffers of three chunks are never freed.
    release(done, buffer, layer::pool);
    used_ -= sample::chunk_bytes;
  }

  void samples() {
    for (int i = 0; i < 10; ++i) {
      auto row = at<device_memory_event>(i * 3 * ms);
      row.device = device_id{1};
      row.total = std::uint64_t{141} << 30;
      row.free = row.total - (std::uint64_t{256} << 20) - (std::uint64_t{480} << 20) -
                 static_cast<std::uint64_t>(i % 3) * (8 << 20);
      row.recorder = 13 << 20;
      to_.add(row);
    }
  }

  void finish() {
    const time_ns end = ms + (sample::chunks + 3) * sample::chunk_ns;
    auto wait = at<sync_event>(end - 700'000);
    wait.end = end;
    wait.kind = sync_kind::context;
    to_.add(wait);
    release(end + 100'000, pinned_, layer::driver);
    auto warning = at<message_event>(end);
    warning.severity = severity::warning;
    warning.text = to_.intern("another profiler took CUPTI over for 2 ms");
    to_.add(warning);
  }

  file_writer& to_;
  static constexpr std::uint64_t first_address = 0x7f3a'0000'0000;
  std::array<time_ns, sample::segment_bytes / sample::slot_bytes> taken_until_{};
  std::size_t slot_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t frames_ = 0;
  stack_id setup_{}, segment_stack_{}, chunk_{}, copy_in_{}, copy_out_{};
  block_id segment_{};
  block_id pinned_{};
};

}  // namespace

std::string own_path(const std::string& name) {
  return testing::TempDir() + "sluice-" + std::to_string(getpid()) + "-" + name;
}

void write_sample(const std::string& path, bool with_stacks) {
  auto to = file_writer::create(path);
  ASSERT_TRUE(to) << to.error().to_string();
  pipeline(*to, with_stacks).write();
  const auto closed = to->close();
  ASSERT_TRUE(closed) << closed.error().to_string();
}

void write_empty(const std::string& path) {
  auto to = file_writer::create(path);
  ASSERT_TRUE(to) << to.error().to_string();
  const auto closed = to->close();
  ASSERT_TRUE(closed) << closed.error().to_string();
}

}  // namespace sluice::test
