#include "instrumentation/capture/stacks.hpp"

#include "instrumentation/capture/options.hpp"
#include "instrumentation/capture/python_stack.hpp"
#include "instrumentation/collector/producer.hpp"

namespace sluice::capture {

namespace {

bool wants_python() { return options.stacks == stack_mode::python || options.stacks == stack_mode::all; }

}  // namespace

void prepare_stacks() noexcept {
  if (wants_python()) find_python();
}

std::uint64_t current_stack() noexcept {
  if (!wants_python() || !collector::active()) return 0;
  std::uint64_t frames[collector::maximum_frames];
  return collector::intern_stack(frames, python_frames(frames, collector::maximum_frames));
}

}  // namespace sluice::capture
