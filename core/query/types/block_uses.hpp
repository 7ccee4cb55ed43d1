#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

/// The kernels, copies and memsets that used a block.
namespace sluice::query {

enum class use_kind : std::uint8_t { kernel, copy, fill, graph };

/// One use of a block.
struct block_use {
  trace::event_id event{};  ///< The kernel, copy, memset or graph launch; if it has no time on the device, the row that
                            ///< reports the use.
  use_kind kind = use_kind::kernel;
  trace::direction direction = trace::direction::unknown;  ///< Of a copy.
  std::uint64_t bytes = 0;                                 ///< Of a copy or memset.
  std::string name;                                        ///< Of a kernel, or of a graph's node; may be empty.
  time_ns enqueued = 0;
  time_range device{trace::unknown_time, trace::unknown_time};  ///< When the device ran it, if that is known.
  std::string stream;                                           ///< "stream 7"; empty: unknown.
  std::string line;  ///< The code that issued it: "train.py:48, main"; empty: no stack was recorded.
};

struct block_use_list {
  std::vector<block_use> uses;  ///< In the order in which they were enqueued.
  bool more = false;            ///< There are later uses, which were not read.
  bool kernels_known = false;   ///< The recording has uses by kernels. If not, only copies and memsets are listed.
};

/// Requests the first uses of a block. O(uses, kernels and calls in `range`).
struct block_uses_query {
  trace::block_id block{};
  time_range range;         ///< The lifetime of the block.
  std::size_t most = 1000;  ///< Return at most this many.
  friend bool operator==(const block_uses_query&, const block_uses_query&) = default;
  using result_type = block_use_list;
};

}  // namespace sluice::query
