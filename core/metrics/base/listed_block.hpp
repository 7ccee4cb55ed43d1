#pragma once

#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/tensors/categories.hpp"

namespace sluice::metrics {

/// A block as lists show it.
struct listed_block {
  trace::block_id block{};
  trace::event_id alloc{};
  trace::process_id process{};
  trace::device_id device{};
  trace::stream_id stream{};
  trace::pool_id pool{};
  trace::string_id name{};
  time_ns born = 0;
  time_ns died = trace::unknown_time;  ///< `unknown_time` if never freed.
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  index::block_category category;
  trace::stack_id stack{};
  // When work that uses the block was first and last enqueued (`block_touches`); `unknown_time` if no use is known.
  time_ns first_use = trace::unknown_time;
  time_ns last_use = trace::unknown_time;
  std::uint64_t uses = 0;

  void set_uses(const index::block_touches& touches) {
    first_use = touches.first.known() ? touches.first.time : trace::unknown_time;
    last_use = touches.last.known() ? touches.last.time : trace::unknown_time;
    uses = touches.count();
  }
};

/// Converts a block to a list entry, without its uses.
[[nodiscard]] inline listed_block listed(const index::block_record& block, const index::block_category& category) {
  listed_block output;
  output.block = block.id;
  output.alloc = block.alloc;
  output.process = block.process;
  output.device = block.device;
  output.stream = block.stream;
  output.pool = block.pool;
  output.name = block.name;
  output.born = block.born;
  output.died = block.died;
  output.address = block.address;
  output.bytes = block.bytes;
  output.layer = block.layer;
  output.kind = block.kind;
  output.category = category;
  output.stack = block.stack;
  return output;
}

}  // namespace sluice::metrics
