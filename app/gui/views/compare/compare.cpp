#include "app/gui/views/compare/compare.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/window/format.hpp"
#include "core/metrics/verdict/run_change.hpp"

namespace sluice::gui {
namespace {

constexpr float comparison_beside = 900;  // design pixels; in narrower panels the curves are above the tables
constexpr float min_curves = 90;
constexpr float side_combo_width = 250;

/// Draws the name of a side, with the colour of the side's curve.
void side_name(const view_context& with, std::size_t side, const char* word) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float edge = with.px(9);
  const float top = std::floor(at.y + (ImGui::GetFrameHeight() - edge) * 0.5F);
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, top}, {at.x + edge, top + edge},
                                            aligned_curves::choose_colour(side, with.colours));
  ImGui::Dummy({edge, ImGui::GetFrameHeight()});
  ImGui::SameLine(0, with.px(6));
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("%s", word);
}

}  // namespace

void compare_view::add_commands(const command_home& home) {
  static constexpr command_row<acts_on<compare_view>> rows[] = {
      {.id = "compare.swap",
       .title = "Swap compared sides",
       .group = "Compare",
       .run = [](auto& at, auto&) { at.self.picker_.swap(); },
       .enabled = [](auto& at) { return at.self.shown_ != nullptr; }},
      {.id = "compare.align",
       .run =
           [](auto& at, auto& with) {
             const auto* by = std::get_if<std::string>(&with);
             if (by != nullptr) at.self.align_ = *by == "step" ? alignment::step : alignment::time;
           }},
      {.id = "compare.tab",
       .run =
           [](auto& at, auto& with) {
             if (const auto* title = std::get_if<std::string>(&with)) at.self.tab_ = *title;
           }},
      {.id = "compare.go",
       .run =
           [](auto& at, auto& with) {
             const auto* wanted = std::get_if<selection>(&with);
             if (wanted == nullptr || at.state.find(wanted->document) == nullptr) return;
             at.state.activate(wanted->document);
             if (wanted->kind != selection_kind::none) at.commands.invoke("selection.set", *wanted);
           },
       .enabled = when_ready}};
  picker_.add_commands(home);
  home.commands.add(rows, acts_on<compare_view>{home, *this});
}

void compare_view::follow(const view_context& with) {
  picker_.follow(with);
  growth_.follow(with);
}

void compare_view::draw(view_context& with) {
  picker_.choose_defaults(with);
  draw_controls(with);
  const std::optional<open_side> before = picker_.before(with);
  const std::optional<open_side> after = picker_.after(with);
  waiting_ = false;
  if (!before || !after || same_side(*before, *after)) {
    shown_ = nullptr;
    return draw_missing(with, before.has_value(), after.has_value());
  }
  if (!ask(with, *before, *after)) return;
  draw_change(with, *before, *after);
  draw_result(with, *before, *after);
}

void compare_view::draw_change(const view_context& with, const open_side& before, const open_side& after) {
  std::array<std::shared_ptr<const metrics::report>, 2> reports;
  for (std::size_t i = 0; i < 2; ++i) {
    const open_side& side = i == 0 ? before : after;
    if (side.range != side.recording->span || side.device || side.process != trace::process_id::none) return;
    const auto result = report_queries_[i].ask(*side.recording->engine, {});
    if (!result.complete) {
      waiting_ = waiting_ || !result.failure;
      return;
    }
    reports[i] = result.value;
  }
  if (reports[0] == nullptr || reports[1] == nullptr) return;
  if (reports != reports_) change_ = metrics::compare_runs(*reports[0], *reports[1]).headline;
  reports_ = std::move(reports);
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(change_.c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopFont();
}

void compare_view::draw_controls(const view_context& with) {
  const float width = std::min(with.px(side_combo_width), ImGui::GetContentRegionAvail().x - with.px(76));
  side_name(with, 0, "before");
  ImGui::SameLine(0, with.px(6));
  ImGui::SetNextItemWidth(width);
  picker_.draw_before_combo(with);
  place_control(width + with.px(60));
  side_name(with, 1, "after");
  ImGui::SameLine(0, with.px(6));
  ImGui::SetNextItemWidth(width);
  picker_.draw_after_combo(with);
  place_control(with.px(50));
  command_button(with, "compare.swap", "Swap");
  if (shown_ == nullptr) return;
  draw_memory_combo(with);
  const bool steps =
      sides_[0] != nullptr && sides_[1] != nullptr && sides_[0]->steps.size() > 1 && sides_[1]->steps.size() > 1;
  if (!steps) return;
  place_control(with.px(130));
  ImGui::SetNextItemWidth(with.px(130));
  if (!ImGui::BeginCombo("##align", align_ == alignment::time ? "align by time" : "align by step")) return;
  if (ImGui::Selectable("align by time", align_ == alignment::time)) align_ = alignment::time;
  if (ImGui::Selectable("align by step", align_ == alignment::step)) align_ = alignment::step;
  ImGui::EndCombo();
}

void compare_view::draw_missing(const view_context& with, bool before, bool after) const {
  const bool ranges = picker_.follows_selected_range();
  if (before && after) {
    empty_state(
        with, icon::chart, "Both sides are the same",
        ranges ? "Now select another range on the timeline." : "Choose another recording, range, rank or GPU above.");
  } else if (ranges && before) {
    empty_state(with, icon::chart, "Nothing to compare with", "Now select another range on the timeline.");
  } else {
    empty_state(with, icon::chart, "Nothing to compare with",
                "Open another recording, or select a range and choose \"Compare with this range\".");
  }
  ImGui::Dummy({0, with.px(4)});
  const float width = ImGui::CalcTextSize("Open another recording...").x + with.px(50);
  ImGui::SetCursorPosX(std::max(0.0F, (ImGui::GetWindowWidth() - width) * 0.5F));
  command_button(with, "compare.with", "Open another recording...");
}

bool compare_view::ask(const view_context& with, const open_side& before, const open_side& after) {
  const std::array<const open_side*, 2> both = {&before, &after};
  std::array<query::side_of_recording, 2> given;
  failure_.clear();
  progress_ = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto result =
        side_queries_[i].ask(*both[i]->recording->engine, {both[i]->range, both[i]->device, both[i]->process});
    progress_ += result.progress * 0.45F;
    if (result.failure) failure_ = result.failure->message;
    if (result.complete) {
      sides_[i] = result.value;
    } else {
      waiting_ = !result.failure;
    }
    given[i] = {result.complete ? result.value : nullptr, both[i]->recording->engine->snapshot()};
  }
  if (given[0].side != nullptr && given[1].side != nullptr) {
    const auto result = query_.ask(*after.recording->engine, {given[0], given[1], {match_devices(before, after)}});
    if (result.failure) failure_ = result.failure->message;
    waiting_ = !result.complete && !result.failure;
    if (result) shown_ = result.value;
  }
  progress_line(with, !waiting_, std::max(0.1F, progress_));
  if (!failure_.empty()) {
    empty_state(with, icon::warning, "The two sides cannot be compared", failure_);
    return false;
  }
  if (shown_ == nullptr || sides_[0] == nullptr || sides_[1] == nullptr) {
    ImGui::TextDisabled("Comparing...");
    return false;
  }
  choose_memory();
  return true;
}

