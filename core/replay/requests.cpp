#include "core/replay/requests.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "core/base/saturating.hpp"
#include "core/replay/arenas.hpp"
#include "core/replay/policy.hpp"
#include "core/replay/recorded_events.hpp"
#include "core/replay/replay.hpp"

namespace sluice::replay {
namespace {

/// The emptyings that the allocator did itself because it had reached a limit, and that limit.
struct retries {
  std::vector<bool> own;    ///< One element for each emptying: true if the allocator did it.
  std::uint64_t limit = 0;  ///< In bytes; 0: no limit.
};

/// Finds the emptyings that were retries. A retry is followed by a new segment that would have exceeded the limit,
/// which nothing else exceeded. If there is only one such emptying, the program more likely did it.
retries find_retries(const inferred_arenas& arenas) {
  retries found;
  std::uint64_t beyond = std::numeric_limits<std::uint64_t>::max();
  std::size_t likely = 0;
  std::size_t followed = 0;
  bool certain = false;
  for (const emptying& each : arenas.emptyings) {
    const std::uint64_t wanted = each.reserved_before + each.taken_next;
    const bool is_likely = each.taken_next > 0 && (wanted > arenas.peak_reserved || each.refused);
    found.own.push_back(is_likely);
    if (each.taken_next > 0) ++followed;
    if (!is_likely) continue;
    ++likely;
    certain = certain || each.refused;
    beyond = std::min(beyond, wanted);
  }
  if (!certain && (likely < 2 || likely < followed)) {
    found.own.assign(found.own.size(), false);
    return found;
  }
  if (beyond > arenas.peak_reserved) found.limit = arenas.peak_reserved + (beyond - arenas.peak_reserved) / 2;
  return found;
}

/// Estimates the sizes that the program requested. A block that took a whole free block can be up to 1 MiB larger than
/// its request.
class asked_sizes {
 public:
  asked_sizes(const recorded_events& events, const inferred_arenas& by) : of_(events), by_(by) {
    std::size_t round = 0;
    for (std::size_t i = 0; i < events.blocks.size(); ++i) {
      known_ =
          known_ || events.blocks[i].bytes % smallest_block != 0;  // In an imported recording, sizes are not rounded.
      if (events.blocks[i].bytes > largest_small && by.min_asked[i] == events.blocks[i].bytes)
        exact_.push_back(events.blocks[i].bytes);
    }
    std::sort(exact_.begin(), exact_.end());
    exact_.erase(std::unique(exact_.begin(), exact_.end()), exact_.end());
    for (const std::uint64_t size : exact_) round += size % large_rounding == 0 ? 1 : 0;
    known_ = known_ || round * 5 > exact_.size();
  }

  /// Returns the size that is known exactly from another block. Otherwise, returns the middle of the possible range,
  /// unless round sizes are common.
  [[nodiscard]] std::uint64_t get_size(std::uint32_t block) const {
    const std::uint64_t size = of_.blocks[block].bytes;
    const std::uint64_t least = by_.min_asked[block];
    if (least == size || known_ || std::binary_search(exact_.begin(), exact_.end(), size)) return size;
    return least + (size - least) / 2;
  }

