#include "core/timeline/tile_grid.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::timeline {
namespace {

constexpr time_ns max_roots = 4;
constexpr time_ns fan_out = time_ns{1} << trace::tile_fan_out_log2;

/// A number of rows that are assumed to be evenly spread over a time span.
struct spread {
  time_ns begin = 0;
  time_ns end = 0;  ///< Always > begin.
  double rows = 0;
  [[nodiscard]] double in(const tile& part) const {
    const double overlap = static_cast<double>(std::min(end, part.end()) - std::max(begin, part.begin));
    return overlap <= 0 ? 0 : rows * overlap / static_cast<double>(end - begin);
  }
};

/// Estimates the number of live blocks as allocations minus frees in all chunks added so far.
class live_blocks {
 public:
  void add(const trace::chunk_info& chunk) {
    if (chunk.type == trace::row_type::alloc) steps_.push_back({chunk.max_time, static_cast<double>(chunk.rows)});
    if (chunk.type == trace::row_type::free) steps_.push_back({chunk.max_time, -static_cast<double>(chunk.rows)});
  }
  void settle() {
    std::sort(steps_.begin(), steps_.end(), [](const step& a, const step& b) { return a.time < b.time; });
    double sum = 0;
    for (step& each : steps_) each.blocks = sum += each.blocks;
  }
  [[nodiscard]] double at(time_ns time) const {
    const auto behind =
        std::upper_bound(steps_.begin(), steps_.end(), time, [](time_ns t, const step& each) { return t < each.time; });
    return behind == steps_.begin() ? 0 : std::max(0.0, (behind - 1)->blocks);
  }

 private:
  struct step {
    time_ns time = 0;
    double blocks = 0;
  };
  std::vector<step> steps_;
};

class planner {
 public:
  planner(double target, const live_blocks& live, std::span<const trace::section_row> settled,
          std::vector<trace::section_row>& into)
      : target_(target), live_(live), settled_(settled), into_(into) {}

  /// Divides the tile at least `times` times, even if it has few events.
  void divide(const tile& whole, std::span<const spread> events, unsigned times) {
    const bool near_settled =
        !settled_.empty() && whole.begin < settled_.back().end && whole.end() > settled_.front().time;
    if (near_settled) {
      const auto known = std::lower_bound(settled_.begin(), settled_.end(), whole.begin,
                                          [](const trace::section_row& row, time_ns time) { return row.time < time; });
      if (known != settled_.end() && known->time == whole.begin && known->end == whole.end())
        return into_.push_back(*known);
    }
    std::vector<spread> inside;
    double rows = 0;
    for (const spread& each : events) {
      const double part = each.in(whole);
      if (part <= 0) continue;
      rows += part;
      inside.push_back(each);
    }
    const bool divisible = whole.level >= lowest_tile_level + trace::tile_fan_out_log2;
    const bool is_enough = rows <= std::max(target_, events_a_live_block * live_.at(whole.end()));
    if (!divisible || (is_enough && times == 0 && !near_settled)) {
      into_.push_back({whole.begin, whole.end(), static_cast<std::uint64_t>(std::llround(rows))});
      return;
    }
    const unsigned level = whole.level - trace::tile_fan_out_log2;
    for (time_ns i = 0; i < fan_out; ++i)
      divide({whole.begin + (i << level), level}, inside, times - std::min(times, 1U));
  }

 private:
  double target_;
  const live_blocks& live_;
  std::span<const trace::section_row> settled_;
  std::vector<trace::section_row>& into_;
};

}  // namespace

std::vector<tile> root_tiles(time_ns begin, time_ns end) {
  unsigned level = lowest_tile_level;
  while (level < highest_tile_level && (end >> level) - (begin >> level) >= max_roots) ++level;
  std::vector<tile> roots;
  for (time_ns at = begin >> level; at <= end >> level; ++at) roots.push_back({at << level, level});
  return roots;
}

std::vector<trace::section_row> plan_sections(time_ns begin, time_ns end, std::span<const trace::chunk_info> chunks,
                                              double target, std::span<const trace::section_row> settled) {
  std::vector<spread> events;
  live_blocks live;
  for (const trace::chunk_info& chunk : chunks) {
    if (!trace::is_event(chunk.type)) continue;
    live.add(chunk);
    const time_ns first = std::clamp(chunk.min_time, begin, end);
    const time_ns last = std::clamp(chunk.max_time, first, end);
    events.push_back({first, last + 1, static_cast<double>(chunk.rows)});
  }
  std::vector<trace::section_row> sections;
  live.settle();
  planner dividing(target, live, settled, sections);
  for (const tile& root : root_tiles(begin, end)) dividing.divide(root, events, 2);
  // The roots of a longer recording are larger, and may start before the first event.
  if (!settled.empty() && begin >= settled.front().time)
    std::erase_if(sections, [&](const trace::section_row& each) { return each.time < settled.front().time; });
  return sections;
}

std::vector<trace::section_row> plan_next_sections(time_ns begin, time_ns end,
                                                   std::span<const trace::chunk_info> chunks, double target,
                                                   std::span<const trace::section_row> settled, time_ns until) {
  std::vector<trace::section_row> next;
  for (const trace::section_row& each : plan_sections(begin, end, chunks, target, settled)) {
    if (!settled.empty() && each.time < settled.back().end) continue;
    if (each.end > until) break;
    next.push_back(each);
  }
  return next;
}

}  // namespace sluice::timeline
