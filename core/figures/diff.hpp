#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figures/range_statistics.hpp"
#include "core/figures/stack_use.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/model/tables.hpp"

/// What two recordings, or two ranges of one, differ in.
namespace sluice::analysis {

class index;

/// Memory of one side, and who is accountable for it.
struct compared_memory {
  memory_statistics figures;
  stack_use at_peak;    ///< What is live when most is.
  stack_use allocated;  ///< Blocks born in the range.
};

struct compared_transfers {
  transfer_statistics figures;
  stack_use sites;  ///< Copies, by the call that asked.
};

/// What is compared of a recording, or of a range of one.
struct compared_figures {
  std::vector<compared_memory> memory;        ///< By device, layer, kind.
  std::vector<compared_transfers> transfers;  ///< By device and direction.
};

/// Of what `from` has taken in. O(blocks log blocks + copies).
[[nodiscard]] compared_figures figures_to_compare(const index& from, const trace::tables& tables, time_range range);

/// One of the two.
struct diff_side {
  const compared_figures& figures;
  const trace::tables& tables;
};

/// A call stack of both sides, or of one. Stacks are the same if they read the same: functions and the names of their files, not the
/// lines in them, nor where the files lie. What has no stack is one of its own.
struct stack_change {
  symbols::frame_line line;  ///< It is named after this line of the program.
  std::vector<symbols::frame_line>
      stack;  ///< Innermost first; of the side after if it is there. Empty: none was recorded.
  stack_figures before, after;
  [[nodiscard]] bool appeared() const { return before.count == 0 && after.count > 0; }
  [[nodiscard]] bool vanished() const { return before.count > 0 && after.count == 0; }
};

/// Memory of one layer and kind on the devices of one ordinal (-1: the host's, or not known).
struct memory_change {
  std::int64_t device = -1;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  memory_statistics before, after;      ///< All zero where one side has none of it.
  std::vector<stack_change> at_peak;    ///< Bytes live when each side had most; the largest difference first.
  std::vector<stack_change> allocated;  ///< Bytes allocated in the range, likewise.
};

struct transfer_change {
  std::int64_t device = -1;
  trace::direction direction = trace::direction::unknown;
  transfer_statistics before, after;
  std::vector<stack_change> sites;  ///< Bytes copied, by the call that asked; the largest difference first.
};

struct difference {
  std::vector<memory_change> memory;       ///< By device, layer, kind.
  std::vector<transfer_change> transfers;  ///< By device and direction.
};

/// Compares `before` with `after`. Ids mean nothing across sides: devices are matched by their ordinal, stacks by what they read.
/// Native functions are looked up on this machine, in `books` one a side. O(stacks' frames).
[[nodiscard]] difference compare(const diff_side& before, symbols::frame_book& names_before, const diff_side& after,
                                 symbols::frame_book& names_after);

}  // namespace sluice::analysis
