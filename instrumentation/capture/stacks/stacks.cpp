#include "instrumentation/capture/stacks/stacks.hpp"

#include <atomic>

#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/stacks/autograd.hpp"
#include "instrumentation/capture/stacks/driver_caller.hpp"
#include "instrumentation/capture/stacks/modules.hpp"
#include "instrumentation/capture/stacks/native_stack.hpp"
#include "instrumentation/capture/stacks/python_stack.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/unwind/merge_frames.hpp"

// Start of this library and end of its code, from the linker.
extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _etext[] __attribute__((visibility("hidden")));
}

namespace sluice::capture {

namespace {

constexpr std::size_t most = ring::maximum_frames;

std::atomic<std::uint64_t> also_begin{0}, also_end{0};

bool is_ours(std::uint64_t pc) {
  return (pc >= reinterpret_cast<std::uint64_t>(__ehdr_start) && pc <= reinterpret_cast<std::uint64_t>(_etext)) ||
         (pc >= also_begin.load(std::memory_order_relaxed) && pc < also_end.load(std::memory_order_relaxed));
}

/// The native frames without the innermost ones, which belong to this library and CUPTI.
struct native_stack {
  explicit native_stack(std::size_t limit = most) noexcept {
    const std::size_t found = native_frames(words, limit, 0);
    while (first < found && is_ours(words[first])) ++first;
    count = found - first;
  }
  [[nodiscard]] const std::uint64_t* frames() const { return words + first; }

  std::uint64_t words[most];
  std::size_t first = 0;
  std::size_t count = 0;
};

[[gnu::noinline]] std::uint64_t native_stack_alone() noexcept {
  const native_stack native;
  return ring::intern_stack(native.frames(), native.count);
}

[[gnu::noinline]] std::uint64_t merged_stack() noexcept {
  const native_stack native;
  std::uint64_t python[most];
  std::uint64_t entries[most / 64] = {};
  const std::size_t count = python_frames(python, most, entries);
  if (count == 0) return autograd::stack_of_this_thread(native.frames(), native.count);
  std::uint64_t merged[most];
  const std::uint64_t key =
      ring::intern_stack(merged, unwind::merge_frames(native.frames(), native.count, {python, count, entries}, merged,
                                                      most, in_python_evaluation));
  autograd::note_stack(key);
  return key;
}

SLUICE_INLINE std::uint64_t python_stack_or_whose() noexcept {
  const std::uint64_t key = python_stack_key();
  if (key == 0) return autograd::stack_of_this_thread(nullptr, 0);
  autograd::note_stack(key);
  return key;
}

/// The frame that called the driver; none if the walk did not find it.
struct caller_frame {
  /// Searches only a few frames first, because nearly always only a few frames of ours and of CUDA are in between.
  caller_frame() noexcept {
    for (const std::size_t limit : {std::size_t{12}, std::size_t{64}}) {
      const native_stack native(limit);
      const std::size_t at = driver_caller(native.frames(), native.count);
      if (at == native.count) continue;
      word = native.frames()[at];
      count = 1;
      return;
    }
  }
  std::uint64_t word = 0;
  std::size_t count = 0;
};

/// All native frames from the driver's caller on.
[[gnu::noinline]] std::uint64_t native_stack_of_caller() noexcept {
  const native_stack native;
  const std::size_t first = driver_caller(native.frames(), native.count);
  return ring::intern_stack(native.frames() + first, native.count - first);
}

[[gnu::noinline]] std::uint64_t python_stack_and_caller() noexcept {
  const std::uint64_t key = python_stack_key();
  if (key == 0 && !autograd::runs_here()) return native_stack_of_caller();
  const caller_frame caller;
  if (key == 0) return autograd::stack_of_this_thread(&caller.word, caller.count);
  autograd::note_stack(key);
  return caller.count == 0 ? key : ring::intern_stack_on(&caller.word, caller.count, key);
}

}  // namespace

void prepare_stacks() noexcept {
  const bool python_stacks = options.stacks == stack_mode::python || options.stacks == stack_mode::all;
  if (python_stacks || options.sampling_hz != 0) find_python();
}

std::uint64_t allocation_stack() noexcept {
  if (options.stacks != stack_mode::python) return current_stack();
  return ring::active() ? python_stack_and_caller() : 0;
}

std::uint64_t library_call_stack(const char* name) noexcept {
  if (!ring::active()) return 0;
  ring::frame_record frame{};
  frame.function = ring::intern(name);
  frame.key = frame.function | ring::frame_key_bit;
  if (!ring::knows_frame(frame.key)) {
    frame.header.time = ring::now();
    frame.kind = static_cast<std::uint32_t>(trace::frame_kind::native);
    ring::introduce_frame(frame);
  }
  const std::uint64_t base = options.stacks == stack_mode::none     ? 0
                             : options.stacks == stack_mode::native ? native_stack_alone()
                                                                    : merged_stack();
  return ring::intern_stack_on(&frame.key, 1, base);
}

void leave_out_code_at(const void* address) noexcept {
  loaded_module module;
  if (!find_module(reinterpret_cast<std::uint64_t>(address), module)) return;
  also_begin.store(module.begin, std::memory_order_relaxed);
  also_end.store(module.end, std::memory_order_relaxed);
}

SLUICE_HOT std::uint64_t current_stack() noexcept {
  if (!ring::active()) return 0;
  switch (options.stacks) {
    case stack_mode::none:
      return 0;
    case stack_mode::python:
      return python_stack_or_whose();
    case stack_mode::native:
      return native_stack_alone();
    case stack_mode::all:
      return merged_stack();
  }
  return 0;
}

}  // namespace sluice::capture
