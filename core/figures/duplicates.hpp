#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/index/work/copy_contents.hpp"
#include "core/symbols/frames.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Finds copies that send data to a device which already received the same data, by the content hashes that `sluice
/// record --find-duplicates` records. The earlier data may be gone: overwritten by a kernel, or its block freed.
namespace sluice::analysis {

class index;
struct naming;

struct copy_figures {
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
  time_ns busy = 0;  ///< Sum of the copies' durations.

  /// Adds `more`. Sums saturate instead of overflowing, whatever a file contains.
  void add(const copy_figures& more);
  friend bool operator==(const copy_figures&, const copy_figures&) = default;
};

/// Copies of data that had been copied to the same device before, and subsets of these copies.
struct repeat_figures {
  copy_figures all;
  copy_figures same_source;       ///< Of `all`: from the source address of an earlier copy of the same data.
  copy_figures same_destination;  ///< Of `all`: to the destination of an earlier copy of the data, in the same block.
  copy_figures exact;             ///< Of `all`: all bytes were hashed. Of the other copies only a sample was.

  void add(const repeat_figures& more);
};

/// The repeated copies requested by one line of the program.
struct repeating_line {
  symbols::frame_line line;
  repeat_figures figures;
  std::vector<symbols::frame_line> stack;  ///< The call stack with the most repeated bytes, innermost first.
  trace::event_id largest{};               ///< The largest repeated copy of the line.
};

/// Copies to the device of what had been copied from it, unchanged, by the call stacks of both.
struct round_trip_stacks {
  trace::stack_id down{};  ///< Of the copy to the host; `none` if it is not known.
  trace::stack_id up{};    ///< Of the copy back to the device.
  copy_figures to_host;    ///< Each copy once.
  copy_figures to_device;
  std::uint64_t exact = 0;    ///< Of `to_device`, the copies of which all bytes were compared.
  trace::event_id largest{};  ///< The largest copy to the device.
  std::uint64_t largest_bytes = 0;

  /// Copies of fewer bytes can have the same content by chance: a count, a flag.
  static constexpr std::uint64_t least_bytes = 64;
};

/// Copies of zeros to the device, by call stack.
struct zero_stack {
  trace::stack_id stack{};  ///< `none`: no stack was recorded.
  copy_figures all;
  std::uint64_t exact = 0;  ///< Copies of which all bytes were read.
  trace::event_id largest{};
  std::uint64_t largest_bytes = 0;
};

struct duplicate_copies {
  // Host-to-device copies that began in the range, hashed in full or by a sample. None in graphs or batches.
  copy_figures exact, sampled;
  copy_figures over_budget;  ///< Not hashed: hashing would have exceeded its time budget.
  copy_figures unreadable;   ///< Not hashed: the host cannot read the source.
  copy_figures overtaken;  ///< Hashed, but the device wrote to the source before the copy; not in `exact` or `sampled`.

  std::uint64_t graph_launches = 0;  ///< Launches of graphs with copies, whose contents are not checked.

  // Device-to-host copies that began in the range.
  copy_figures results;         ///< Hashed, in full or by a sample.
  copy_figures unseen_results;  ///< Not hashed: it would have taken too much time, or it is not known when they ended.

  /// What came back, and zeros. These copies are not in `repeated`.
  std::vector<round_trip_stacks> round_trips;  ///< Most bytes first.
  std::vector<zero_stack> zeros;               ///< Most bytes first.

  repeat_figures repeated;
  std::vector<repeating_line> lines;  ///< Most repeated bytes first, at most `line_limit`.
  repeat_figures other_lines;         ///< Sum of the lines beyond `line_limit`.
  repeat_figures without_stack;
  trace::event_id largest{};  ///< The largest repeated copy.

  static constexpr std::size_t line_limit = 8;

  /// True if the contents of any copies were checked.
  [[nodiscard]] bool looked() const {
    return exact.copies + sampled.copies + over_budget.copies + unreadable.copies + overtaken.copies + results.copies >
           0;
  }
  [[nodiscard]] copy_figures hashed() const;
};

/// The repeated copies requested by one call stack.
struct repeating_stack {
  trace::stack_id stack{};  ///< `none`: no stack was recorded.
  repeat_figures figures;
  trace::event_id largest{};
  std::uint64_t largest_bytes = 0;
};

/// Repeated copies by call stack, before the stacks are resolved to lines of the program.
struct duplicate_figures {
  duplicate_copies all;  ///< Without `lines`, `other_lines`, `without_stack`: `name_duplicates` makes those.
  std::vector<repeating_stack> stacks;  ///< By stack id.
};

/// Sums over all stacks.
struct round_trip_figures {
  copy_figures to_host;
  copy_figures to_device;
  std::uint64_t exact = 0;
};
[[nodiscard]] round_trip_figures sum_of(const std::vector<round_trip_stacks>& all);
struct zero_figures {
  copy_figures all;
  std::uint64_t exact = 0;
};
[[nodiscard]] zero_figures sum_of(const std::vector<zero_stack>& all);

/// What a copy moved needlessly.
enum class needless_copy : std::uint8_t {
  repeated,  ///< Data that the device had been sent before.
  returned,  ///< To the host: data that comes back to the device unchanged. Once for each time it comes back.
  returning  ///< To the device: data that had been copied from it, unchanged.
};

/// The copies that began in a range and moved what need not be moved; the earlier copy of their data may be older than the
/// range.
class needless_copies {
 public:
  /// `contents` covers the whole recording and must outlive this object. O(copies log copies).
  needless_copies(const copy_contents& contents, time_range range);

  /// Visits the copies counted in `duplicate_copies::repeated` and `round_trips`. O(copies found).
  void for_each(const std::function<void(const content_copy& copy, needless_copy why)>& visit) const;

 private:
  friend class duplicates_builder;
  struct repeat {
    const content_copy* copy = nullptr;
    repeat_figures figures;
  };
  struct round_trip {
    const content_copy* up = nullptr;
    const content_copy* down = nullptr;  ///< The copy to the host.
  };
  void add_content(std::span<const content_copy> copies);
  void count(const content_copy& copy, bool overtaken);
  void add_repeat(const content_copy& copy, bool same_source, bool same_destination);

  const copy_contents& contents_;
  const time_range range_;
  // Each by begin time of the copy.
  std::vector<repeat> repeats_;
  std::vector<round_trip> round_trips_;
  std::vector<const content_copy*> zeros_;
  duplicate_copies found_;
};

/// Builds `duplicate_figures` for the copies that began in a range. Call stacks and graph launches come from indexes of the
/// recording's sections (consecutive time spans). Memory: 16 bytes for each copy with a stack whose content was checked.
class duplicates_builder {
 public:
  explicit duplicates_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Adds the copies in `run`, the time range that the index `from` covers. `contents` is that of the recording, and only
  /// asked whether any were checked. O(copies in `run` * log calls).
  void add(const copy_contents& contents, const index& from, time_range run);
  /// `contents` covers the whole recording. O(copies log copies).
  [[nodiscard]] duplicate_figures figures(const copy_contents& contents) const;

 private:
  class stacks_of_calls;
  const figures_scope& scope_;
  std::vector<std::pair<trace::event_id, trace::stack_id>> stacks_;  ///< Of calls, in the order in which they came.
  std::uint64_t graph_launches_ = 0;
};

/// Returns the figures by line of the program instead of by call stack. O(stacks).
[[nodiscard]] duplicate_copies name_duplicates(const duplicate_figures& figures, const trace::tables& tables,
                                               const naming& names);

}  // namespace sluice::analysis
