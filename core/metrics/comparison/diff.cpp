#include "core/metrics/comparison/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "core/base/cancel.hpp"
#include "core/base/format.hpp"
#include "core/base/recorded_path.hpp"
#include "core/base/signed_text.hpp"
#include "core/index/event_store.hpp"
#include "core/metrics/comparison/line_moves.hpp"
#include "core/symbols/attribution.hpp"

namespace sluice::metrics {
namespace {

using symbols::frame_cache;
using symbols::frame_line;
using trace::raw;

/// Appends the text of a line to `key`, without the line number, and without the class of a Python function, because
/// older recordings lack the class.
void append(std::string& key, const frame_line& line) {
  if (!line.function.empty()) {
    const bool python = line.kind == trace::frame_kind::python;
    key.append(python ? symbols::simple_name(line.function) : line.function)
        .append("@")
        .append(file_name(line.file.empty() ? line.module : line.file));
  } else {
    key.append(file_name(line.module.empty() ? line.file : line.module))
        .append("+")
        .append(std::to_string(line.address != 0 ? line.address : line.line));
  }
  key.push_back('\n');
}

/// One side of the comparison, with the names of its stacks.
class side {
 public:
  side(const diff_side& subject, frame_cache& book) : of_(subject), book_(book) {}

  [[nodiscard]] const compared_metrics& metrics() const { return of_.metrics; }

  struct named_stack {
    std::string key;  ///< The text of the stack's functions and files.
    std::vector<frame_line> lines;
    /// Index in `lines` of the program line to which the stack is attributed; past the end if there is no such line.
    std::size_t chosen = 0;
    std::string function;  ///< The function of that line.
  };
  /// The returned reference stays valid as long as this object.
  const named_stack& stack(trace::stack_id id) {
    const auto [at, fresh] = stacks_.try_emplace(raw(id));
    if (!fresh || id == trace::stack_id::none) return at->second;
    at->second.lines = book_.stack(id, of_.tables, frame_cache::lookup::at_once);
    std::vector<const frame_line*> pointers;
    for (const frame_line& line : at->second.lines) {
      append(at->second.key, line);
      pointers.push_back(&line);
    }
    at->second.chosen = symbols::line_to_name(pointers);
    if (at->second.chosen < pointers.size()) at->second.function = text_to_match(*pointers[at->second.chosen]);
    return at->second;
  }

 private:
  const diff_side& of_;
  frame_cache& book_;
  std::unordered_map<std::uint64_t, named_stack> stacks_;
};

std::int64_t find_ordinal(trace::device_id device, const trace::tables& tables) {
  const trace::device_row* row = tables.devices.find(device);
  return row == nullptr ? -1 : row->ordinal;
}

/// Returns the devices of a side that have any metric, by number.
std::vector<trace::device_id> used_devices(const diff_side& side) {
  std::set<std::pair<std::int64_t, trace::device_id>> used;
  const auto use = [&](trace::device_id device) {
    if (device != trace::device_id::none) used.emplace(find_ordinal(device, side.tables), device);
  };
  for (const compared_memory& each : side.metrics.memory)
    if (each.metrics.maximum > 0) use(each.metrics.device);
  for (const compared_transfers& each : side.metrics.transfers)
    if (each.metrics.count > 0) use(each.metrics.device);
  for (const device_idle& each : side.metrics.idle) use(each.device);
  std::vector<trace::device_id> ids;
  for (const auto& [ordinal, device] : used) ids.push_back(device);
  return ids;
}

/// Matches the devices of both sides.
class device_matcher {
 public:
  device_matcher(const diff_side& before, const diff_side& after, device_match match)
      : tables_{&before.tables, &after.tables} {
    const std::vector<trace::device_id> used[] = {used_devices(before), used_devices(after)};
    if (match == device_match::by_ordinal || used[0].size() != used[1].size()) return;
    for (std::size_t i = 0; i < used[0].size(); ++i) {
      const matched_device both{find_ordinal(used[0][i], before.tables), find_ordinal(used[1][i], after.tables)};
      known_[0].emplace(used[0][i], both);
      known_[1].emplace(used[1][i], both);
    }
  }

  [[nodiscard]] matched_device of(trace::device_id device, bool is_after) const {
    const std::size_t side = is_after ? 1 : 0;
    if (const auto known = known_[side].find(device); known != known_[side].end()) return known->second;
    const std::int64_t ordinal = find_ordinal(device, *tables_[side]);
    return {ordinal, ordinal};
  }

