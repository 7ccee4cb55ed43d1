#pragma once

#include "core/index/memory/categories.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"

namespace sluice::metrics {

/// A block as shown in lists.
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

  void set_uses(const index::block_touches& of) {
    first_use = of.first.known() ? of.first.time : trace::unknown_time;
    last_use = of.last.known() ? of.last.time : trace::unknown_time;
    uses = of.count();
  }
};

/// Converts a block to a list entry, without its uses.
[[nodiscard]] inline listed_block listed(const index::block_record& block, const index::block_category& category) {
  listed_block made;
  made.block = block.id;
  made.alloc = block.alloc;
  made.process = block.process;
  made.device = block.device;
  made.stream = block.stream;
  made.pool = block.pool;
  made.name = block.name;
  made.born = block.born;
  made.died = block.died;
  made.address = block.address;
  made.bytes = block.bytes;
  made.layer = block.layer;
  made.kind = block.kind;
  made.category = category;
  made.stack = block.stack;
  return made;
}

}  // namespace sluice::metrics
