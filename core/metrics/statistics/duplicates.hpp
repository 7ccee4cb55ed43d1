#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/work/copy_contents.hpp"
#include "core/metrics/base/member_list.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/model/model.hpp"

/// Finds copies that send data to a device that had already received the same data. Uses the content hashes that
/// `sluice record --find-duplicates` records. The earlier data may no longer exist: a kernel may have overwritten it,
/// or its block may have been freed.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

struct naming;

/// Sums over copies.
struct copy_metrics {
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
  time_ns busy = 0;  ///< Sum of the copies' durations.

  /// Adds `more`. Sums saturate instead of overflowing, even for a corrupt file.
  void add(const copy_metrics& more);
  friend bool operator==(const copy_metrics&, const copy_metrics&) = default;
};
SLUICE_MEMBERS(copy_metrics, member<&row::copies>{"count"}, member<&row::bytes>(), member<&row::busy>{"busy_ns"})

/// Copies of data that had already been copied to the same device, and subsets of these copies.
struct repeat_metrics {
  copy_metrics all;
  /// The part of `all` that was copied from the source address of an earlier copy of the same data.
  copy_metrics same_source;
  /// The part of `all` copied to the destination of an earlier copy of the same data, in the same block.
  copy_metrics same_destination;
  /// The part of `all` in which all bytes were hashed. In the rest of `all`, only a sample was hashed.
  copy_metrics exact;

  void add(const repeat_metrics& more);
};
SLUICE_MEMBERS(repeat_metrics, member<&row::all>{"all", {}, inlined}, member<&row::same_source>(),
               member<&row::same_destination>(), member<&row::exact>())

/// The repeated copies requested by one program line.
struct repeating_line {
  symbols::frame_line line;
  repeat_metrics metrics;
  std::vector<symbols::frame_line> stack;  ///< The call stack with the most repeated bytes, innermost first.
  trace::event_id largest{};               ///< The line's largest repeated copy.
};

/// Copies to a device of data that had been copied from that device and is unchanged, by the call stacks of both
/// copies.
struct round_trip_stacks {
  trace::stack_id down{};     ///< The stack of the copy to the host; `none` if unknown.
  trace::stack_id up{};       ///< The stack of the copy back to the device.
  copy_metrics to_host;       ///< The copies to the host. Each copy counts once, however often its data returns.
  copy_metrics to_device;     ///< The copies back to the device.
  std::uint64_t exact = 0;    ///< The number of copies in `to_device` whose bytes were all compared.
  trace::event_id largest{};  ///< The largest copy to the device.
  std::uint64_t largest_bytes = 0;

  /// The minimum size in bytes. Smaller copies, such as a count or a flag, are ignored because they can have the same
  /// content by chance.
  static constexpr std::uint64_t min_bytes = 64;
};

/// Copies of zeros to a device, by call stack.
struct zero_stack {
  trace::stack_id stack{};  ///< `none` if no stack was recorded.
  copy_metrics all;
  std::uint64_t exact = 0;  ///< The number of copies of which all bytes were read.
  trace::event_id largest{};
  std::uint64_t largest_bytes = 0;
};

/// The needless copies in a range, and the numbers of copies that were checked or could not be checked.
struct duplicate_copies {
  // `exact` and `sampled` are host-to-device copies that began in the range and were hashed, completely or by a sample.
  // Copies in graphs and batches are excluded.
  copy_metrics exact, sampled;
  copy_metrics over_budget;  ///< Copies that were not hashed, because hashing would have exceeded its time budget.
  copy_metrics unreadable;   ///< Copies that were not hashed, because the host cannot read the source.
  /// Copies that were hashed, but the device wrote to their source before the copy ran. They are not in `exact` or
  /// `sampled`.
  copy_metrics overtaken;

  /// Number of launches of graphs that contain copies, whose contents are not checked.
  std::uint64_t graph_launches = 0;

  // The following two members count device-to-host copies that began in the range.
  copy_metrics results;  ///< Copies that were hashed, completely or by a sample.
  /// Copies that were not hashed, because hashing would have exceeded its time budget or because their end is unknown.
  copy_metrics unseen_results;

  /// The copies in `round_trips` and `zeros` are not in `repeated`.
  std::vector<round_trip_stacks> round_trips;  ///< Most bytes first.
  std::vector<zero_stack> zeros;               ///< Most bytes first.

