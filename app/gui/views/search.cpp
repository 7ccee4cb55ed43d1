#include <algorithm>
#include <string>

#include "app/gui/format.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

const char* kind_name(trace::row_type kind) {
  switch (kind) {
    case trace::row_type::kernel:
      return "kernel";
    case trace::row_type::api_call:
      return "API call";
    case trace::row_type::host_range:
      return "range";
    case trace::row_type::marker:
      return "marker";
    case trace::row_type::graph_definition:
      return "graph";
    case trace::row_type::file_io:
      return "file";
    case trace::row_type::alloc:
      return "allocation";
    case trace::row_type::alloc_failed:
      return "failed allocation";
    default:
      return "event";
  }
}

/// Events by a part of their name: a row for each name, which leads to its first event, and to its longest.
class search_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Search"; }
  void reset() override { question_ = {}; }

  void draw(view_context& with) override {
    ImGui::SetNextItemWidth(std::min(with.px(320), ImGui::GetContentRegionAvail().x * 0.6F));
    if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
    ImGui::InputTextWithHint("##search", "Part of a kernel's, call's or range's name", &text_);
    if (text_.empty())
      return empty_state(with, icon::search, "Find events by their names",
                         "Kernels, calls, ranges, markers, files and allocations whose names hold what you type.");
    const auto answer = question_.ask(*with.state.active()->engine, {text_});
    progress_line(with, answer.complete, answer.progress);
    if (!answer || answer->text != text_) return;
    const query::search_results& found = *answer.value;
    ImGui::SameLine();
    std::string count = format_some(found.total, "event") + " of " + format_some(found.name_count, "name");
    if (found.names.size() < found.name_count) count += ", the most frequent shown";
    ImGui::TextDisabled("%s", count.c_str());
    if (found.names.empty())
      return empty_state(with, icon::search, "No such name", "Nothing in this recording is called that.");
    draw_table(with, found);
  }

 private:
  static void draw_table(const view_context& with, const query::search_results& found) {
    const ImGuiTableFlags flags = ImGuiTableFlags_Resizable | ImGuiTableFlags_NoSavedSettings |
                                  ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_ScrollY;
    if (!ImGui::BeginTable("found", 6, flags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("Name", ImGuiTableColumnFlags_WidthStretch, 3);
    ImGui::TableSetupColumn("Kind", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableSetupColumn("Count", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableSetupColumn("Total time", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableSetupColumn("First at", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableSetupColumn("Longest", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableHeadersRow();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(found.names.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        ImGui::PushID(i);
        draw_row(with, found.names[static_cast<std::size_t>(i)]);
        ImGui::PopID();
      }
    ImGui::EndTable();
  }

  static void draw_row(const view_context& with, const query::found_name& row) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    const bool chosen =
        with.state.selected().kind == selection_kind::event && with.state.selected().id == trace::raw(row.first.event);
    const ImGuiSelectableFlags whole = ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowOverlap;
    if (ImGui::Selectable("##row", chosen, whole)) go_to(with, row.first);
    ImGui::SameLine(0, 0);
    clipped_text(with.text(row.name), ImGui::GetContentRegionAvail().x);
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(kind_name(row.kind));
    ImGui::TableNextColumn();
    right_text(format_count(row.count));
    ImGui::TableNextColumn();
    right_text(row.time > 0 ? format_time(row.time) : std::string("-"), row.time == 0);
    ImGui::TableNextColumn();
    right_text(format_moment(row.first.begin));
    ImGui::TableNextColumn();
    const query::time_ns length = row.longest.end - row.longest.begin;
    if (length > 0 && link(with, format_time(length))) go_to(with, row.longest);
  }

  static void go_to(const view_context& with, const query::found_event& event) {
    with.commands.invoke("selection.set",
                         selection{with.state.active()->id, selection_kind::event, trace::raw(event.event)});
    with.commands.invoke("selection.reveal");
  }

  query::slot<query::search_question> question_;
  std::string text_;
};

}  // namespace

std::unique_ptr<view> make_search_view() { return std::make_unique<search_view>(); }

}  // namespace sluice::gui
