#include "core/metrics/findings/transfers/copy_lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/findings/transfers/thresholds.hpp"

namespace sluice::metrics {

copy_lines_builder::copy_lines_builder(const index::copy_contents& contents, const metrics_scope& scope)
    : contents_(contents),
      scope_(scope),
      checked_(!contents.copies().empty()),
      groups_(scope, copies_grouped::all),
      duplicates_(scope) {
  needless_copies(contents, scope.range).for_each([this](const index::content_copy& copy, needless_copy why) {
    needless& subject = needless_[raw(copy.event)];
    const copy_metrics one{1, copy.bytes, copy.end == latest_time ? 0 : copy.end - copy.begin};
    (why == needless_copy::repeated ? subject.repeated : subject.round_trips).add(one);
  });
}

void copy_lines_builder::add(const index::event_store& store, time_range run) {
  const time_range here = intersect(scope_.range, run);
  if (here.length() <= 0) return;
  groups_.add(store, run);
  duplicates_.add(contents_, store, run);
  for (const index::copy_record& copy : store.copies().copies()) {
    if (!here.holds(copy.begin) || copy.end == latest_time) continue;
    ran_kernels_[copy.device] = store.devices().ran_kernels(copy.device);
    add_to_cell(copy);
    if (needless_.empty()) continue;
    const auto found = needless_.find(raw(copy.event));
    if (found == needless_.end()) continue;
    needless& subject = needless_by_stack_[{copy.device, copy.direction, store.copies().find_stack(copy.call)}];
    subject.repeated.add(found->second.repeated);
    subject.round_trips.add(found->second.round_trips);
  }
}

void copy_lines_builder::add_to_cell(const index::copy_record& copy) {
  const std::uint64_t size = copy.bytes / std::max<std::uint64_t>(copy.copies, 1);
  if (size == 0 || copy.end <= copy.begin) {
    left_out_ += copy.copies;
    return;
  }
  const double rate = index::compute_bandwidth(copy.bytes, copy.begin, copy.end);
  const auto place = [](double value) {
    return static_cast<std::uint64_t>(std::max(std::log2(value) * copy_cell::parts_of_octave, 0.0));
  };
  const auto emplace = ways_.try_emplace({copy.device, copy.direction, copy.host_side}, ways_.size()).first->second;
  const std::uint64_t key = std::uint64_t{emplace} << 32U | place(static_cast<double>(size)) << 16U | place(rate);
  copy_cell& cell = cells_[key];
  if (cell.count == 0) {
    cell.device = copy.device;
    cell.direction = copy.direction;
    cell.host_side = copy.host_side;
  }
  cell.count += copy.copies;
  saturating_add(cell.bytes, copy.bytes);
  // If several copies are equally fast, take the one with the lowest id, so that the order of arrival does not matter.
  const bool first_of_equals = rate == cell.rate && copy.event < cell.fastest;
  if (rate <= cell.rate && !first_of_equals) return;
  cell.fastest = copy.event;
  cell.size = size;
  cell.rate = rate;
  cell.begin = copy.begin;
  cell.end = copy.end;
}

copy_table copy_lines_builder::table(code_places& places) const {
  copy_table output;
  output.range = scope_.range;
  output.left_out = left_out_;
  output.contents_checked = checked_;
  std::map<std::tuple<trace::device_id, trace::direction, std::string>, std::size_t> known;
  std::map<asked, std::size_t> by_stack;
  for (const copy_group& group : groups_.groups(std::numeric_limits<std::size_t>::max())) {
    const code_place& place = places.of(group.stack);
    const auto [at, fresh] = known.try_emplace({group.device, group.direction, to_text(place)}, output.lines.size());
    if (fresh) {
      copy_line& line = output.lines.emplace_back();
      line.place = place;
      line.device = group.device;
      line.direction = group.direction;
      line.range = {group.first, group.last + 1};
      const auto kernels = ran_kernels_.find(group.device);
      line.kernels_known = kernels != ran_kernels_.end() && kernels->second;
    }
    by_stack[{group.device, group.direction, group.stack}] = at->second;
    copy_line& line = output.lines[at->second];
    line.count += group.count;
    saturating_add(line.bytes, group.bytes);
    if (group.host_side == trace::memory_kind::host) saturating_add(line.pageable_bytes, group.bytes);
    if (group.host_side == trace::memory_kind::pinned) saturating_add(line.pinned_bytes, group.bytes);
    saturating_add(line.busy, group.busy);
    saturating_add(line.alone, group.alone);
    saturating_add(line.queued, group.queued);
    line.small += group.small;
    saturating_add(line.small_bytes, group.small_bytes);
    saturating_add(line.small_spread, group.small_spread);
    line.range = {std::min(line.range.begin, group.first), std::max(line.range.end, group.last + 1)};
    if (line.largest != trace::event_id::none && group.largest_bytes <= line.largest_bytes) continue;
    line.largest = group.largest;
    line.largest_bytes = group.largest_bytes;
  }
  for (const auto& [who, subject] : needless_by_stack_) {
    const auto line = by_stack.find(who);
    if (line == by_stack.end()) continue;
    output.lines[line->second].repeated.add(subject.repeated);
    output.lines[line->second].round_trips.add(subject.round_trips);
  }
  for (copy_line& line : output.lines) line.storm = line.small >= min_small_copies;
  std::stable_sort(output.lines.begin(), output.lines.end(),
                   [](const copy_line& a, const copy_line& b) { return a.busy > b.busy; });
  if (checked_)
    for (const round_trip_stacks& each : duplicates_.metrics(contents_).all.round_trips)
      output.round_trips.push_back(
          {places.of(each.down), places.of(each.up), each.to_host, each.to_device, each.largest});
  for (const auto& [key, cell] : cells_) output.cells.push_back(cell);
  std::sort(output.cells.begin(), output.cells.end(), [](const copy_cell& a, const copy_cell& b) {
    return std::tie(a.device, a.direction, a.host_side, a.size, a.rate) <
           std::tie(b.device, b.direction, b.host_side, b.size, b.rate);
  });
  return output;
}

}  // namespace sluice::metrics