 private:
  const recorded_events& of_;
  const inferred_arenas& by_;
  std::vector<std::uint64_t> exact_;
  bool known_ = false;  ///< True if the sizes of blocks are the requested sizes, or the best estimate of them.
};

/// Adds the segments in which no block was allocated to the reserved memory in `into`, which does not include them yet.
/// O(n log n).
void add_empty_segments(const recorded_events& events, recorded_allocator& into) {
  struct change {
    trace::time_ns time = 0;
    bool taken = false;
    std::uint64_t bytes = 0;
  };
  std::vector<change> changes;
  for (const recorded_event& each : events.events)
    if (each.kind == recorded_kind::segment_taken || each.kind == recorded_kind::segment_given_back)
      changes.push_back({each.time, each.kind == recorded_kind::segment_taken, events.segments[each.at].bytes});
  for (const empty_segment& each : events.empty_segments) {
    saturating_add(into.empty_bytes, each.bytes);
    ++into.empty_segments;
    changes.push_back({each.taken, true, each.bytes});
    if (each.given_back != trace::unknown_time) changes.push_back({each.given_back, false, each.bytes});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const change& a, const change& b) { return a.time < b.time; });
  std::uint64_t reserved = 0;
  std::uint64_t segments = 0;
  for (const change& each : changes) {
    ++into.driver_calls;
    if (!each.taken) {
      reserved -= std::min(reserved, each.bytes);
      segments -= std::min<std::uint64_t>(segments, 1);
      continue;
    }
    saturating_add(reserved, each.bytes);
    into.peak_reserved = std::max(into.peak_reserved, reserved);
    into.peak_segments = std::max(into.peak_segments, ++segments);
  }
}

class request_maker {
 public:
  request_maker(const recorded_events& events, const trace::tables& tables, explanation by)
      : of_(events), arenas_(infer_arenas(events, by)), asked_(events, arenas_) {
    made_.process = events.process;
    made_.device = events.device;
    made_.blocks = static_cast<std::uint32_t>(events.blocks.size());
    made_.arenas = arenas_.count;
    const trace::device_row* device = tables.devices.find(events.device);
    made_.device_bytes = device != nullptr ? device->memory_bytes : 0;
  }

  allocator_requests make() {
    find_arenas_to_keep();
    const retries own = find_retries(arenas_);
    made_.limit_inferred = own.limit != 0;
    made_.limit = made_.limit_inferred ? own.limit : made_.device_bytes;
    for (std::uint32_t block = 0; block < made_.blocks; ++block)
      if (arenas_.free_at[block] != no_delay) delayed_.emplace_back(arenas_.free_at[block], block);
    std::sort(delayed_.begin(), delayed_.end());
    std::size_t emptied = 0;
    std::size_t freed = 0;
    std::uint64_t segment = 0;
    made_.requests.reserve(of_.events.size());
    made_.times.reserve(of_.events.size());
    made_.ids.reserve(of_.blocks.size());
    for (const recorded_block& each : of_.blocks) made_.ids.push_back(each.id);
    for (std::size_t i = 0; i < of_.events.size(); ++i) {
      const recorded_event& event = of_.events[i];
      now_ = event.time;
      for (; freed < delayed_.size() && delayed_[freed].first == i; ++freed) free(delayed_[freed].second);
      if (event.kind == recorded_kind::segment_taken) segment = of_.segments[event.at].address;
      if (event.kind == recorded_kind::allocated) allocate(event.at, segment);
      if (event.kind == recorded_kind::freed && arenas_.free_at[event.at] == no_delay) free(event.at);
      if (emptied < arenas_.emptyings.size() && arenas_.emptyings[emptied].event == i) {
        if (!own.own[emptied]) add(arenas_.emptyings[emptied]);
        ++emptied;
      }
    }
    put_recorded();
    return std::move(made_);
  }

 private:
  std::uint16_t get_arena(const recorded_block& block) const {
    return block.segment == no_segment ? std::uint16_t{0} : arenas_.of_segment[block.segment];
  }

  void allocate(std::uint32_t at, std::uint64_t& segment) {
    const recorded_block& block = of_.blocks[at];
    put({asked_.get_size(at), at, get_arena(block), request_kind::allocate});
    if (segment != 0 && segment == block.address) made_.segment_addresses.emplace_back(at, segment);
    segment = 0;
  }

  void free(std::uint32_t at) { put({0, at, get_arena(of_.blocks[at]), request_kind::free}); }

  void put(const request& output) {
    made_.requests.push_back(output);
    made_.times.push_back(now_);
  }

  std::vector<std::uint16_t> arenas_kept(const emptying& by) const {
    std::vector<std::uint16_t> totals;
    for (const std::uint32_t kept : by.kept) totals.push_back(arenas_.of_segment[kept]);
    std::sort(totals.begin(), totals.end());
    totals.erase(std::unique(totals.begin(), totals.end()), totals.end());
    return totals;
  }