/// Finds the memory that the user selected. By default, chooses the innermost layer with at least a quarter of the
/// largest peak.
void compare_view::choose_memory() {
  const auto peak = [](const metrics::memory_difference& each) {
    return std::max(each.before.maximum, each.after.maximum);
  };
  std::uint64_t most = 0;
  for (const metrics::memory_difference& each : shown_->memory) most = std::max(most, peak(each));
  memory_ = shown_->memory.size();
  for (std::size_t i = shown_->memory.size(); i-- > 0;)
    if (peak(shown_->memory[i]) >= most / 4) memory_ = i;
  for (std::size_t i = 0; i < shown_->memory.size(); ++i)
    if (shown_->memory[i].label == memory_label_) memory_ = i;
}

void compare_view::draw_memory_combo(const view_context& with) {
  if (memory_ >= shown_->memory.size() || shown_->memory.size() < 2) return;
  place_control(with.px(190));
  ImGui::SetNextItemWidth(with.px(190));
  if (!ImGui::BeginCombo("##memory", make_label(shown_->memory[memory_].label).c_str())) return;
  for (std::size_t i = 0; i < shown_->memory.size(); ++i) {
    const metrics::memory_difference& each = shown_->memory[i];
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::Selectable(make_label(each.label).c_str(), i == memory_)) {
      memory_label_ = each.label;
      memory_ = i;
    }
    ImGui::PopID();
  }
  ImGui::EndCombo();
}

void compare_view::draw_curves(view_context& with, const open_side& before, const open_side& after, ImVec2 size) {
  const metrics::memory_difference& memory = shown_->memory[memory_];
  std::array<aligned_side, 2> sides;
  for (std::size_t i = 0; i < 2; ++i) {
    const open_side& side = i == 0 ? before : after;
    // If a side is a whole recording, show only its active time, because a program may first import libraries for
    // seconds.
    const time_range active = sides_[i]->statistics.active;
    const time_range drawn = side.range == side.recording->span && active.length() > 0 ? active : side.range;
    sides[i] = {side.recording->engine.get(),
                drawn,
                drawn.begin,
                sides_[i].get(),
                i == 0 ? &memory.before : &memory.after,
                side.label,
                side.process};
  }
  curves_.draw(with, sides, align_, size);
}

void compare_view::draw_result(view_context& with, const open_side& before, const open_side& after) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool beside = room.x >= with.px(comparison_beside);
  const bool above = !beside && room.y > with.px(min_curves) * 3;
  const bool any = memory_ < shown_->memory.size();
  if (any && beside) {
    draw_curves(with, before, after, {room.x * 0.5F, room.y});
    ImGui::SameLine(0, with.px(16));
  } else if (any && above) {
    draw_curves(with, before, after, {room.x, room.y * 0.4F});
  }
  if (ImGui::BeginChild("tables") && ImGui::BeginTabBar("what")) {
    const auto begin_tab = [this](const char* title) {
      return ImGui::BeginTabItem(title, nullptr, tab_ == title ? ImGuiTabItemFlags_SetSelected : 0);
    };
    if (begin_tab("Growth")) {
      if (any) {
        growth_.draw(with, shown_->memory[memory_], before, after, tables_);
      } else {
        ImGui::TextDisabled("Neither side allocates memory.");
      }
      ImGui::EndTabItem();
    }
    if (begin_tab("Metrics")) {
      draw_metric_table(with, shown_->values, tables_);
      ImGui::EndTabItem();
    }
    if (any && begin_tab("Flame graph")) {
      flames_.draw(with, shown_->memory[memory_].flames, shown_);
      ImGui::EndTabItem();
    }
    // In a small panel, the curves have their own tab.
    if (any && !beside && !above && begin_tab("Curves")) {
      draw_curves(with, before, after, ImGui::GetContentRegionAvail());
      ImGui::EndTabItem();
    }
    tab_.clear();
    ImGui::EndTabBar();
  }
  ImGui::EndChild();
}

std::unique_ptr<view> make_compare_view() { return std::make_unique<compare_view>(); }

}  // namespace sluice::gui
