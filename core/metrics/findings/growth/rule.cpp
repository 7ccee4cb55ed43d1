#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "core/base/format.hpp"
#include "core/metrics/findings/growth/descriptor.hpp"
#include "core/metrics/findings/shared/advice.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/trace/model/names.hpp"

/// Findings about memory that grows until the end, and blocks that are never freed.
namespace sluice::metrics {
namespace {

using trace::severity;

/// Returns the peak, in bytes, of the memory to which the group belongs; 0 if there is none.
std::uint64_t get_peak(const growing_group& group, const report& subject) {
  for (const memory_statistics& each : subject.whole.memory)
    if (each.device == group.device && each.layer == group.layer && each.kind == group.kind) return each.maximum;
  return 0;
}

std::uint64_t get_bytes(const std::vector<const growing_group*>& groups) {
  return std::accumulate(groups.begin(), groups.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const growing_group* each) { return sum + each->bytes; });
}

/// True if the group's layer describes the device in the most detail. Lower layers have only the segments that contain
/// the blocks of this layer.
bool says_most(const growing_group& group, const finder& in) {
  if (group.layer == trace::layer::driver || group.layer == trace::layer::pool)
    return std::none_of(in.whole.whole.memory.begin(), in.whole.whole.memory.end(), [&](const memory_statistics& each) {
      return each.device == group.device && each.kind == group.kind && each.layer > group.layer;
    });
  return true;
}

double find_highest(const step_summary& steps) {
  return steps.highest < steps.steps.size() ? static_cast<double>(steps.steps[steps.highest].peak) : 0;
}

const step_summary* growing_steps(const report& subject) {
  for (const step_summary& steps : subject.steps)
    if (steps.keeps_growing && steps.growth * static_cast<double>(steps.count) >= mebi &&
        steps.growth * static_cast<double>(steps.count) >= warned_memory_share * find_highest(steps))
      return &steps;
  return nullptr;
}

}  // namespace

void find_growth(finder& in) {
  std::vector<const growing_group*> groups;
  for (const growing_group& each : in.whole.waste.growing)
    if (says_most(each, in)) groups.push_back(&each);
  const step_summary* steps = growing_steps(in.whole);
  const std::string by_step = steps == nullptr
                                  ? std::string()
                                  : fmt::format(" Memory grows by {} per step ({}{}).", format_bytes(steps->growth),
                                                format_some(steps->count, "step"),
                                                steps->source == index::step_source::pattern ? ", inferred" : "");
  const auto lines = by_line(groups, in.places, [](const growing_group& each) { return each.bytes; });
  std::size_t reported = 0;
  constexpr std::size_t max_reported = 2;
  for (const auto& [place, of_line] : lines) {
    const growing_group& most = *of_line.front();
    const std::uint64_t bytes = get_bytes(of_line);
    const std::uint64_t peak = get_peak(most, in.whole);
    const double share = peak == 0 ? 0 : std::min(1.0, in.peak_share(bytes, peak, most.device));
    if (static_cast<double>(bytes) < mebi || share < warned_memory_share || reported == max_reported) break;
    if (in.has(finding_kind::memory_grows, place)) continue;
    std::uint64_t blocks = 0;
    for (const growing_group* each : of_line) blocks += each->blocks;
    finding& f = in.add(finding_kind::memory_grows,
                        fmt::format("Memory keeps growing: {} of {} memory in {}{} {} never freed while the program "
                                    "ran, and more was allocated until the end.{}",
                                    format_bytes(bytes), get_name(most.kind), format_some(blocks, "block"),
                                    from_place(place), blocks == 1 ? "was" : "were", reported == 0 ? by_step : ""),
                        std::string(stop_growth(find_maker(place, most.layer))));
    f.severity = severity::warning;
    f.saves = {.peak_bytes = bytes, .basis = saving_basis::measured, .share = share};
    f.range = {most.first, most.last + 1};
    f.block = most.newest;
    f.where = place;
    for (const growing_group* each : of_line)
      if (place.known)
        f.parts.push_back(
            {saved_part::type::blocks, each->device, static_cast<std::uint64_t>(each->layer), each->stack});
    f.detail = fmt::format("{} in {}", format_bytes(bytes), format_some(blocks, "block"));
    in.set_fix(f, memory_grows_fixes, most.layer == trace::layer::driver ? "driver memory" : "", most.layer);
    ++reported;
  }
  // If uses are known, the findings about memory kept after its last use have more detail.
  if (in.has(finding_kind::memory_grows) || steps == nullptr || !in.whole.waste.idle.empty()) return;
  finding& f = in.add(
      finding_kind::memory_grows,
      fmt::format("Memory grows by {} per step ({}{}): likely a leak.", format_bytes(steps->growth),
                  format_some(steps->count, "step"), steps->source == index::step_source::pattern ? ", inferred" : ""),
      std::string(stop_growth("PyTorch")));
  f.severity = severity::warning;
  f.detail = format_bytes(steps->growth) + " a step";
  in.set_fix(f, memory_grows_fixes, {}, trace::layer::framework);
  f.range = {steps->steps.front().span.begin, steps->steps.back().span.end};
  f.event = steps->steps.back().event;
}