  repeat_metrics repeated;
  std::vector<repeating_line> lines;  ///< The lines with the most repeated bytes, most first; at most `line_limit`.
  repeat_metrics other_lines;         ///< Sum over the lines beyond `line_limit`.
  repeat_metrics without_stack;       ///< Sum over repeated copies without a recorded stack.
  trace::event_id largest{};          ///< The largest repeated copy.

  static constexpr std::size_t line_limit = 8;

  /// True if the contents of at least one copy were checked.
  [[nodiscard]] bool looked() const {
    return exact.copies + sampled.copies + over_budget.copies + unreadable.copies + overtaken.copies + results.copies >
           0;
  }
  [[nodiscard]] copy_metrics hashed() const;
};

/// The repeated copies requested by one call stack.
struct repeating_stack {
  trace::stack_id stack{};  ///< `none` if no stack was recorded.
  repeat_metrics metrics;
  trace::event_id largest{};
  std::uint64_t largest_bytes = 0;
};

/// Repeated copies by call stack, before the stacks are resolved to program lines.
struct duplicate_metrics {
  /// Everything except `lines`, `other_lines` and `without_stack`, which `name_duplicates` computes.
  duplicate_copies all;
  std::vector<repeating_stack> stacks;  ///< Sorted by stack id.
};

/// Sums of the round trips of all stacks.
struct round_trip_metrics {
  copy_metrics to_host;
  copy_metrics to_device;
  std::uint64_t exact = 0;
};
[[nodiscard]] round_trip_metrics get_sum(const std::vector<round_trip_stacks>& items);
/// Sums of the copies of zeros of all stacks.
struct zero_metrics {
  copy_metrics all;
  std::uint64_t exact = 0;
};
[[nodiscard]] zero_metrics get_sum(const std::vector<zero_stack>& stacks);

/// Why a copy was needless.
enum class needless_copy : std::uint8_t {
  repeated,  ///< The data had already been sent to the device.
  returned,  ///< A copy to the host of data that later comes back to the device unchanged. It counts once per return.
  returning  ///< A copy to the device of data that had been copied from the device and is unchanged.
};

/// The needless copies that began in a range. The earlier copy of the same data may have begun before the range.
class needless_copies {
 public:
  /// `contents` must cover the whole recording and outlive this object. O(copies * log copies).
  needless_copies(const index::copy_contents& contents, time_range range);

  /// Calls `visit` for each copy counted in `duplicate_copies::repeated` and `round_trips`. O(copies found).
  void for_each(const std::function<void(const index::content_copy& copy, needless_copy why)>& visit) const;

 private:
  friend class duplicates_builder;
  struct repeat {
    const index::content_copy* copy = nullptr;
    repeat_metrics metrics;
  };
  struct round_trip {
    const index::content_copy* up = nullptr;
    const index::content_copy* down = nullptr;  ///< The copy of the same data to the host.
  };
  void add_content(std::span<const index::content_copy> copies);
  void count(const index::content_copy& copy, bool overtaken);
  void add_repeat(const index::content_copy& copy, bool same_source, bool same_destination);

  const index::copy_contents& contents_;
  const time_range range_;
  // Each of the following lists is sorted by the start time of the copy.
  std::vector<repeat> repeats_;
  std::vector<round_trip> round_trips_;
  std::vector<const index::content_copy*> zeros_;
  duplicate_copies found_;
};

/// Builds `duplicate_metrics` for the copies that began in a range. Collects call stacks and graph launches section by
/// section (consecutive time spans). Takes 16 bytes of memory for each copy that has a stack and whose content was
/// checked.
class duplicates_builder {
 public:
  explicit duplicates_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Adds the copies in `run`, the time range that `store` covers. `contents` covers the recording; it is used only to
  /// find out whether any contents were checked. O(copies in `run` * log calls).
  void add(const index::copy_contents& contents, const index::event_store& store, time_range run);
  /// Returns the metrics. `contents` must cover the whole recording. O(copies * log copies).
  [[nodiscard]] duplicate_metrics metrics(const index::copy_contents& contents) const;

 private:
  class stacks_of_calls;
  const metrics_scope& scope_;
  /// Pairs of a call and its stack, in order of arrival.
  std::vector<std::pair<trace::event_id, trace::stack_id>> stacks_;
  std::uint64_t graph_launches_ = 0;
};

/// Groups the metrics by program line instead of by call stack. O(stacks).
[[nodiscard]] duplicate_copies name_duplicates(const duplicate_metrics& metrics, const trace::tables& tables,
                                               const naming& names);

}  // namespace sluice::metrics
