#include "app/gui/views/what_if_replay.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace sluice::gui {

void what_if_replay::ask(const view_context& with) {
  if (stopped_) return;
  const auto result = query_.ask(*with.state.active()->engine, {});
  replaying_ = !result.complete && !result.failure;
  progress_ = result.progress;
  failure_ = result.failure;
  if (result) shown_ = result.value;
}

void what_if_replay::stop() {
  query_ = {};
  replaying_ = false;
  stopped_ = true;
}

void what_if_replay::reset() {
  query_ = {};
  shown_ = nullptr;
  failure_.reset();
  replaying_ = false;
  stopped_ = false;
}

std::string setting_name(const std::string& policy) {
  return policy == "native" ? "current" : policy == "best fit" ? "ideal packing" : policy;
}

/// Each policy always has the same colour, whichever curves are shown. The colours are the most distinct ones of the
/// palette.
ImU32 policy_colour(std::size_t policy, const theme& colours) {
  using index::category;
  const auto subject = [&](category wanted) { return colours.categories[static_cast<std::size_t>(wanted)]; };
  const ImU32 u32[] = {colours.text,
                       colours.directions[static_cast<std::size_t>(trace::direction::h2d)],
                       subject(category::gradient),
                       subject(category::workspace),
                       subject(category::optimizer_state),
                       subject(category::activation),
                       subject(category::input),
                       subject(category::weight),
                       colours.muted,
                       colours.directions[static_cast<std::size_t>(trace::direction::d2h)],
                       colours.warning};
  return u32[policy % std::size(u32)];
}

std::optional<std::size_t> replayed_part_at(const query::what_if_curves& curves, time_ns time) {
  if (!curves.span.holds(time)) return std::nullopt;
  const double share =
      static_cast<double>(time - curves.span.begin) / static_cast<double>(std::max<time_ns>(curves.span.length(), 1));
  return std::min(query::what_if_curves::parts - 1,
                  static_cast<std::size_t>(share * static_cast<double>(query::what_if_curves::parts)));
}

time_ns get_replayed_time(const query::what_if_curves& curves, std::size_t part) {
  const double share = static_cast<double>(part) / static_cast<double>(query::what_if_curves::parts);
  return curves.span.begin + static_cast<time_ns>(share * static_cast<double>(curves.span.length()));
}

chart_series make_reserved_curve(const query::what_if_curves& curves, const query::replayed_policy& policy,
                                 time_ns origin, ImU32 colour) {
  chart_series curve;
  curve.look = series_look::steps;
  curve.colour = colour;
  const auto place = [&](std::size_t part) { return static_cast<double>(get_replayed_time(curves, part) - origin); };
  for (std::size_t part = 0; part < policy.reserved.size(); ++part)
    add_joined(curve.points,
               {.begin = place(part), .end = place(part + 1), .high = static_cast<double>(policy.reserved[part])});
  return curve;
}

namespace {

chart_tip describe_reserved(const query::what_if_curves& curves, const query::replayed_allocator& allocator,
                            std::vector<std::size_t> shown, time_ns time, const theme& colours) {
  const std::size_t part = replayed_part_at(curves, time).value_or(query::what_if_curves::parts - 1);
  std::erase_if(shown, [&](std::size_t i) { return part >= allocator.policies[i].reserved.size(); });
  // Sort by the order of the curves from top to bottom.
  std::stable_sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
    return allocator.policies[a].reserved[part] > allocator.policies[b].reserved[part];
  });
  chart_tip tip;
  tip.hint("reserved at " + format_moment(get_replayed_time(curves, part)));
  for (const std::size_t i : shown)
    tip.field(setting_name(allocator.policies[i].policy), format_bytes(allocator.policies[i].reserved[part]),
              policy_colour(i, colours));
  return tip;
}

}  // namespace

chart_model make_what_if_model(const query::what_if_curves& curves, const query::replayed_allocator& allocator,
                               const std::vector<bool>& hidden, std::optional<std::size_t> highlighted,
                               const theme& colours) {
  chart_model model;
  model.x = make_time_axis(curves.span);
  model.y = {.unit = format::value_unit::bytes};
  model.crosshair = true;
  std::vector<std::size_t> shown;
  double highest = 0;
  for (std::size_t i = 0; i < allocator.policies.size(); ++i) {
    if (i < hidden.size() && hidden[i]) continue;
    shown.push_back(i);
    highest = std::max(highest, static_cast<double>(allocator.policies[i].metrics.peak_reserved));
  }
  model.y.high = std::max(highest * 1.02, 1.0);
  const auto add = [&](std::size_t i) {
    const bool dimmed = highlighted && *highlighted != i;
    const ImU32 colour = policy_colour(i, colours);
    model.series.push_back(make_reserved_curve(curves, allocator.policies[i], curves.span.begin,
                                               dimmed ? mix(colour, colours.background, 0.7F) : colour));
    if (highlighted == i) model.series.back().thickness = 2.5F;
  };
  for (auto each = shown.rbegin(); each != shown.rend(); ++each)
    if (highlighted != *each) add(*each);
  if (highlighted && std::find(shown.begin(), shown.end(), *highlighted) != shown.end()) add(*highlighted);
  model.tip = [&curves, &allocator, &colours, shown, axis = model.x](const chart_pointer& pointer) {
    return describe_reserved(curves, allocator, shown, axis.time(pointer.x), colours);
  };
  return model;
}

}  // namespace sluice::gui
