#include "app/gui/views/compare/comparison_page.hpp"

#include <algorithm>

#include "app/gui/shell/bars/tab_layout.hpp"
#include "app/gui/views/compare/changed_rows.hpp"
#include "app/gui/views/compare/comparison_findings.hpp"
#include "app/gui/views/compare/comparison_header.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

constexpr float side_column = 340;       // design pixels
constexpr float least_with_side = 1000;  // design pixels; in narrower windows, the side column is a tab
constexpr float least_with_picture = 330;

/// Names in the tables of a recording may contain any bytes.
void make_printable(std::vector<metrics::changed_value>& rows) {
  for (metrics::changed_value& each : rows) {
    each.what = printable(each.what);
    each.where = printable(each.where);
  }
}

open_side make_side(const document& recording) { return {&recording, recording.span, std::nullopt, recording.title}; }

}  // namespace

comparison_page::comparison_page() = default;
comparison_page::~comparison_page() = default;

void comparison_page::draw(view_context& with, compared_documents which) {
  if (which != shown_) {
    shown_ = which;
    content_ = nullptr;
    memory_ = nullptr;
  }
  waiting_ = true;
  growth_.follow(with);
  const std::array<const document*, 2> sides = {find_document(with.state, which.before),
                                                find_document(with.state, which.after)};
  if (sides[0] == nullptr || sides[1] == nullptr || !sides[0]->ready() || !sides[1]->ready()) return;
  if (!ask_reports(with, sides)) return;
  draw_content(with, sides);
}

bool comparison_page::ask_reports(const view_context& with, const std::array<const document*, 2>& sides) {
  std::array<std::shared_ptr<const metrics::report>, 2> reports;
  float progress = 0;
  failure_.clear();
  for (std::size_t i = 0; i < 2; ++i) {
    const auto result = report_queries_[i].ask(*sides[i]->engine, {});
    progress += result.progress * 0.5F;
    if (result.failure) failure_ = result.failure->message;
    if (result.complete) reports[i] = result.value;
  }
  const bool known = reports[0] != nullptr && reports[1] != nullptr;
  waiting_ = !known && failure_.empty();
  if (!failure_.empty()) {
    empty_state(with, icon::warning, "The two recordings cannot be compared", failure_);
    return false;
  }
  progress_line(with, known, std::max(0.1F, progress));
  if (!known) {
    if (content_ == nullptr) empty_state(with, icon::chart, "Comparing...", "Both recordings are being read.");
    return content_ != nullptr;
  }
  if (content_ != nullptr && content_->reports == reports) return true;
  auto made = std::make_shared<content>();
  made->reports = std::move(reports);
  made->change = metrics::compare_runs(*made->reports[0], *made->reports[1]);
  const auto before = sides[0]->engine->snapshot(), after = sides[1]->engine->snapshot();
  const metrics::named_report first{*made->reports[0], before->tables()}, second{*made->reports[1], after->tables()};
  made->values = list_changed_values(first, second, made->change);
  for (auto* rows : {&made->values.main, &made->values.steps, &made->values.kernels, &made->values.copies})
    make_printable(*rows);
  made->settings = list_setting_changes(first, second);
  for (metrics::setting_change& each : made->settings) {
    each.before = printable(each.before);
    each.after = printable(each.after);
  }
  content_ = std::move(made);
  return true;
}

const metrics::memory_difference* comparison_page::ask_memory(const std::array<const document*, 2>& sides) {
  std::array<query::side_of_recording, 2> given;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto result = side_queries_[i].ask(*sides[i]->engine, {sides[i]->span});
    waiting_ = waiting_ || (!result.complete && !result.failure);
    given[i] = {result.complete ? result.value : nullptr, sides[i]->engine->snapshot()};
  }
  if (given[0].side != nullptr && given[1].side != nullptr) {
    const auto result = query_.ask(*sides[1]->engine, {given[0], given[1]});
    waiting_ = waiting_ || (!result.complete && !result.failure);
    if (result) memory_ = result.value;
  }
  if (memory_ == nullptr) return nullptr;
  // The innermost layer with at least a quarter of the largest peak.
  const auto get_peak = [](const auto& each) { return std::max(each.before.maximum, each.after.maximum); };
  std::uint64_t most = 0;
  for (const auto& each : memory_->memory) most = std::max(most, get_peak(each));
  for (const auto& each : memory_->memory)
    if (get_peak(each) > 0 && get_peak(each) >= most / 4) return &each;
  return nullptr;
}

