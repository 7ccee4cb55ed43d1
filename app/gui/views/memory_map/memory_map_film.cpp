// The film of the memory map: its controls, and the curve of free space below the map.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "app/gui/views/memory_map/memory_map.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/printable.hpp"
#include "core/index/labels.hpp"

namespace sluice::gui {
namespace {

constexpr float holes_height = 34;    // design pixels
constexpr float min_for_holes = 200;  // design pixels that must remain in the panel
constexpr float slow_map = 1;         // seconds that a map may take before it is considered slow
constexpr int max_undrawn = 12;       // frames in which the panel may be hidden, until its tab is in front
constexpr std::uint32_t steps_width = 16384;

const char* words_of(film_loop loop) {
  switch (loop) {
    case film_loop::recording:
      return "repeat the active time";
    case film_loop::step:
      return "repeat the step";
    case film_loop::range:
      return "repeat the selected range";
  }
  return "";
}

}  // namespace

void memory_map_view::add_film_commands(const command_home& home) {
  documents& state = home.state;
  const auto ready = [&state] { return state.ready(); };
  home.commands.add({.id = "film.play",
                     .title = "Play the memory map",
                     .group = "Memory",
                     .icon = icon::play,
                     .keys = {ImGuiKey_P},
                     .run =
                         [this, &commands = home.commands](const argument&) {
                           film_row_ = true;
                           undrawn_ = 0;
                           if (film_.playing()) return film_.pause();
                           film_.play();
                           commands.invoke("panel.focus.Memory map");
                         },
                     .enabled = ready,
                     .checked = [this] { return film_.playing(); }});
  home.commands.add({.id = "film.pause",
                     .icon = icon::stop,
                     .run = [this](const argument&) { film_.pause(); },
                     .enabled = [this] { return film_.playing(); }});
  const auto step = [this, &state, &commands = home.commands](bool forward) {
    const std::optional<time_ns> now = state.moment() ? state.moment() : moment_;
    if (steps_ == nullptr || !now) return;
    if (const auto next = neighbour_step(steps_->slices, *now, forward))
      commands.invoke("moment.set", time_range{*next, *next});
  };
  home.commands.add({.id = "film.previous_step",
                     .title = "Go to previous step",
                     .group = "Memory",
                     .icon = icon::back,
                     .keys = {ImGuiMod_Shift | ImGuiKey_Comma},
                     .repeats = true,
                     .run = [step](const argument&) { step(false); },
                     .enabled = ready});
  home.commands.add({.id = "film.next_step",
                     .title = "Go to next step",
                     .group = "Memory",
                     .icon = icon::forward,
                     .keys = {ImGuiMod_Shift | ImGuiKey_Period},
                     .repeats = true,
                     .run = [step](const argument&) { step(true); },
                     .enabled = ready});
}

void memory_map_view::reset_film() {
  film_.pause();
  map_took_ = 0;
  slow_maps_ = false;
  steps_query_ = {};
  steps_ = nullptr;
  holes_query_ = {};
  hole_curve_ = nullptr;
}

/// Queries the steps, and stops the film if the panel is hidden.
void memory_map_view::follow_film(const view_context& with) {
  const document* of = with.state.active();
  if (of == nullptr || !of->ready()) return;
  if (const auto tracks = tracks_query_.ask(*of->engine, {}))
    for (const query::track& each : tracks->tracks)
      if (each.kind == query::track_kind::steps) {
        const auto steps = steps_query_.ask(*of->engine, {each.id, {of->span.begin, of->span.end + 1}, steps_width});
        if (steps) steps_ = steps.value;
        break;
      }
  if (film_.playing() && ++undrawn_ > max_undrawn) film_.pause();
}

time_range memory_map_view::film_range(const view_context& with) const {
  const document& of = *with.state.active();
  if (film_.loop == film_loop::range && with.state.range()) return *with.state.range();
  if (film_.loop == film_loop::step && steps_ != nullptr && moment_)
    if (const auto step = step_around(steps_->slices, *moment_)) return *step;
  return of.active.length() > 0 ? of.active : of.span;
}

void memory_map_view::advance_film(const view_context& with) {
  undrawn_ = 0;
  map_took_ = film_.playing() && waiting_ ? map_took_ + ImGui::GetIO().DeltaTime : 0;
  slow_maps_ = film_.playing() && (slow_maps_ || map_took_ > slow_map);
  if (!film_.playing() || !moment_) return;
  const auto next = film_.advance(*moment_, film_range(with), !waiting_, static_cast<double>(ImGui::GetIO().DeltaTime));
  if (next) with.commands.invoke("moment.set", time_range{*next, *next});
}

void memory_map_view::draw_film_controls(const view_context& with) {
  const auto wrap = [](float width) {
    ImGui::SameLine();
    if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
  };
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0.0F);
  ImGui::BeginDisabled(steps_ == nullptr);
  command_button(with, "film.previous_step", nullptr, true);
  ImGui::SameLine(0, with.px(2));
  command_button(with, "film.next_step", nullptr, true);
  ImGui::EndDisabled();
  ImGui::PopStyleVar();
  const time_range over = film_range(with);
  const auto speed_words = [&](std::size_t which) {
    const double per_second = static_cast<double>(over.length()) * film::speeds[which];
    const double times = per_second / 1e9;
    return times < 10 ? fmt::format("{:.2g}x", times) : fmt::format("{:.0f}x", times);
  };
  wrap(with.px(150));
  ImGui::SetNextItemWidth(with.px(150));
  if (ImGui::BeginCombo("##speed", speed_words(film_.speed).c_str())) {
    for (std::size_t i = 0; i < std::size(film::speeds); ++i)
      if (ImGui::Selectable(speed_words(i).c_str(), i == film_.speed)) film_.speed = i;
    ImGui::EndCombo();
  }
  wrap(with.px(180));
  ImGui::SetNextItemWidth(with.px(180));
  if (ImGui::BeginCombo("##loop", words_of(film_.loop))) {
    for (const film_loop each : {film_loop::recording, film_loop::step, film_loop::range}) {
      const bool possible = each == film_loop::recording || (each == film_loop::step && steps_ != nullptr) ||
                            (each == film_loop::range && with.state.range());
      if (ImGui::Selectable(words_of(each), each == film_.loop, possible ? 0 : ImGuiSelectableFlags_Disabled))
        film_.loop = each;
    }
    ImGui::EndCombo();
  }
  wrap(with.px(130));
  ImGui::SetNextItemWidth(with.px(130));
  const bool by_category = with.state.memory_by_category;
  if (ImGui::BeginCombo("##colours", by_pool_ ? "by pool" : by_category ? "by category" : "by layer")) {
    for (const bool category : {true, false})
      if (ImGui::Selectable(category ? "by category" : "by layer", !by_pool_ && category == by_category)) {
        by_pool_ = false;
        if (category != by_category) with.commands.invoke("timeline.by_category");
      }
    if (ImGui::Selectable("by pool", by_pool_)) by_pool_ = true;
    ImGui::EndCombo();
  }
}

