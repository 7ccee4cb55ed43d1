#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/idle/driver_call_groups.hpp"
#include "core/metrics/idle/gap_groups.hpp"
#include "core/metrics/idle/gap_host.hpp"
#include "core/metrics/idle/gap_parts.hpp"
#include "core/metrics/idle/idle_host.hpp"
#include "core/metrics/idle/launch_rate.hpp"
#include "core/metrics/idle/run_ahead.hpp"

/// Finds all intervals in which a device was idle between its first and its last work, and what the host did meanwhile.
/// Times are in ns.
namespace sluice::metrics {

/// The idle time of a device that has one cause.
struct cause_time {
  gap_cause cause{};
  std::uint64_t count = 0;  ///< Number of gaps with a part that has this cause.
  time_ns total = 0;
  time_ns longest = 0;  ///< The longest sum of such parts in one gap.
};

/// How a device spent the time between its first and its last work (kernels, graphs, copies and memsets on a stream).
struct device_idle {
  trace::device_id device{};
  time_range span;   ///< From the start of the first to the end of the last work in the range.
  time_ns busy = 0;  ///< Time with any work.
  /// The part of `busy` in which nothing but collectives (kernels of NCCL) ran: communication that no work hides. The
  /// device waits for other devices or for the network then, so this is not useful work.
  time_ns collectives_alone = 0;
  std::vector<cause_time> causes;  ///< The longest total first. The totals add up to `idle()`.
  /// What the host did in the time of `gap_cause::host`, most time first. The totals add up to that time. Empty if host
  /// threads were not sampled.
  std::vector<host_cause_group> host;
  program_traits traits;  ///< What the samples show about the program.
  launch_rate launches;

  [[nodiscard]] time_ns idle() const { return span.length() - busy; }
};

/// A part of a gap. If it is due to what a thread did (`comes_from_thread`), samples of the thread can say more about it.
struct idle_part {
  trace::device_id device{};
  time_range gap;   ///< The whole gap.
  time_range span;  ///< The part. The parts of a gap do not overlap.
  /// When the thread did what the part is due to. Ends with `span`, and begins earlier than it if a call blocked the
  /// host when the gap began: the first part of the gap is that call's, as long as it blocked, but the thread went on
  /// as soon as the call returned (rule 2 of `gap_splitter`). Samples in `ran` share the length of `span`.
  time_range ran;
  gap_cause cause{};
  trace::string_id call{};  ///< The call in which the thread was, if that is the cause.
  trace::stack_id stack{};  ///< As in `gap_group`.
  /// The thread that enqueued the work that ended the gap or, if `call` is set, that made the call. Without a thread
  /// (`none`) if the call that enqueued the work was not recorded.
  index::thread_key thread;
  bool stack_is_next = false;  ///< As in `gap_group`.
};

/// True if a thread's own doing caused such a part: `host`, or what a call or a range says; not `wait`, `launch` or
/// `queued`.
[[nodiscard]] bool comes_from_thread(gap_cause cause);

/// Finds idle gaps of devices with recorded kernels, section by section in order of time. Which part of a gap has which
/// cause does not depend on the sections, as far as open gaps have no more than `open_list::max_kept` host events.
class idle_gaps_builder {
 public:
  /// `scope` must outlive this object. `listed`: the number of the longest gaps of each device that are kept
  /// individually.
  explicit idle_gaps_builder(const metrics_scope& scope, std::size_t listed = 0)
      : scope_(scope), host_(scope), longest_(listed) {}

  /// Adds the events in `run`, the time range that `store` covers. O(events * log events).
  void add(const index::event_store& store, time_range run);

  /// Returns the groups worth reporting, sorted by `total`, longest first: the first `limit` groups, plus the first
  /// eight of each device.
  [[nodiscard]] std::vector<gap_group> gaps() const;
  /// Returns the idle time of each device by cause, with nothing left out, sorted by device.
  [[nodiscard]] std::vector<device_idle> devices() const;
  [[nodiscard]] std::vector<driver_call_group> driver_calls() const;
  /// Returns the longest gaps of each device, longest first; at most `listed` (see the constructor) per device.
  [[nodiscard]] std::vector<idle_gap> longest() const { return longest_.get_longest(); }
  /// The lengths of all gaps, indexed by device; empty if `listed` is 0.
  [[nodiscard]] const std::map<trace::device_id, gap_lengths>& lengths() const { return longest_.lengths(); }

