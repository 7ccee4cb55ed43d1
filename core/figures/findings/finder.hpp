#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/figures/code_place.hpp"
#include "core/figures/report.hpp"

/// What the files of this folder share. Each has functions that add findings of one kind, or of a few related kinds, to
/// a `finder`. Private to core/figures.
namespace sluice::analysis {

inline constexpr double mebi = 1024.0 * 1024.0;  ///< One MiB in bytes.

/// The length of the active time in ns, at least 1, without what only starts, compiles and saves: the three longest idle
/// gaps of each cause and line, on the device that has least of them. All shares of time in findings refer to it.
[[nodiscard]] double working_time(const report& of);

/// The report that is judged, and the findings so far.
struct finder {
  const report& of;
  const trace::tables& tables;
  code_places places;
  std::vector<finding> found{};
  trace::device_id device{};  ///< The one that is being judged; none: all.
  /// Length in ns of the working time, at least 1: see `working_time`.
  double working = working_time(of);

  /// Adds a finding about all of the active time, and about `device`.
  finding& add(finding_kind kind, std::string text, std::string advice) {
    finding& made =
        found.emplace_back(finding{kind, trace::severity::info, std::move(text), std::move(advice), of.whole.active});
    if (device != trace::device_id::none) made.devices.push_back(device);
    return made;
  }
  [[nodiscard]] saving time(double ns, saving_basis basis) const {
    ns = std::clamp(ns, 0.0, working);  // The host may lose more, while the device has work.
    return {.time = static_cast<time_ns>(ns), .basis = basis, .share = ns / working};
  }
  /// The share of the active time that `ns` of one device are.
  [[nodiscard]] double active_share(double ns) const {
    return ns / static_cast<double>(std::max<time_ns>(of.whole.active.length(), 1));
  }
  /// ", 12 % of the active time"; empty for a sum that is longer, as of copies at once on several devices.
  [[nodiscard]] std::string share_of_active(time_ns part) const;
  /// True if a finding of this kind was added, or one of this kind for this place (or without one, if that is not known).
  [[nodiscard]] bool has(finding_kind kind) const;
  [[nodiscard]] bool has(finding_kind kind, const code_place& place) const;
  /// True if something at a peak belongs to a backward pass. Programs that only ask a network compute nothing again.
  [[nodiscard]] bool trains() const;
  /// " on GPU 1" if there are several devices, else nothing.
  [[nodiscard]] std::string on(trace::device_id one) const;
  /// "GPU 1" if there are several devices, else "The GPU".
  [[nodiscard]] std::string gpu(trace::device_id one) const;
  /// True if a framework or a pool hands out the device's memory: what the driver gave it stays, by design.
  [[nodiscard]] bool has_allocator(trace::memory_kind kind) const;
};

/// The replay of the device's framework allocator; null if it was not replayed.
[[nodiscard]] const reserved_replay* replay_on(const finder& in, trace::device_id device);
/// The setting that reserves least in the replay, if even with the model's error it wins what a warning is worth; else
/// null. One that would fail to allocate never wins.
[[nodiscard]] const policy_outcome* winning_policy(const reserved_replay& of);

/// Advice against memory that only grows, in the words of what made it.
[[nodiscard]] std::string_view stop_growth(const std::string& maker);

/// True if a library asked on a thread or by code of its own: nothing in the program can be changed.
[[nodiscard]] inline bool is_of_others(const code_place& place) { return place.known && !place.line.own; }

/// " from train.py:12 (make_batch)"; empty if no stack is known.
[[nodiscard]] std::string from_place(const code_place& place);

/// Groups figures of call stacks by the line that their stacks stand for, largest first by `size`.
template <class Group, class Size>
std::vector<std::pair<code_place, std::vector<const Group*>>> by_line(const std::vector<const Group*>& groups,
                                                                      code_places& places, Size&& size) {
  std::map<std::string, std::size_t> known;
  std::vector<std::pair<code_place, std::vector<const Group*>>> all;
  for (const Group* each : groups) {
    const code_place& place = places.of(each->stack);
    const auto [at, fresh] = known.try_emplace(text_of(place), all.size());
    if (fresh) all.push_back({place, {}});
    all[at->second].second.push_back(each);
  }
  const auto sum = [&](const auto& of) {
    double total = 0;
    for (const Group* each : of.second) total += static_cast<double>(size(*each));
    return total;
  };
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return sum(a) > sum(b); });
  return all;
}

void find_faults(finder& in);
void find_failures(finder& in);
void find_retries(finder& in);
void find_losses(finder& in);
void find_growth(finder& in);
void find_unfreed(finder& in);
void find_idle_memory(finder& in);
void find_dead_writes(finder& in);
void find_cached_unused(finder& in);
void find_fragmentation(finder& in);
void find_untracked(finder& in);
void find_driver_allocations(finder& in);
void find_compositions(finder& in);
void find_held_twice(finder& in);
void find_rank_imbalance(finder& in);
void find_replicated_state(finder& in);
void find_slow_transfers(finder& in);
void find_copies_not_overlapped(finder& in);
void find_repeated_copies(finder& in);
void find_round_trips(finder& in);
void find_zero_uploads(finder& in);
void find_waits(finder& in);

}  // namespace sluice::analysis
