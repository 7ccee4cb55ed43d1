#pragma once

#include "core/index/memory/categories.hpp"
#include "core/index/memory/memory_use.hpp"

namespace sluice::analysis {

/// A block as shown in lists.
struct listed_block {
  trace::block_id block{};
  trace::event_id alloc{};
  trace::device_id device{};
  trace::stream_id stream{};
  trace::pool_id pool{};
  trace::string_id name{};
  time_ns born = 0;
  time_ns died = trace::unknown_time;  ///< unknown_time if never freed.
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  block_category category;
  trace::stack_id stack{};
};

[[nodiscard]] inline listed_block listed(const block_record& block, const block_category& category) {
  return {block.id,   block.alloc,   block.device, block.stream, block.pool, block.name, block.born,
          block.died, block.address, block.bytes,  block.layer,  block.kind, category,   block.stack};
}

}  // namespace sluice::analysis