  /// From now on, keeps the parts for `for_each_part`, 104 bytes for each, and their samples.
  void keep_parts() { keeps_parts_ = true; }
  /// Calls `use(const idle_part&)` for all parts of the gaps that ended in the last section added, in order of device
  /// and time. Call `keep_parts` first. O(parts).
  template <class Use>
  void for_each_part(Use&& use) const {
    for (const idle_part& each : parts_) use(each);
  }
  /// What threads did in these parts (`idle_part::thread`, `ran`), also where a gap began in an earlier section.
  [[nodiscard]] const recent_samples& samples() const { return sampled_.samples(); }
  /// The earliest begin of a gap that is still open after the last `add`. Later calls of `for_each_part` report nothing
  /// before this time. `latest_time` if no device has run anything yet.
  [[nodiscard]] time_ns open_since() const;

  /// Only parts of at least this length are searched for the program's own range, which costs more than the rest.
  static constexpr time_ns shortest_named = 1'000'000;
  static constexpr std::size_t limit = 64;

 private:
  /// A kernel, copy, memset or graph on a device.
  struct device_work {
    time_range span;
    trace::event_id event{};
    trace::string_id name{};
    timeline::slice_kind kind{};
    bool collective = false;
    std::optional<time_ns> enqueued;
    trace::process_id process{};
  };
  using works = std::map<trace::device_id, std::vector<device_work>>;
  struct device_state {
    time_ns first = 0;
    time_ns until = 0;            ///< End of the last work.
    time_ns busy = 0;             ///< Sum of the durations of the busy intervals.
    timeline::slice_kind last{};  ///< The kind of the work that ends at `until`.
    time_ns until_other = 0;      ///< As `until` and `busy`, but without collectives.
    time_ns busy_other = 0;
    std::uint64_t works = 0;  ///< Number of pieces of work since the last gap.
    time_ns busy_before = 0;  ///< `busy` at the last gap.
    launch_meter launches;
    std::array<cause_time, gap_cause_count> causes{};
  };
  /// The parts of the current gap that belong to one group.
  struct tally {
    gap_group group;
    time_ns length = 0;
    const host_call* call = nullptr;
  };

  works collect(const index::event_store& store, time_range here, bool first);
  void add_work(const index::event_store& store, device_state& state, const device_work& work, trace::device_id device);
  void add_gap(const index::event_store& store, device_state& state, const device_work& next, trace::device_id device);
  /// Adds a part to `tallies_` and `parts_`.
  void add_part(const gap_part& part, const process_timeline* host, const device_work& next, time_range gap,
                trace::device_id device);
  /// Sets the innermost range of the program that covers half of the part's gap.
  void set_range(gap_group& group, const index::event_store& store, trace::process_id process, time_range gap) const;
  void add_gain(const index::event_store& store, time_range here);
  bool is_collective(trace::string_id kernel);

  const metrics_scope& scope_;
  host_timeline host_;
  gap_splitter splitter_;
  gap_groups groups_;
  longest_gaps longest_;
  driver_call_groups driver_calls_;
  std::map<trace::device_id, device_state> devices_;
  std::unordered_map<std::uint64_t, bool> collectives_;           ///< By the id of a kernel's name.
  std::map<trace::process_id, std::vector<queued_work>> queued_;  ///< Of the current section.
  std::vector<tally> tallies_;                                    ///< Of the current gap.
  std::vector<idle_part> parts_;                                  ///< Of the last section.
  idle_host_builder sampled_;
  bool keeps_parts_ = false;
  bool started_ = false;
  bool gain_known_ = false;  ///< True if the times at which work was requested are known.
  time_ns gain_ = 0;         ///< The cost of all calls that block the host, summed over sections.
};

}  // namespace sluice::metrics
