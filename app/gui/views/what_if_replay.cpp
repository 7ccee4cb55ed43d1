#include "app/gui/views/what_if_replay.hpp"

#include <algorithm>

#include "app/gui/views/parts/panel_parts.hpp"

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

void draw_reserved(const time_chart& at, const query::what_if_curves& curves, const query::replayed_policy& policy,
                   ImU32 colour, float thickness) {
  static thread_local std::vector<ImVec2> points;
  points.clear();
  const auto get_time = [&](std::size_t part) { return get_replayed_time(curves, part); };
  for (std::size_t part = 0; part < policy.reserved.size(); ++part) {
    if (get_time(part + 1) < at.span.begin || get_time(part) > at.span.end) continue;
    const float y = at.to_y(static_cast<double>(policy.reserved[part]));
    if (points.empty() || points.back().y != y) points.emplace_back(at.to_x(get_time(part)), y);
    points.emplace_back(at.to_x(get_time(part + 1)), y);
    const std::size_t count = points.size();
    if (count > 2 && points[count - 3].y == y) points.erase(points.end() - 2);
  }
  ImGui::GetWindowDrawList()->AddPolyline(points.data(), static_cast<int>(points.size()), colour, thickness,
                                          ImDrawFlags_None);
}

}  // namespace sluice::gui