 private:
  const trace::tables* tables_[2];
  std::map<trace::device_id, matched_device> known_[2];
};

class stack_table {
 public:
  void add(side& subject, const stack_use& use, bool is_after) {
    for (const stack_share& share : use.shares) {
      const side::named_stack& named = subject.stack(share.stack);
      entries_.push_back({&named, share, is_after});
      if (named.chosen < named.lines.size()) moves_.add(named.function, named.lines[named.chosen].line, is_after);
    }
  }

  /// Returns the changes, largest difference first, for everything that was added.
  std::vector<stack_change> take() {
    moves_.find();
    std::map<std::pair<std::string_view, std::uint64_t>, std::size_t> places;
    std::vector<stack_change> changes;
    for (const entry& each : entries_) {
      const side::named_stack& named = *each.named;
      const frame_line line = named.chosen < named.lines.size() ? named.lines[named.chosen] : frame_line{};
      const std::uint64_t number = each.is_after ? line.line : moves_.moved(named.function, line.line);
      const auto [at, fresh] = places.try_emplace({named.key, number}, changes.size());
      if (fresh) changes.emplace_back();
      stack_change& change = changes[at->second];
      if (fresh || each.is_after) {
        change.line = line;
        change.stack = named.lines;
      }
      change.line_after = number;
      (each.is_after ? change.after : change.before).add(each.share.metrics);
      (each.is_after ? change.stacks_after : change.stacks_before).push_back(each.share.stack);
    }
    const auto weight = [](const stack_change& c) {
      return c.before.bytes > c.after.bytes ? c.before.bytes - c.after.bytes : c.after.bytes - c.before.bytes;
    };
    std::stable_sort(changes.begin(), changes.end(),
                     [&](const stack_change& a, const stack_change& b) { return weight(a) > weight(b); });
    return changes;
  }

