#include "app/gui/views/memory_map/film_player.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "app/gui/views/parts/widgets.hpp"

namespace sluice::gui {
namespace {

constexpr float slow_map = 1;    // seconds that a map may take before it is considered slow
constexpr int max_undrawn = 12;  // frames in which the panel may be hidden, until its tab is in front
constexpr std::uint32_t steps_width = 16384;

const char* get_words(film_loop loop) {
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

void film_player::add_commands(const command_home& home, std::function<std::optional<time_ns>()> shown_moment) {
  shown_moment_ = std::move(shown_moment);
  static constexpr command_row<acts_on<film_player>> rows[] = {
      {.id = "film.play",
       .title = "Play the memory map",
       .group = "Memory",
       .icon = icon::play,
       .keys = {ImGuiKey_P},
       .run = [](auto& at, auto&) { at.self.play(at.commands); },
       .enabled = when_ready,
       .checked = [](auto& at) { return at.self.film_.playing(); }},
      {.id = "film.pause",
       .icon = icon::stop,
       .run = [](auto& at, auto&) { at.self.film_.pause(); },
       .enabled = [](auto& at) { return at.self.film_.playing(); }},
      {.id = "film.previous_step",
       .title = "Go to previous step",
       .group = "Memory",
       .icon = icon::back,
       .keys = {ImGuiMod_Shift | ImGuiKey_Comma},
       .repeats = true,
       .run = [](auto& at, auto&) { at.self.go_to_step(at, false); },
       .enabled = when_ready},
      {.id = "film.next_step",
       .title = "Go to next step",
       .group = "Memory",
       .icon = icon::forward,
       .keys = {ImGuiMod_Shift | ImGuiKey_Period},
       .repeats = true,
       .run = [](auto& at, auto&) { at.self.go_to_step(at, true); },
       .enabled = when_ready}};
  home.commands.add(rows, acts_on<film_player>{home, *this});
}

void film_player::play(const command_registry& commands) {
  shows_controls_ = true;
  undrawn_ = 0;
  if (film_.playing()) return film_.pause();
  film_.play();
  commands.invoke("panel.focus.Memory map");
}

void film_player::go_to_step(const command_home& home, bool forward) const {
  const std::optional<time_ns> now = home.state.moment() ? home.state.moment() : shown_moment_();
  if (steps_ == nullptr || !now) return;
  if (const auto next = neighbour_step(steps_->slices, *now, forward))
    home.commands.invoke("moment.set", time_range{*next, *next});
}

void film_player::reset() {
  film_.pause();
  map_took_ = 0;
  slow_maps_ = false;
  steps_query_ = {};
  steps_ = nullptr;
}

void film_player::follow(const view_context& with, const query::query_result<query::track_list>& tracks) {
  const document* active = with.state.active();
  if (tracks)
    for (const query::track& each : tracks->tracks)
      if (each.kind == query::track_kind::steps) {
        const auto steps =
            steps_query_.ask(*active->engine, {each.id, {active->span.begin, active->span.end + 1}, steps_width});
        if (steps) steps_ = steps.value;
        break;
      }
  if (film_.playing() && ++undrawn_ > max_undrawn) film_.pause();
}

time_range film_player::range(const view_context& with, std::optional<time_ns> moment) const {
  const document& active = *with.state.active();
  if (film_.loop == film_loop::range && with.state.range()) return *with.state.range();
  if (film_.loop == film_loop::step && steps_ != nullptr && moment)
    if (const auto step = step_around(steps_->slices, *moment)) return *step;
  return active.active.length() > 0 ? active.active : active.span;
}

void film_player::advance(const view_context& with, std::optional<time_ns> moment, bool waiting) {
  const float seconds = ImGui::GetIO().DeltaTime;
  undrawn_ = 0;
  map_took_ = film_.playing() && waiting ? map_took_ + seconds : 0;
  slow_maps_ = film_.playing() && (slow_maps_ || map_took_ > slow_map);
  if (!film_.playing() || !moment) return;
  const auto next = film_.advance(*moment, range(with, moment), !waiting, static_cast<double>(seconds));
  if (next) with.commands.invoke("moment.set", time_range{*next, *next});
}

void film_player::draw_controls(const view_context& with, std::optional<time_ns> moment) {
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0.0F);
  ImGui::BeginDisabled(steps_ == nullptr);
  command_button(with, "film.previous_step", nullptr, true);
  ImGui::SameLine(0, with.px(2));
  command_button(with, "film.next_step", nullptr, true);
  ImGui::EndDisabled();
  ImGui::PopStyleVar();
  const time_range over = range(with, moment);
  const auto speed_words = [&](std::size_t which) {
    const double per_second = static_cast<double>(over.length()) * film::speeds[which];
    const double times = per_second / 1e9;
    return times < 10 ? fmt::format("{:.2g}x", times) : fmt::format("{:.0f}x", times);
  };
  place_control(with.px(150));
  ImGui::SetNextItemWidth(with.px(150));
  if (ImGui::BeginCombo("##speed", speed_words(film_.speed).c_str())) {
    for (std::size_t i = 0; i < std::size(film::speeds); ++i)
      if (ImGui::Selectable(speed_words(i).c_str(), i == film_.speed)) film_.speed = i;
    ImGui::EndCombo();
  }
  place_control(with.px(180));
  ImGui::SetNextItemWidth(with.px(180));
  if (ImGui::BeginCombo("##loop", get_words(film_.loop))) {
    for (const film_loop each : {film_loop::recording, film_loop::step, film_loop::range}) {
      const bool possible = each == film_loop::recording || (each == film_loop::step && steps_ != nullptr) ||
                            (each == film_loop::range && with.state.range());
      if (ImGui::Selectable(get_words(each), each == film_.loop, possible ? 0 : ImGuiSelectableFlags_Disabled))
        film_.loop = each;
    }
    ImGui::EndCombo();
  }
}

}  // namespace sluice::gui