  void add(const emptying& by) {
    put({0, static_cast<std::uint32_t>(made_.kept_arenas.size()), 0, request_kind::empty_cache});
    made_.kept_arenas.push_back(arenas_kept(by));
  }

  void find_arenas_to_keep() {
    made_.private_arenas.assign(arenas_.count, false);
    for (const emptying& each : arenas_.emptyings)
      for (const std::uint16_t arena : arenas_kept(each)) made_.private_arenas[arena] = true;
  }

  void put_recorded() {
    made_.recorded.segments_known = !of_.segments.empty();
    made_.recorded.mapped =
        std::any_of(of_.segments.begin(), of_.segments.end(), [](const recorded_segment& each) { return each.mapped; });
    const reserved_memory with_blocks{arenas_.peak_reserved, arenas_.peak_segments, arenas_.driver_calls};
    static_cast<reserved_memory&>(made_.recorded) = made_.recorded.with_blocks = with_blocks;
    if (of_.empty_segments.empty()) return;
    made_.recorded.driver_calls = 0;
    add_empty_segments(of_, made_.recorded);
  }

  const recorded_events& of_;
  inferred_arenas arenas_;
  asked_sizes asked_;
  std::vector<std::pair<std::size_t, std::uint32_t>> delayed_;  ///< Pairs of event and block.
  trace::time_ns now_ = 0;
  allocator_requests made_;
};

/// If an allocator appears to have more streams and pools than this, it is more likely that other streams were still
/// using its blocks. The times at which these blocks became free are known only roughly, so the model may then miss the
/// recorded peak by a twentieth.
constexpr std::uint32_t most_likely_arenas = 12;

}  // namespace

allocator_requests collect_requests(const recorded_events& events, const trace::tables& tables) {
  const policy native = *parse_policy("native");
  allocator_requests by_arenas = request_maker(events, tables, explanation::arenas).make();
  const auto error = to_error(by_arenas, replay_policy(by_arenas, native));
  if (!error || (error->exact() && by_arenas.arenas <= most_likely_arenas)) return by_arenas;
  allocator_requests by_delays = request_maker(events, tables, explanation::delays).make();
  const auto other = to_error(by_delays, replay_policy(by_delays, native));
  if (!other) return by_arenas;
  const auto off = [](const native_error& by) { return static_cast<std::uint64_t>(std::abs(by.peak_reserved)); };
  const bool many = by_arenas.arenas > most_likely_arenas;
  const bool better =
      off(*other) <= off(*error) || (many && off(*other) <= by_delays.recorded.with_blocks.peak_reserved / 20);
  return better ? by_delays : by_arenas;
}

std::vector<allocator_requests> collect_requests(const index::memory_use& memory, const trace::tables& tables) {
  std::vector<allocator_requests> items;
  for (const recorded_events& each : recorded_allocators(memory, tables))
    items.push_back(collect_requests(each, tables));
  return items;
}

std::vector<policy> policies_for(std::span<const allocator_requests> items) {
  std::vector<policy> policies = default_policies();
  const auto any = [&](auto&& has) { return std::any_of(items.begin(), items.end(), has); };
  if (any([](const allocator_requests& each) { return each.step_begins.size() > 1; }))
    policies.push_back(*parse_policy("empty_cache:step"));
  if (any([](const allocator_requests& each) { return !each.failures.empty(); }))
    policies.push_back(*parse_policy("empty_cache:failure"));
  return policies;
}

void put_moments(std::span<allocator_requests> into, const std::map<trace::process_id, index::step_list>& steps,
                 std::span<const trace::alloc_failed_event> failed) {
  for (allocator_requests& each : into) {
    if (const auto known = steps.find(each.process); known != steps.end())
      for (const index::step& step : known->second.steps) each.step_begins.push_back(step.span.begin);
    for (const trace::alloc_failed_event& row : failed)
      if (row.process == each.process && row.device == each.device) each.failures.push_back(bounded(row.time));
  }
}

}  // namespace sluice::replay