 private:
  struct entry {
    const side::named_stack* named;
    stack_share share;
    bool is_after;
  };
  std::vector<entry> entries_;
  line_moves moves_;
};

/// Keys of memory, transfers and idle time on both sides. Devices without an ordinal, or with equal ordinals in a merged
/// recording, are matched in order, so the last number of a key counts such devices.
using memory_place = std::tuple<std::int64_t, std::int64_t, trace::layer, trace::memory_kind, int>;
using transfer_place = std::tuple<std::int64_t, std::int64_t, trace::direction, int>;
using idle_place = std::tuple<std::int64_t, std::int64_t, int>;

void add_memory(side& subject, bool is_after, const device_matcher& devices,
                std::map<memory_place, memory_change>& into,
                std::map<memory_place, std::pair<stack_table, stack_table>>& stacks) {
  std::map<memory_place, int> seen;
  for (const compared_memory& memory : subject.metrics().memory) {
    const memory_statistics& metrics = memory.metrics;
    const matched_device device = devices.of(metrics.device, is_after);
    memory_place key(device.before, device.after, metrics.layer, metrics.kind, 0);
    std::get<4>(key) = seen[key]++;
    memory_change& change = into[key];
    change.device = device;
    change.layer = metrics.layer;
    change.kind = metrics.kind;
    (is_after ? change.after : change.before) = metrics;
    stacks[key].first.add(subject, memory.at_peak, is_after);
    stacks[key].second.add(subject, memory.allocated, is_after);
  }
}

void add_transfers(side& subject, bool is_after, const device_matcher& devices,
                   std::map<transfer_place, transfer_change>& into, std::map<transfer_place, stack_table>& stacks) {
  std::map<transfer_place, int> seen;
  for (const compared_transfers& transfers : subject.metrics().transfers) {
    const transfer_statistics& metrics = transfers.metrics;
    const matched_device device = devices.of(metrics.device, is_after);
    transfer_place key(device.before, device.after, metrics.direction, 0);
    std::get<3>(key) = seen[key]++;
    transfer_change& change = into[key];
    change.device = device;
    change.direction = metrics.direction;
    (is_after ? change.after : change.before) = metrics;
    stacks[key].add(subject, transfers.sites, is_after);
  }
}

void add_idle(const side& subject, bool is_after, const device_matcher& devices,
              std::map<idle_place, idle_change>& into) {
  std::map<idle_place, int> seen;
  for (const device_idle& idle : subject.metrics().idle) {
    const matched_device device = devices.of(idle.device, is_after);
    idle_place key(device.before, device.after, 0);
    std::get<2>(key) = seen[key]++;
    idle_change& change = into[key];
    change.device = device;
    (is_after ? change.after : change.before) = idle;
  }
}

}  // namespace

std::string text_to_match(const symbols::frame_line& line) {
  std::string key;
  append(key, line);
  return key;
}

std::string percent_of_change(double before, double after) {
  constexpr double most = 100;
  if (before <= 0 || after > most * before) return {};
  const double percent = (after - before) / before * 100;
  return fmt::format(" ({})", with_sign(percent, fmt::format("{:.0f} %", std::abs(percent))));
}

std::string describe_idle_change(const idle_change& change) {
  std::string text = fmt::format("idle {} of {} -> {} of {}", format_time(change.before.idle()),
                                 format_time(change.before.span.length()), format_time(change.after.idle()),
                                 format_time(change.after.span.length()));
  if (const idle_cause_change* most = find_main_change(change.causes))
    text += fmt::format("; {}: {} ({})", describe_trend(*most), describe_cause_and_line(*most),
                        format_time_change(most->before, most->after));
  return text;
}

compared_metrics metrics_of_device(const compared_metrics& whole, trace::device_id device) {
  compared_metrics output;
  std::copy_if(whole.memory.begin(), whole.memory.end(), std::back_inserter(output.memory),
               [=](const compared_memory& each) { return each.metrics.device == device; });
  std::copy_if(whole.transfers.begin(), whole.transfers.end(), std::back_inserter(output.transfers),
               [=](const compared_transfers& each) { return each.metrics.device == device; });
  std::copy_if(whole.idle.begin(), whole.idle.end(), std::back_inserter(output.idle),
               [=](const device_idle& each) { return each.device == device; });
  return output;
}

compared_metrics metrics_to_compare(const index::event_store& store, const trace::snapshot& trace, time_range range) {
  const range_statistics statistics = measure(store, trace.tables(), range);
  compared_metrics output;
  for (const memory_statistics& metrics : statistics.memory) {
    const block_filter filter{metrics.layer, metrics.device, metrics.kind};
    output.memory.push_back({metrics, live_stacks(store.memory(), filter, metrics.maximum_time, never_cancelled),
                             allocating_stacks(store.memory(), filter, range, never_cancelled)});
  }
  for (const transfer_statistics& metrics : statistics.transfers)
    output.transfers.push_back(
        {metrics, copying_stacks(store, {metrics.device, metrics.direction}, range, never_cancelled)});
  const metrics_scope scope{&trace, bounded(range)};
  idle_gaps_builder gaps(scope);
  gaps.add(store, scope.range);
  output.idle = gaps.devices();
  return output;
}

difference compare(const diff_side& before, frame_cache& names_before, const diff_side& after, frame_cache& names_after,
                   device_match match) {
  side sides[] = {side(before, names_before), side(after, names_after)};
  const device_matcher devices(before, after, match);
  std::map<memory_place, memory_change> memory;
  std::map<memory_place, std::pair<stack_table, stack_table>> memory_stacks;
  std::map<transfer_place, transfer_change> transfers;
  std::map<transfer_place, stack_table> transfer_stacks;
  std::map<idle_place, idle_change> idle;
  for (const bool is_after : {false, true}) {
    add_memory(sides[is_after ? 1 : 0], is_after, devices, memory, memory_stacks);
    add_transfers(sides[is_after ? 1 : 0], is_after, devices, transfers, transfer_stacks);
    add_idle(sides[is_after ? 1 : 0], is_after, devices, idle);
  }
  difference found;
  for (auto& [key, change] : memory) {
    change.at_peak = memory_stacks[key].first.take();
    change.allocated = memory_stacks[key].second.take();
    found.memory.push_back(std::move(change));
  }
  for (auto& [key, change] : transfers) {
    change.sites = transfer_stacks[key].take();
    found.transfers.push_back(std::move(change));
  }
  for (auto& [key, change] : idle) {
    change.causes = compare_idle({change.before, before.tables}, {change.after, after.tables});
    found.idle.push_back(std::move(change));
  }
  return found;
}

}  // namespace sluice::metrics
