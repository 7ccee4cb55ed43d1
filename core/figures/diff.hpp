#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figures/range_statistics.hpp"
#include "core/figures/stack_use.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/model/tables.hpp"

/// Differences between two recordings, or between two ranges of one.
namespace sluice::analysis {

class index;

/// Memory of one side, with the call stacks that hold or allocate it.
struct compared_memory {
  memory_statistics figures;
  stack_use at_peak;    ///< What was live at the time of the highest use.
  stack_use allocated;  ///< Blocks allocated in the range.
};

struct compared_transfers {
  transfer_statistics figures;
  stack_use sites;  ///< Bytes copied, by the call stack that requested the copy.
};

/// The figures of one recording, or of a range of it, that are compared.
struct compared_figures {
  std::vector<compared_memory> memory;        ///< By device, layer, kind.
  std::vector<compared_transfers> transfers;  ///< By device and direction.
};

/// Computes the figures of one side from what `from` has read. O(blocks log blocks + copies).
[[nodiscard]] compared_figures figures_to_compare(const index& from, const trace::tables& tables, time_range range);

/// One of the two sides of a comparison.
struct diff_side {
  const compared_figures& figures;
  const trace::tables& tables;
};

/// A call stack of one or both sides. Stacks are equal if their functions and file names (without folders and line
/// numbers) are. Everything without a stack counts as one stack.
struct stack_change {
  symbols::frame_line line;  ///< The line of the program that stands for the stack.
  std::vector<symbols::frame_line>
      stack;  ///< Innermost first; from the side `after` if it is there. Empty: no stack was recorded.
  stack_figures before, after;
  [[nodiscard]] bool appeared() const { return before.count == 0 && after.count > 0; }
  [[nodiscard]] bool vanished() const { return before.count > 0 && after.count == 0; }
};

/// Memory of one layer and kind on the devices with one ordinal (-1: host or unknown).
struct memory_change {
  std::int64_t device = -1;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  memory_statistics before, after;      ///< All zero if that side has no such memory.
  std::vector<stack_change> at_peak;    ///< Bytes live at each side's peak; largest difference first.
  std::vector<stack_change> allocated;  ///< Bytes allocated in the range; largest difference first.
};

struct transfer_change {
  std::int64_t device = -1;
  trace::direction direction = trace::direction::unknown;
  transfer_statistics before, after;
  std::vector<stack_change> sites;  ///< Bytes copied, by requesting call stack; largest difference first.
};

struct difference {
  std::vector<memory_change> memory;       ///< By device, layer, kind.
  std::vector<transfer_change> transfers;  ///< By device and direction.
};

/// Compares `before` with `after`. Ids differ between recordings, so devices are matched by ordinal and stacks by their
/// text. The frame books look native functions up on this machine. O(frames of all stacks).
[[nodiscard]] difference compare(const diff_side& before, symbols::frame_book& names_before, const diff_side& after,
                                 symbols::frame_book& names_after);

}  // namespace sluice::analysis
