#include "core/query/types/idle_lanes.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/query/results/panels/gap_reader.hpp"
#include "core/query/results/query_operator.hpp"

namespace sluice::query {
namespace {

/// Collects the words of gaps, each once.
class word_list {
 public:
  std::uint32_t add(gap_words words) {
    key_type key(words.reason, words.library, words.place, words.place_is_next, static_cast<int>(words.share * 100));
    const auto [place, fresh] = known_.try_emplace(std::move(key), static_cast<std::uint32_t>(all_.size()));
    if (fresh) all_.push_back(std::move(words));
    return place->second;
  }
  [[nodiscard]] std::vector<gap_words> take() { return std::move(all_); }

 private:
  using key_type = std::tuple<metrics::host_reason, std::string, std::string, bool, int>;
  std::map<key_type, std::uint32_t> known_;
  std::vector<gap_words> all_;
};

/// Adds the devices that ran something in the range to `found`. O(slices in the range).
void add_working(const index::event_store& store, time_range range, std::set<trace::device_id>& found) {
  if (range.length() <= 0) return;
  for (const auto& [key, slices] : store.devices().streams()) {
    if (found.contains(key.device) || !store.devices().ran_kernels(key.device)) continue;
    bool works = false;
    slices.for_each(range.begin, range.end, [&](const timeline::slice_item&, std::uint16_t) { works = true; });
    if (works) found.insert(key.device);
  }
}

/// Moves one end of a range outward in growing steps until all of `devices` ran something in the part that was added.
/// `add`: adds a length to the range and returns the part that was added; empty at the limit.
template <class Extend>
void extend_to_work(const index::event_store& store, std::size_t devices, time_ns step, Extend&& extend) {
  // Once any device was found, the others may have no work on this side at all, so they are not looked for much longer.
  constexpr int steps_for_others = 6;
  std::set<trace::device_id> found;
  for (int left = steps_for_others; found.size() < devices && left > 0; left -= found.empty() ? 0 : 1) {
    const time_range added = extend(step);
    if (added.length() <= 0) return;
    add_working(store, added, found);
    step = std::min(step, latest_time / 4) * 2;
  }
}

time_range widen_to_work(time_range range, time_range limit, const index::event_store& store) {
  time_range wide = intersect(range, limit);
  if (wide.length() <= 0) return range;
  std::set<trace::device_id> devices;
  add_working(store, limit, devices);
  const time_ns step = std::max<time_ns>(wide.length() / 8, 1);
  extend_to_work(store, devices.size(), step, [&](time_ns by) {
    const time_range added{wide.begin - std::min(by, wide.begin - limit.begin), wide.begin};
    wide.begin = added.begin;
    return added;
  });
  extend_to_work(store, devices.size(), step, [&](time_ns by) {
    const time_range added{wide.end, wide.end + std::min(by, limit.end - wide.end)};
    wide.end = added.end;
    return added;
  });
  return wide;
}

/// Moves one end of a range outward, a section at a time, until all devices that work in some section looked at ran
/// something outside of the range.
class section_searcher {
 public:
  explicit section_searcher(const sources& source) : source_(source), cache_(*source.stored->sections) {}

  time_range widen(time_range range) {
    const summary::section_reader& store = cache_.store();
    const std::size_t last_section = store.sections().size() - 1;
    for (const bool back : {true, false}) {
      std::set<trace::device_id> found;
      std::size_t section = store.section_at(back ? range.begin : std::max(range.begin, range.end - 1));
      for (std::size_t i = 0; i < idle_lanes_query::max_searched; ++i) {
        const time_range run = bounded(store.find_run(section, section));
        const time_range outside = back ? time_range{run.begin, std::min(run.end, range.begin)}
                                        : time_range{std::max(run.begin, range.end), run.end};
        if (!look(section, outside, found)) return range;
        if (outside.length() > 0) (back ? range.begin : range.end) = back ? outside.begin : outside.end;
        if ((!devices_.empty() && found == devices_) || section == (back ? 0 : last_section)) break;
        section = back ? section - 1 : section + 1;
      }
    }
    return range;
  }

 private:
  /// Returns false if the section could not be read, or the query was cancelled.
  bool look(std::size_t section, time_range outside, std::set<trace::device_id>& found) {
    const auto index =
        cache_.get(section, section, get_scope(idle_lanes_query{}), [this] { return !source_.cancelled.load(); });
    if (!index) return false;
    add_working(**index, bounded(cache_.store().find_run(section, section)), devices_);
    add_working(**index, outside, found);
    return true;
  }

  const sources& source_;
  summary::section_cache& cache_;
  std::set<trace::device_id> devices_;
};

class lanes_of_parts final : public query_operator<idle_lanes> {
 public:
  explicit lanes_of_parts(const idle_lanes_query& query)
      : query_{bounded(query.range), std::clamp<std::uint32_t>(query.width, 1, widest_view)},
        scope_{nullptr, all_time} {}

  result<reading_plan> plan(const sources& source) override {
    if (!has_sections(source))
      return reading_plan{{widen_to_work(query_.range, index::recorded_range(source.trace), source.index)}};
    const summary::section_reader& store = source.stored->sections->store();
    const std::size_t last = store.section_at(std::max(query_.range.begin, query_.range.end - 1));
    too_long_ = last - store.section_at(query_.range.begin) >= idle_lanes::max_sections;
    if (too_long_) return reading_plan{};
    return reading_plan{{section_searcher(source).widen(query_.range)}};
  }

  result<void> add(const sources& source, time_range part) override {
    scope_.trace = &source.trace;
    if (!gaps_) gaps_.emplace(scope_).keep_parts();
    gaps_->add(source.index, part);
    gaps_->for_each_part([&](const metrics::idle_part& each) {
      lanes_.try_emplace(each.device, query_.range, query_.width).first->second.add(each, gaps_->samples());
    });
    if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    return {};
  }

  result<idle_lanes> finish(const sources& source) override {
    idle_lanes found;
    found.range = query_.range;
    found.too_long = too_long_;
    const metrics::naming names{source.frames, source.lookup, &source.provisional};
    gap_reader reader(source.trace.tables(), names);
    word_list words;
    for (const auto& [device, merger] : lanes_) {
      idle_lane lane{device, {}};
      for (const metrics::idle_span& each : merger.get_spans()) {
        const metrics::idle_part& part = each.longest;
        lane.gaps.push_back({each.span, each.cause, each.parts, each.idle, part.gap, part.span.length(), part.call,
                             words.add(reader.describe(each.host, part.stack, part.stack_is_next))});
      }
      if (!lane.gaps.empty()) found.lanes.push_back(std::move(lane));
    }
    found.words = words.take();
    return found;
  }

 private:
  const idle_lanes_query query_;
  bool too_long_ = false;
  metrics::metrics_scope scope_;
  std::optional<metrics::idle_gaps_builder> gaps_;
  std::map<trace::device_id, metrics::idle_span_merger> lanes_;
};

}  // namespace

operator_of<idle_lanes_query> make_operator(const idle_lanes_query& query) {
  return std::make_unique<lanes_of_parts>(query);
}

}  // namespace sluice::query
