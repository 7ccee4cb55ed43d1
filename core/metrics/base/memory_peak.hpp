#pragma once

#include <cstdint>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/base/attribution_choice.hpp"
#include "core/metrics/base/member_list.hpp"
#include "core/metrics/base/stack_use.hpp"
#include "core/symbols/attribution.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/model/model.hpp"

/// Peaks of memory in use, with the blocks and the code that held it. Sizes are in bytes.
namespace sluice::metrics {

/// Blocks live at one point in time that have the same name and pool.
struct holder {
  trace::string_id name{};
  trace::pool_id pool{};
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
};
SLUICE_MEMBERS(holder, member<&row::name>(), member<&row::pool>(), member<&row::blocks>(), member<&row::bytes>(),
               member<&row::largest>{"largest_block"}, member<&row::largest_bytes>())

/// A program line, with the sums over all stacks that are attributed to it (`symbols::line_to_name`).
struct line_use {
  symbols::frame_line line;
  stack_metrics metrics;
  /// The part of `metrics` due to stacks that contain inferred frames (`trace::inferred_mark`).
  stack_metrics inferred;
  stack_metrics heaviest;                  ///< The metrics of `stack` alone.
  std::vector<symbols::frame_line> stack;  ///< The stack with the largest sum, innermost frame first.
};

/// A list of program lines, largest sum first.
struct line_uses {
  std::vector<line_use> lines;  ///< At most `report::line_limit`.
  stack_metrics other;          ///< Sum over the lines beyond the limit.
  stack_metrics without;        ///< Sum over everything without a recorded stack.
  stack_metrics total;
  [[nodiscard]] bool empty() const { return lines.empty(); }
};

/// The code that allocated the memory of a peak.
struct attributed_use {
  symbols::attribution by = symbols::attribution::line;
  /// False if `by` is the grouping that `most_even` chose for the main peak: see `report::grouping`.
  bool chosen_by_reader = false;
  attribution_choice choice;  ///< The result of `most_even` for this peak.
  line_uses groups;           ///< The groups, as named by `symbols::attributor`. Empty if no stacks were recorded.
};

/// The maximum use of the memory of one layer and kind on one device, and the blocks that held it.
struct memory_peak {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t bytes = 0;
  time_ns time = 0;
  std::uint64_t blocks = 0;
  std::vector<holder> holders;    ///< Sorted by bytes, largest first; at most `report::holder_limit`.
  std::uint64_t other_bytes = 0;  ///< Total bytes of the holders beyond the limit.
  line_uses lines{};              ///< Empty if no stacks were recorded.
  /// The same bytes, by the code that allocated them, grouped as in `report::grouping`.
  attributed_use asked_by{};
};

}  // namespace sluice::metrics