/// The layer whose segments have more free bytes than those of other layers, at any time of the curve.
std::size_t memory_map_view::layer_of_holes() const {
  std::size_t best = 0;
  std::uint64_t most = 0;
  for (const query::hole_sample& sample : hole_curve_->samples)
    for (std::size_t i = 0; i < sample.layers.size(); ++i)
      if (sample.layers[i].free > most) {
        most = sample.layers[i].free;
        best = i;
      }
  return best;
}

void memory_map_view::draw_holes(const view_context& with) {
  const document& of = *with.state.active();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (room.y < with.px(min_for_holes) || room.x < with.px(80)) return;
  query::holes_query wanted;
  wanted.range = {of.span.begin, of.span.end + 1};
  if (chosen() != nullptr) wanted.device = chosen()->device;
  // With a million blocks, only one part of the recording fits into memory. If both ran, the film and the curve would
  // evict each other's part.
  if (slow_maps_) {
    holes_query_ = {};
  } else if (!of.live) {
    if (const auto result = holes_query_.ask(*of.engine, wanted)) hole_curve_ = result.value;
  }
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const draw::rectangle area{at, {at.x + room.x, at.y + with.px(holes_height)}};
  ImGui::InvisibleButton("holes", {area.width(), area.height()});
  const bool hovered = ImGui::IsItemHovered();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddLineH(area.min.x, area.max.x, area.max.y - 1, with.colours.line);
  if (hole_curve_ == nullptr || hole_curve_->samples.empty()) return;
  const std::size_t layer = layer_of_holes();
  std::uint64_t top = 1;
  for (const query::hole_sample& each : hole_curve_->samples) top = std::max(top, each.layers[layer].free);
  const double width = static_cast<double>(area.width()) / static_cast<double>(query::holes_query{}.samples);
  const auto y_of_bytes = [&](std::uint64_t bytes) {
    return area.max.y - 1 -
           static_cast<float>(static_cast<double>(bytes) / static_cast<double>(top)) * (area.height() - with.px(4));
  };
  const query::hole_sample* under = nullptr;
  for (std::size_t i = 0; i < hole_curve_->samples.size(); ++i) {
    const query::segment_holes& holes = hole_curve_->samples[i].layers[layer];
    const float left = std::floor(area.min.x + static_cast<float>(static_cast<double>(i) * width));
    const float right = std::floor(area.min.x + static_cast<float>(static_cast<double>(i + 1) * width));
    list.AddRectFilled({left, y_of_bytes(holes.free)}, {right, area.max.y - 1}, with.colours.pool_free);
    if (holes.largest_hole > 0)
      list.AddRectFilled({left, y_of_bytes(holes.largest_hole)},
                         {right, y_of_bytes(holes.largest_hole) + with.px(1.5F)}, with.colours.text);
    if (hovered && ImGui::GetMousePos().x >= left && ImGui::GetMousePos().x < right) under = &hole_curve_->samples[i];
  }
  const double span = static_cast<double>(std::max<time_ns>(1, wanted.range.length()));
  if (moment_) {
    const double share = std::clamp(static_cast<double>(*moment_ - wanted.range.begin) / span, 0.0, 1.0);
    list.AddLineV(std::floor(area.min.x + static_cast<float>(share) * (area.width() - 1)), area.min.y, area.max.y - 1,
                  with.colours.accent);
  }
  ImGui::PushFont(nullptr, small_text);
  list.AddText({area.min.x + with.px(4), area.min.y}, with.colours.muted, "free in segments; line: largest hole");
  ImGui::PopFont();
  if (under == nullptr || !begin_tip(with)) return;
  const query::segment_holes& holes = under->layers[layer];
  const float column = with.px(110);
  tip_field(with, "sampled at", format_moment(under->time), column);
  tip_field(with, "segments", format_bytes(holes.bytes), column);
  tip_field(with, "free", format_bytes(holes.free), column);
  tip_field(with, "largest hole", format_bytes(holes.largest_hole), column);
  end_tip();
}

/// Assigns the colours of categories to pools, in the order of the pools' ids.
ImU32 memory_map_view::pool_colour(const view_context& with, trace::pool_id pool) {
  if (pool == trace::pool_id::none) return with.colours.categories[0];
  return with.colours.categories[1 + (trace::raw(pool) - 1) % (index::category_count - 1)];
}

std::string memory_map_view::pool_words(const view_context& with, trace::pool_id pool) {
  if (pool == trace::pool_id::none) return "no pool";
  return printable(index::pool_label(pool, with.state.active()->engine->snapshot()->tables()));
}

}  // namespace sluice::gui