void find_unfreed(finder& in) {
  const std::vector<unfreed_group>& groups = in.whole.unfreed;
  // The user layer has better names for the same bytes than the driver layer has.
  const auto is_listed_for_user = [&](const unfreed_group& driver) {
    return std::any_of(groups.begin(), groups.end(), [&](const unfreed_group& group) {
      return group.layer == trace::layer::user && group.process == driver.process && group.kind == driver.kind &&
             group.bytes == driver.bytes;
    });
  };
  const bool growth_reported = in.has(finding_kind::memory_grows);
  std::vector<const unfreed_group*> by_bytes;
  for (const unfreed_group& each : groups) by_bytes.push_back(&each);
  std::stable_sort(by_bytes.begin(), by_bytes.end(), [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  struct reported {
    std::size_t finding = 0;
    std::size_t others = 0;  ///< Number of other processes with smaller groups of the same kind.
  };
  std::map<std::tuple<trace::layer, trace::memory_kind, trace::string_id, bool>, reported> alike;
  for (const unfreed_group* each : by_bytes) {
    const unfreed_group& group = *each;
    if (group.layer != trace::layer::driver && group.layer != trace::layer::user) continue;
    const bool segments = group.layer == trace::layer::driver && in.has_allocator(group.kind);
    if (segments || (group.layer == trace::layer::driver && is_listed_for_user(group))) continue;
    const bool grows = group.keeps_growing && !growth_reported;
    if (!grows && static_cast<double>(group.bytes) < mebi) continue;
    const unfreed_block& largest = group.largest.front();
    const auto [same, fresh] =
        alike.try_emplace({group.layer, group.kind, largest.name, grows}, reported{in.found.size()});
    if (!fresh) {
      ++same->second.others;
      continue;
    }
    const std::string_view name = in.tables.text(largest.name);
    std::string text =
        fmt::format("{} ({}) of {} memory {} never freed{}. The largest, {}, was allocated at {}{}.",
                    format_some(group.count, "block"), format_bytes(group.bytes), get_name(group.kind),
                    group.count == 1 ? "was" : "were",
                    grows ? ", and more were allocated until the end: likely a leak" : "", format_bytes(largest.bytes),
                    format_moment(largest.born), name.empty() ? std::string() : fmt::format(" ({})", name));
    if (!group.process_ended) text += " The process was still running when the recording ended.";
    finding& f = in.add(finding_kind::unfreed_blocks, std::move(text),
                        grows ? "Sort the table of blocks by allocation time: the newest show where to free them."
                        : group.keeps_growing ? "More was allocated until the end: see the memory leak."
                                              : "This is fine for memory that is allocated once at startup.");
    if (grows) f.severity = severity::warning;
    if (grows)
      in.set_fix(f, memory_grows_fixes, group.layer == trace::layer::driver ? "driver memory" : "", group.layer);
    f.detail = fmt::format("{} in {}", format_bytes(group.bytes), format_some(group.count, "block"));
    f.block = largest.block;
    f.event = largest.alloc;
  }
  for (const auto& [subject, each] : alike)
    if (each.others > 0)
      in.found[each.finding].text += fmt::format(
          " The same in {}.", each.others == 1 ? "another process" : format_some(each.others, "other process"));
}

}  // namespace sluice::metrics
