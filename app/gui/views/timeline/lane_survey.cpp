#include "app/gui/views/timeline/lane_survey.hpp"

#include <algorithm>
#include <bit>

#include "app/gui/views/lanes/series_lanes.hpp"
#include "core/base/saturating.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

constexpr std::uint32_t survey_width = 256;
/// Memory is flat if its use, between the first and the last that is in use, falls below this share of the highest
/// nowhere.
constexpr double flat_share = 0.97;

bool is_slices(query::track_kind kind) {
  return kind == query::track_kind::direction || kind == query::track_kind::stream ||
         kind == query::track_kind::host_thread;
}

bool has_values(const query::band& band) {
  return std::any_of(band.bins.begin(), band.bins.end(),
                     [](const query::bin& each) { return each.maximum > 0 || each.minimum > 0; });
}

/// True if the memory that the highest layer handed out is a block: it rises in one bin, and falls in one.
bool is_flat(const query::series& of) {
  trace::layer highest_layer = trace::layer::driver;
  for (const query::band& band : of.bands)
    if (band.role == query::band_role::used) highest_layer = std::max(highest_layer, band.layer);
  std::vector<double> lowest, highest;
  for (const query::band& band : of.bands) {
    if (band.role != query::band_role::used || band.layer != highest_layer) continue;
    lowest.resize(std::max(lowest.size(), band.bins.size()));
    highest.resize(lowest.size());
    for (std::size_t i = 0; i < band.bins.size(); ++i) {
      lowest[i] += std::max(band.bins[i].minimum, 0.0);
      highest[i] += std::max(band.bins[i].maximum, 0.0);
    }
  }
  const auto in_use = [](double value) { return value > 0; };
  const auto first = std::find_if(highest.begin(), highest.end(), in_use);
  if (first == highest.end()) return true;
  const auto last = std::find_if(highest.rbegin(), highest.rend(), in_use).base();
  const double most = *std::max_element(first, last);
  // The bins in which the memory rises and falls have all values between.
  const auto begin = lowest.begin() + (first - highest.begin()), end = lowest.begin() + (last - highest.begin());
  if (end - begin <= 2) return false;
  return std::all_of(begin + 1, end - 1, [most](double value) { return value >= most * flat_share; });
}

}  // namespace

time_range choose_surroundings(time_range visible) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 60U;
  const auto wanted = static_cast<std::uint64_t>(std::max<time_ns>(visible.length(), 1));
  const auto length = static_cast<time_ns>(std::bit_ceil(std::min(wanted, longest)));
  const time_ns number = visible.begin / length - (visible.begin % length < 0 ? 1 : 0);
  const time_ns begin = number * length;
  return {saturating_sum(begin, -length), saturating_sum(begin, length * 3)};
}

lane_content judge(const query::series& of, query::track_kind kind) {
  lane_content content;
  if (kind == query::track_kind::memory) {
    content.flat = is_flat(of);
    content.sampled = std::any_of(of.bands.begin(), of.bands.end(),
                                  [](const query::band& each) { return is_sampled(each) && has_values(each); });
    return content;
  }
  content.empty = std::none_of(of.bands.begin(), of.bands.end(), has_values);
  if (kind == query::track_kind::bandwidth && !content.empty)
    for (const query::band& each : of.bands)
      if (!has_values(each)) content.no_copies.insert(each.direction);
  return content;
}

std::vector<std::string> name_empty_lanes(const query::track& track, const lane_content& content) {
  if (content.empty) return {track.label};
  std::vector<std::string> names;
  for (const trace::direction each : content.no_copies)
    names.push_back(track.label + ", " + std::string(get_name(each)));
  return names;
}

/// Returns whether `fresh` describes the track, rather than an earlier range.
bool lane_survey::ask(one& about, query::engine& engine, const query::track& track, const document& shown) {
  const time_range around = choose_surroundings(shown.visible);
  if (is_slices(track.kind)) {
    const auto result = about.slices.ask(engine, {track.id, around, survey_width});
    if (!result || !result.complete) return false;
    about.fresh = {.empty = result->slices.empty(), .no_copies = {}};
    return true;
  }
  const bool memory = track.kind == query::track_kind::memory;
  const auto result = about.series.ask(engine, {track.id, memory ? shown.span : around, survey_width, false});
  if (!result || !result.complete) return false;
  if (result.value != about.judged) {
    about.judged = result.value;
    about.fresh = judge(*result.value, track.kind);
  }
  return true;
}

void lane_survey::follow(query::engine& engine, const track_layout& layout, const document& shown, bool calm) {
  if (layout.tracks.size() > max_tracks || shown.live) return tracks_.clear();
  for (const placed_track& each : layout.tracks) {
    if (each.track->kind == query::track_kind::pool || each.track->kind == query::track_kind::steps) continue;
    one& about = tracks_[each.track->id];
    if (ask(about, engine, *each.track, shown) && calm) about.content = about.fresh;
  }
}

const lane_content& lane_survey::of(std::uint64_t track) const {
  static const lane_content usual;
  const auto found = tracks_.find(track);
  return found == tracks_.end() ? usual : found->second.content;
}

}  // namespace sluice::gui
