#include "core/generate/model_builder.hpp"

#include <algorithm>

namespace sluice::generate {

std::uint32_t model_builder::kernel(const std::string& name) {
  const auto known = std::find(built.kernels.begin(), built.kernels.end(), name);
  if (known != built.kernels.end()) return static_cast<std::uint32_t>(known - built.kernels.begin());
  built.kernels.push_back(name);
  return static_cast<std::uint32_t>(built.kernels.size() - 1);
}

std::uint32_t model_builder::frame(const std::string& function, const std::string& file, std::uint64_t line) {
  frame_model f;
  f.function = function;
  f.file = file;
  f.line = line;
  built.frames.push_back(f);
  return static_cast<std::uint32_t>(built.frames.size() - 1);
}

std::uint32_t model_builder::native_frame(const std::string& module, std::uint64_t address) {
  frame_model f;
  f.kind = trace::frame_kind::native;
  f.module = module;
  f.address = address;
  built.frames.push_back(f);
  return static_cast<std::uint32_t>(built.frames.size() - 1);
}

std::uint32_t model_builder::stack(std::initializer_list<std::uint32_t> inner, bool has_python) {
  if (choice_ == stack_choice::none || (!has_python && choice_ == stack_choice::python)) return 0;
  std::vector<std::uint32_t> frames;
  if (has_python) {
    frames = python_;
    frames.insert(frames.end(), inner.begin(), inner.end());
  }
  if (choice_ == stack_choice::all) {
    // These are the frames between a Python call and the allocator: a few frames that all operations share, and one for
    // each operation.
    const std::uint64_t site = into == nullptr ? 0 : into->size();
    for (std::uint64_t depth = 0; depth < 4; ++depth) {
      frames.push_back(native_frame("/usr/lib/python3/dist-packages/torch/lib/libtorch_cuda.so",
                                    0x1c'0000 + 0x1'0000 * depth + (depth < 3 ? 16 * (site % 40) : 0)));
    }
    frames.push_back(native_frame("/usr/lib/python3/dist-packages/torch/lib/libc10_cuda.so", 0x4'2a10));
  }
  built.stacks.push_back(std::move(frames));
  return static_cast<std::uint32_t>(built.stacks.size() - 1);
}

std::uint32_t model_builder::sampled_stack(std::initializer_list<std::uint32_t> inner,
                                           const std::string& native_function, const std::string& module) {
  std::vector<std::uint32_t> frames = python_;
  frames.insert(frames.end(), inner.begin(), inner.end());
  frames.push_back(native_frame(module, 0x1000));
  built.frames.back().function = native_function;
  built.stacks.push_back(std::move(frames));
  return static_cast<std::uint32_t>(built.stacks.size() - 1);
}

operation model_builder::host_work(std::uint32_t gap, std::uint32_t stack, trace::host_state state,
                                   std::int64_t system_call) {
  operation output;
  output.gap = gap;
  output.stack = stack;
  output.state = state;
  output.system_call = system_call;
  return output;
}

operation& model_builder::next(std::initializer_list<std::uint32_t> inner) {
  operation made_now;
  made_now.autograd = autograd;
  made_now.gap = gap;
  made_now.stack = stack(inner, !autograd);
  into->push_back(std::move(made_now));
  return into->back();
}

operation& model_builder::launch(const shape& s, std::vector<birth> births, std::vector<slot> touches,
                                 std::vector<slot> deaths, std::initializer_list<std::uint32_t> inner) {
  operation& o = next(inner);
  o.work = work_kind::kernel;
  o.name = kernel(s.kernel);
  o.duration = s.duration;
  o.grid = {s.grid_x, s.grid_y, 1};
  o.block = {s.block_x, 1, 1};
  o.registers = s.registers;
  o.dynamic_shared = s.shared;
  o.births = std::move(births);
  o.touches = std::move(touches);
  o.deaths = std::move(deaths);
  return o;
}

operation& model_builder::copy(work_kind direction, std::uint64_t bytes, slot device_tensor,
                               std::vector<birth> births) {
  operation& o = next({});
  o.work = direction;
  o.bytes = bytes;
  o.births = std::move(births);
  o.touches = {device_tensor};
  return o;
}

operation& model_builder::fill(std::uint64_t bytes, slot tensor) {
  operation& o = next({});
  o.work = work_kind::memset;
  o.bytes = bytes;
  o.touches = {tensor};
  return o;
}

}  // namespace sluice::generate
