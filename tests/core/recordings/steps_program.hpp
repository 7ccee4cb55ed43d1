#pragma once

#include "tests/core/recordings/stacks.hpp"

namespace sluice::testing {

/// Writes a program of `steps` steps of 10 ms, the first at 10 ms. `Net.__init__` allocates 100 MiB that are never
/// freed. Each step copies 4 MiB to the device and holds `activation` bytes, allocated by `Block.forward`, from 2 ms to
/// 8 ms after the start of the step. If `leak` is not 0, each step also leaks `leak` bytes, allocated by `Log.append`.
inline void write_steps(recording& to, int steps, std::uint64_t activation, std::uint64_t leak = 0) {
  to.standard_tables();
  stack_maker stack(to);
  const trace::stack_id build = stack({python("Net.__init__", "/home/a/model.py", 12)});
  const trace::stack_id forward = stack({python("Block.forward", "/home/a/model.py", 40)});
  const trace::stack_id load = stack({python("load", "/home/a/data.py", 7)});
  const trace::stack_id append = stack({python("Log.append", "/home/a/log.py", 3)});
  std::uint64_t blocks = 0;
  const auto alloc = [&](time_ns time, std::uint64_t bytes, trace::stack_id by) {
    auto row = to.event<trace::alloc_event>(time);
    row.block = trace::block_id{++blocks};
    row.kind = trace::memory_kind::device;
    row.layer = trace::layer::framework;
    row.device = trace::device_id{1};
    row.address = blocks << 32U;
    row.bytes = bytes;
    row.stack = by;
    to.writer().add(row);
    return blocks;
  };
  alloc(1 * ms, 100 * mib, build);
  for (int i = 0; i < steps; ++i) {
    const time_ns begin = (10 + i * 10) * ms;
    auto mark = to.event<trace::marker_event>(begin);
    mark.step = i;
    to.writer().add(mark);
    auto call = to.event<trace::api_call_event>(begin + ms);
    call.end = begin + ms + 10;
    call.stack = load;
    auto copy = to.event<trace::transfer_event>(begin + ms + 20);
    copy.call = trace::event_id{to.writer().add(call)};
    copy.end = begin + ms + 20'000;
    copy.bytes = 4 * mib;
    copy.direction = trace::direction::h2d;
    copy.device = trace::device_id{1};
    to.writer().add(copy);
    const std::uint64_t block = alloc(begin + 2 * ms, activation, forward);
    if (leak > 0) alloc(begin + 5 * ms, leak, append);
    to.add_free(begin + 8 * ms, block, trace::layer::framework);
  }
}

}  // namespace sluice::testing