void comparison_page::draw_content(view_context& with, const std::array<const document*, 2>& sides) {
  ImGui::SetCursorPos({with.px(14), with.px(8)});
  ImGui::BeginGroup();
  ImGui::BeginChild("header", {ImGui::GetContentRegionAvail().x - with.px(14), 0}, ImGuiChildFlags_AutoResizeY);
  draw_change(with, content_->change);
  ImGui::EndChild();
  ImGui::EndGroup();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 window = ImGui::GetWindowSize();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float left = ImGui::GetWindowPos().x;
  list.AddLineH(left, left + window.x, at.y + with.px(2), with.colours.line);
  ImGui::SetCursorPos({with.px(14), ImGui::GetCursorPosY() + with.px(10)});
  const float height = window.y - ImGui::GetCursorPosY() - with.px(4);
  const bool beside = window.x >= with.px(least_with_side);
  const float column = beside ? with.px(side_column) : 0;
  ImGui::BeginChild("left", {window.x - with.px(28) - column - (beside ? with.px(14) : 0), height});
  draw_left(with, sides, !beside);
  ImGui::EndChild();
  if (!beside) return;
  ImGui::SameLine(0, with.px(14));
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  list.AddLineV(corner.x - with.px(7), at.y + with.px(2), corner.y + height + with.px(4), with.colours.line);
  ImGui::BeginChild("right", {column, height});
  draw_side_column(with, sides);
  ImGui::EndChild();
}

void comparison_page::draw_left(view_context& with, const std::array<const document*, 2>& sides, bool findings) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (room.y >= with.px(least_with_picture)) {
    const tab_titles titles(with.state);
    picture_.draw(with,
                  {comparison_picture::side{sides[0], content_->reports[0].get(), titles.get(sides[0]->id)},
                   comparison_picture::side{sides[1], content_->reports[1].get(), titles.get(sides[1]->id)}},
                  {room.x, std::min(room.y * 0.56F, with.px(460))});
    waiting_ = waiting_ || picture_.waiting();
    ImGui::Dummy({0, with.px(2)});
  }
  draw_tabs(with, sides, findings);
}

void comparison_page::draw_tabs(view_context& with, const std::array<const document*, 2>& sides, bool findings) {
  if (!ImGui::BeginTabBar("comparison tabs", ImGuiTabBarFlags_FittingPolicyScroll)) return;
  const metrics::changed_values& values = content_->values;
  const bool by_step = content_->change.by_step;
  const std::array<table_tab, 4> tabs = {
      {{"What changed", &values.main, "Neither recording has times or memory."},
       {"Steps", &values.steps, "The recordings have no steps with the same number."},
       {"Kernels", &values.kernels, "Neither recording has kernels."},
       {"Copies", &values.copies, "Neither recording has copies."}}};
  const auto draw_table = [&](const table_tab& tab) {
    if (!ImGui::BeginTabItem(tab.title)) return;
    if (tab.rows->empty()) {
      ImGui::TextDisabled("%s", tab.nothing);
    } else {
      if (by_step && tab.rows != &values.steps) ImGui::TextDisabled("Times and copied bytes are those of a step.");
      draw_changed_rows(with, tab.title, *tab.rows, content_, tables_);
    }
    ImGui::EndTabItem();
  };
  draw_table(tabs[0]);
  if (findings && ImGui::BeginTabItem("Findings")) {
    ImGui::BeginChild("findings");
    draw_side_column(with, sides);
    ImGui::EndChild();
    ImGui::EndTabItem();
  }
  if (ImGui::BeginTabItem("Lines")) {
    draw_memory_tab(with, sides, false);
    ImGui::EndTabItem();
  }
  for (std::size_t i = 1; i < tabs.size(); ++i) draw_table(tabs[i]);
  if (ImGui::BeginTabItem("Flame graph")) {
    draw_memory_tab(with, sides, true);
    ImGui::EndTabItem();
  }
  ImGui::EndTabBar();
}

void comparison_page::draw_memory_tab(view_context& with, const std::array<const document*, 2>& sides, bool flames) {
  const metrics::memory_difference* memory = ask_memory(sides);
  if (memory == nullptr) {
    ImGui::TextDisabled(waiting_ ? "Comparing..." : "Neither recording has memory.");
    return;
  }
  ImGui::TextDisabled("Memory at the peak of each recording, %s", memory->label.c_str());
  if (flames) return flames_.draw(with, memory->flames, memory_);
  growth_.draw(with, *memory, make_side(*sides[0]), make_side(*sides[1]), tables_);
}

void comparison_page::draw_side_column(const view_context& with, const std::array<const document*, 2>& sides) {
  draw_changed_findings(with, {*content_->reports[0], sides[0]->id}, {*content_->reports[1], sides[1]->id},
                        content_->change);
  ImGui::Dummy({0, with.px(4)});
  draw_settings(with, content_->settings);
}

}  // namespace sluice::gui
