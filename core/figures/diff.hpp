#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figures/range_statistics.hpp"
#include "core/figures/stack_use.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/model/tables.hpp"

/// Differences between two recordings, or between two time ranges of one recording.
namespace sluice::analysis {

class index;

/// Memory figures of one of the two compared recordings, with the call stacks that hold or allocate that memory.
struct compared_memory {
  memory_statistics figures;
  stack_use at_peak;    ///< Blocks live at the time of the highest use, by call stack.
  stack_use allocated;  ///< Blocks allocated in the range, by call stack.
};

struct compared_transfers {
  transfer_statistics figures;
  stack_use sites;  ///< Bytes copied, by the call stack that requested the copy.
};

/// All figures of one recording, or of a time range of it, that `compare` needs.
struct compared_figures {
  std::vector<compared_memory> memory;        ///< By device, layer, kind.
  std::vector<compared_transfers> transfers;  ///< By device and direction.
};

/// The part of `all` that is about `device`.
[[nodiscard]] compared_figures figures_of_device(const compared_figures& all, trace::device_id device);

/// The text by which `compare` recognises a frame in another recording: two lines are the same code if it is equal.
[[nodiscard]] std::string text_to_match(const symbols::frame_line& line);

/// Computes the figures of `range` for `compare` from what `from` has read. O(blocks log blocks + copies).
[[nodiscard]] compared_figures figures_to_compare(const index& from, const trace::tables& tables, time_range range);

/// " (+12 %)", to stand behind a difference; empty if it began with nothing, or with next to nothing: it grew a
/// hundredfold.
[[nodiscard]] std::string percent_of_change(double before, double after);

/// One of the two recordings that `compare` is given, each with its own tables of names and ids.
struct diff_side {
  const compared_figures& figures;
  const trace::tables& tables;
};

/// Which devices of both sides `compare` takes for the same.
enum class device_match : std::uint8_t {
  by_ordinal,  ///< Those with the same number: two ranges of one recording.
  /// If both sides used as many devices, the first of each, the second, and so on: the same program may get other GPUs
  /// the next time. Else as `by_ordinal`.
  by_role,
};

/// One call stack before and after. Two stacks are the same if their functions and file names (without folders) are
/// equal, and the lines of the program that stand for them. Lines that only moved, as by text inserted above them, are
/// the same: all lines of a function are taken to have moved by as many lines as make most of them meet. All events
/// without a stack count as one stack.
struct stack_change {
  symbols::frame_line line;  ///< The line of the program that is shown for the stack.
  std::uint64_t line_after =
      0;  ///< Its number in the recording `after`; what it would be there if only `before` has it.
  std::vector<symbols::frame_line>
      stack;  ///< Innermost frame first, as in the recording `after` if it has the stack. Empty: no stack was recorded.
  stack_figures before, after;
  std::vector<trace::stack_id> stacks_before, stacks_after;  ///< The recordings' stacks that this stands for.
  [[nodiscard]] bool appeared() const { return before.count == 0 && after.count > 0; }
  [[nodiscard]] bool vanished() const { return before.count > 0 && after.count == 0; }
};

/// The ordinals of a device on each side; -1: host or unknown.
struct matched_device {
  std::int64_t before = -1;
  std::int64_t after = -1;
  friend bool operator==(const matched_device&, const matched_device&) = default;
};

/// Change of the memory of one layer and kind on a device.
struct memory_change {
  matched_device device;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  memory_statistics before, after;      ///< All zero if that recording has no such memory.
  std::vector<stack_change> at_peak;    ///< Bytes live at each recording's peak; largest difference first.
  std::vector<stack_change> allocated;  ///< Bytes allocated in the range; largest difference first.
};

struct transfer_change {
  matched_device device;
  trace::direction direction = trace::direction::unknown;
  transfer_statistics before, after;
  std::vector<stack_change> sites;  ///< Bytes copied, by requesting call stack; largest difference first.
};

struct difference {
  std::vector<memory_change> memory;       ///< By device, layer, kind.
  std::vector<transfer_change> transfers;  ///< By device and direction.
};

/// Compares `before` with `after`. Ids differ between recordings, so stacks are matched by the text of their frames. The
/// frame books resolve native functions on this machine. O(frames of all stacks).
[[nodiscard]] difference compare(const diff_side& before, symbols::frame_book& names_before, const diff_side& after,
                                 symbols::frame_book& names_after, device_match devices = device_match::by_role);

}  // namespace sluice::analysis
