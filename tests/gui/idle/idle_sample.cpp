#include "tests/gui/idle/idle_sample.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/trace/file/writer.hpp"

namespace sluice::test {
namespace {

using namespace trace;

constexpr std::int64_t futex = 202;  // x86-64

struct call_line {
  frame_kind kind;
  const char* function;
  const char* file;  ///< Of native code: the module.
  std::uint64_t line;
};

class idle_program {
 public:
  idle_program(file_writer& to, bool sampled) : to_(to), sampled_(sampled) {}

  void write() {
    write_tables();
    const char* own = "/home/me/train/train.py";
    const char* torch = "/home/me/venv/lib/python3.12/site-packages/torch/nn/functional.py";
    const char* loader = "/home/me/venv/lib/python3.12/site-packages/torch/utils/data/dataloader.py";
    const char* cudnn = "/home/me/venv/lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9";
    const stack_id main = call({}, {frame_kind::python, "<module>", own, 88});
    const stack_id step = call(main, {frame_kind::python, "train_step", own, 41});
    const stack_id attention = call(step, {frame_kind::python, "scaled_dot_product_attention", torch, 5560});
    plan_ = call(call(attention, {frame_kind::native, "at::_ops::_scaled_dot_product_cudnn_attention::call",
                                  "/home/me/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so", 0}),
                 {frame_kind::native, "cudnnBackendFinalize", cudnn, 0});
    launch_ = call(step, {frame_kind::python, "forward", own, 64});
    wait_ = call(call(main, {frame_kind::python, "batches", own, 72}),
                 {frame_kind::python, "_MultiProcessingDataLoaderIter._next_data", loader, 1480});
    worker_ =
        call(call({}, {frame_kind::python, "_worker_loop", loader, 349}), {frame_kind::python, "read_image", own, 15});
    for (int i = 0; i < idle_sample::steps; ++i) write_step(i * idle_sample::step);
  }

 private:
  void write_tables() {
    for (const std::uint64_t id : {1, 2}) {
      process_row process;
      process.id = process_id{id};
      process.parent = id == 1 ? process_id::none : process_id{1};
      process.pid = 4240 + id;
      process.command = to_.intern("python train.py");
      process.mode = recording_mode::timeline;
      to_.add(process);
      thread_row thread;
      thread.id = thread_id{id};
      thread.process = process_id{id};
      thread.tid = 4240 + id;
      thread.name = to_.intern(id == 1 ? "python" : "pt_data_worker");
      to_.add(thread);
    }
    device_row device;
    device.id = device_id{1};
    device.uuid_high = 1;
    device.name = to_.intern("NVIDIA H200");
    device.kind = device_kind::cuda;
    device.ordinal = 0;
    device.memory_bytes = std::uint64_t{141} << 30;
    to_.add(device);
    context_row context;
    context.id = context_id{1};
    context.process = process_id{1};
    context.device = device_id{1};
    to_.add(context);
    stream_row stream;
    stream.id = stream_id{1};
    stream.process = process_id{1};
    stream.context = context_id{1};
    stream.device = device_id{1};
    stream.handle = 7;
    to_.add(stream);
  }

  stack_id call(stack_id caller, const call_line& line) {
    frame_row frame;
    frame.id = frame_id{++frames_};
    frame.kind = line.kind;
    frame.function = to_.intern(line.function);
    (line.kind == frame_kind::native ? frame.module : frame.file) = to_.intern(line.file);
    frame.line = line.line;
    to_.add(frame);
    to_.add(stack_row{stack_id{frames_}, caller, frame.id});
    return stack_id{frames_};
  }

  template <class Row>
  Row at(time_ns time, std::uint64_t process = 1) const {
    Row row;
    row.time = time;
    row.process = process_id{process};
    row.thread = thread_id{process};
    return row;
  }

  void launch(time_ns enqueued, time_ns begin, time_ns end, const char* name) {
    auto by = at<api_call_event>(enqueued);
    by.end = enqueued + 4'000;
    by.name = to_.intern("cuLaunchKernel");
    by.stream = stream_id{1};
    by.stack = launch_;
    to_.add(by);
    auto row = at<kernel_event>(begin);
    row.end = end;
    row.enqueued = enqueued;
    row.name = to_.intern(name);
    row.device = device_id{1};
    row.context = context_id{1};
    row.stream = stream_id{1};
    to_.add(row);
  }

  void add_samples(time_range range, host_state state, stack_id stack, std::int64_t system_call = -1,
                   std::uint64_t process = 1) {
    for (time_ns time = range.begin; sampled_ && time < range.end; time += idle_sample::sample) {
      auto row = at<host_sample_event>(time, process);
      row.length = std::min(idle_sample::sample, range.end - time);
      row.state = state;
      row.stack = stack;
      row.system_call = system_call;
      to_.add(row);
    }
  }

  void write_step(time_ns begin) {
    const time_ns planned = begin + idle_sample::kernel + idle_sample::planning;
    const time_ns busy_until = planned + 2 * idle_sample::kernel;
    const time_ns end = begin + idle_sample::step;
    launch(begin + 100'000, begin + 110'000, begin + idle_sample::kernel, "embedding");
    add_samples({begin, begin + 200'000}, host_state::running, launch_);
    add_samples({begin + 200'000, planned}, host_state::running, plan_);
    launch(planned, planned + 10'000, busy_until, "cudnn_generated_fort_native_sdpa");
    add_samples({planned, end - idle_sample::loading}, host_state::in_kernel, launch_);
    auto waits = at<host_range_event>(end - idle_sample::loading);
    waits.end = end;
    waits.name = to_.intern("next batch of the DataLoader");
    to_.add(waits);
    add_samples({end - idle_sample::loading, end}, host_state::blocked, wait_, futex);
    add_samples({begin, end}, host_state::running, worker_, -1, 2);
  }

  file_writer& to_;
  const bool sampled_;
  std::uint64_t frames_ = 0;
  stack_id plan_{}, launch_{}, wait_{}, worker_{};
};

}  // namespace

void write_idle_sample(const std::string& path, bool sampled) {
  auto writer = file_writer::create(path, {});
  if (writer) {
    idle_program(*writer, sampled).write();
    if (writer->close()) return;
  }
  std::fprintf(stderr, "%s cannot be written\n", path.c_str());
  std::abort();
}

}  // namespace sluice::test
