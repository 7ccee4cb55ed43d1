#include <algorithm>
#include <array>
#include <set>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/window/format.hpp"
#include "core/metrics/base/code_place.hpp"

namespace sluice::gui {
namespace {

constexpr panel_info out_of_memory_panel{
    .title = "Out of memory", .place = panel_place::right, .shown_at_first = false};

/// Shows the first allocation that failed because memory ran out: how much memory was available, what occupied it, and
/// changes with which the allocation would have succeeded. A recording with such a failure opens at that moment, with
/// this panel in front.
class out_of_memory_view final : public view {
 public:
  out_of_memory_view() : view(out_of_memory_panel) {}
  [[nodiscard]] panel_status status() const override {
    return {.wants_front = failed_at_.has_value(), .busy = asking_};
  }

  void reset() override {
    query_ = {};
    failed_at_.reset();
  }

  void add_commands(const command_home& home) override {
    static constexpr command_row<acts_on<out_of_memory_view>> rows[] = {
        {.id = "failure.show",
         .title = "Out of memory",
         .group = "Memory",
         .run = [](auto& at, auto&) { at.self.show_failure(at.commands); },
         .enabled = [](auto& at) { return at.state.ready() && at.self.failed_at_.has_value(); }}};
    home.commands.add(rows, acts_on<out_of_memory_view>{home, *this});
  }

  void follow(const view_context& with) override {
    const document* const shown = with.state.active();
    asking_ = false;
    if (shown == nullptr || !shown->ready() || shown->live) return;
    const auto result = query_.ask(*shown->engine, {});
    asking_ = !result && !result.failure;
    if (!result || !result.complete) return;
    const metrics::report& whole_report = *result.value;
    failed_at_.reset();
    if (whole_report.out_of_memory.empty()) return;
    failed_at_ = failure{shown->id, whole_report.out_of_memory.front().metrics.event, get_moment(whole_report),
                         range_before(whole_report)};
    // Only once, because the user may go elsewhere afterwards.
    if (opened_.insert(shown->id).second && with.state.selected().kind == selection_kind::none)
      with.commands.invoke("failure.show");
  }

  void draw(view_context& with) override {
    const auto result = query_.ask(*with.state.active()->engine, {});
    progress_line(with, result.complete, result.progress);
    if (!result) return;
    if (result.value->out_of_memory.empty())
      return empty_state(with, icon::info, "No allocation failed",
                         "No allocation in this recording failed for lack of memory.");
    draw_failure(with, *result.value, result.value->out_of_memory.front());
  }

 private:
  struct failure {
    document_id document{};
    trace::event_id event{};
    time_ns time = 0;
    time_range range;
  };

  static time_ns get_moment(const metrics::report& whole_report) {
    return whole_report.out_of_memory.front().metrics.time;
  }

  /// The range from the previous step to the failure; without steps, from a tenth of the active time before the
  /// failure. Adds a tenth of the range.
  static time_range range_before(const metrics::report& whole_report) {
    const metrics::out_of_memory& memory = whole_report.out_of_memory.front().metrics;
    time_ns length = std::max<time_ns>(whole_report.whole.active.length() / 10, 1000);
    if (memory.compared != trace::unknown_time) length = std::max<time_ns>(memory.time - memory.compared, 1000);
    return {memory.time - length, memory.time + length / 10 + 1};
  }

  void show_failure(const command_registry& commands) {
    commands.invoke("selection.set", selection{failed_at_->document, selection_kind::event, raw(failed_at_->event)});
    commands.invoke("moment.set", time_range{failed_at_->time, failed_at_->time});
    commands.invoke("timeline.go_to", failed_at_->range);
    commands.invoke(std::string("panel.focus.") + name());  // Last, because the selection brings Details to the front.
  }

  void draw_failure(const view_context& with, const metrics::report& whole_report,
                    const metrics::out_of_memory_report& report) {
    heading(with, "Out of memory at " + format_moment(report.metrics.time) + ": short by " + report.short_by);
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted((report.shortage + ".").c_str());
    ImGui::PopTextWrapPos();
    table_of<std::pair<std::string, std::string>> facts("Out of memory", report.facts);
    facts.text("property", "what", [](const auto& each) { return each.first; });
    facts.text("value", "value", [](const auto& each) { return each.second; });
    facts.leads_to([&](const auto&) { return row_target{.shows = make_event_selection(with, report.metrics.event)}; });
    for (std::size_t row = 0; row < report.facts.size(); ++row) {
      const auto& [label, said] = report.facts[row];
      ImGui::PushID(static_cast<int>(row));
      const ImVec2 begin = ImGui::GetCursorPos();
      const float room = std::max(1.0F, ImGui::GetContentRegionAvail().x - with.px(90));
      tables_.item(with, facts, row, {0, ImGui::CalcTextSize(said.c_str(), nullptr, false, room).y});
      ImGui::SetCursorPos(begin);
      field(with, label, said, with.px(90));
      ImGui::PopID();
    }
    if (link(with, "Show this moment")) with.commands.invoke("failure.show");
    ImGui::SameLine();
    if (link(with, "Show memory map")) {
      with.commands.invoke("moment.set", time_range{report.metrics.time, report.metrics.time});
      with.commands.invoke("map.open");
    }
    draw_changes(with, report);
    draw_list(with, report, "Memory at the failure, by category", report.categories, by::category);
    draw_list(with, report, "Memory at the failure, by line", report.lines, by::line);
    draw_list(with, report, "Memory at the failure, by module", report.modules, by::module);
    draw_list(with, report, "No longer used", report.unused, by::line);
    draw_list(with, report, "Growth since the same moment in the previous step", report.grown, by::line);
    draw_list(with, report, "Live blocks that pin partly free segments", report.pins, by::line);
    const std::size_t more = whole_report.failures.size() - 1;
    if (more > 0) ImGui::TextDisabled("%s also failed.", format_some(more, "allocation").c_str());
  }

  static void draw_changes(const view_context& with, const metrics::out_of_memory_report& report) {
    heading(with, "Changes with which the allocation would have fit");
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(report.verdict.c_str());
    int number = 0;
    for (const metrics::oom_change& each : report.changes) {
      ImGui::PushID(number++);
      ImGui::Bullet();
      ImGui::BeginGroup();
      ImGui::TextUnformatted(each.text.c_str());
      ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
      ImGui::TextUnformatted(each.advice.c_str());
      ImGui::TextUnformatted(each.checked_by == metrics::remedy_check::layout
                                 ? "Checked against the memory layout at that moment."
                                 : "Checked by replaying the recorded requests.");
      ImGui::PopStyleColor();
      if (each.block != trace::block_id::none && link(with, "Select the largest block")) show_block(with, each.block);
      ImGui::EndGroup();
      ImGui::PopID();
    }
    ImGui::PopTextWrapPos();
  }

  enum class by : std::uint8_t { category, line, module };

  static std::string get_words(const metrics::oom_line& line, by subject) {
    if (subject == by::category) return std::string(index::category_name(line.category));
    if (subject == by::module) return line.place.module;
    const std::string text = metrics::to_text(line.place);
    return text.empty() ? "no stack recorded" : text;
  }

  static table_of<metrics::oom_line> make_table(const view_context& with, const metrics::out_of_memory_report& report,
                                                const char* title, const metrics::oom_list& list, by subject) {
    table_of<metrics::oom_line> table(title, list.lines);
    table.bytes("bytes", "bytes",
                [](const auto& each) { return each.pinned_bytes > 0 ? each.pinned_bytes : each.bytes; });
    table.text("owner", "who", [&, subject](const auto& each) {
      std::string text = get_words(each, subject) + ", " + format_some(each.blocks, "block");
      if (each.pinned_bytes > 0) text += " of " + format_bytes(each.bytes);
      if (&list == &report.unused)
        text += each.last_use == trace::unknown_time
                    ? ", never used"
                    : ", last used " + format_time(report.metrics.time - each.last_use) + " earlier";
      return table_cell::words(text, get_words(each, subject));
    });
    table.count("", "blocks", [](const auto& each) { return each.blocks; });
    table.bytes("", "held_bytes", [](const auto& each) { return each.bytes; });
    table.moment("", "last_use_ns", [](const auto& each) {
      return each.last_use == trace::unknown_time ? std::nullopt : std::optional(each.last_use);
    });
    table.leads_to([&, subject](const auto& each) {
      row_target target;
      target.shows = select_block(with, each.largest);
      if (subject != by::category && each.place.known) target.line = each.place.line;
      blocks_filter blocks;
      blocks.layer = report.metrics.layer;
      blocks.range = time_range{report.metrics.time, report.metrics.time + 1};
      if (subject == by::category) blocks.category = each.category;
      if (subject == by::module) blocks.text = each.place.module;
      if (subject == by::line && each.place.known) blocks.text = symbols::format_place_and_name(each.place.line);
      target.blocks = blocks;
      return target;
    });
    return table;
  }

  /// Draws a list. Clicking a row selects and shows the row's largest block.
  void draw_list(const view_context& with, const metrics::out_of_memory_report& report, const char* title,
                 const metrics::oom_list& list, by subject) {
    if (list.lines.empty()) return;
    heading(with, title);
    ImGui::PushID(title);
    const auto table = make_table(with, report, title, list, subject);
    for (std::size_t row = 0; row < list.lines.size(); ++row) {
      const metrics::oom_line& each = list.lines[row];
      ImGui::PushID(static_cast<int>(row));
      const std::string amount = table.cell(row, 0).shown(), text = table.cell(row, 1).shown();
      const float left = with.px(subject == by::category ? 115 : 100);
      const ImVec2 begin = ImGui::GetCursorPos();
      const float room = std::max(1.0F, begin.x + ImGui::GetContentRegionAvail().x - left);
      if (tables_.item(with, table, row, {0, ImGui::CalcTextSize(text.c_str(), nullptr, false, room).y}))
        show_block(with, each.largest);
      ImGui::SetCursorPos(begin);
      if (subject == by::category) swatch(with, with.colours.categories[static_cast<std::size_t>(each.category)]);
      ImGui::TextDisabled("%s", amount.c_str());
      ImGui::SameLine(left);
      ImGui::PushTextWrapPos(0);
      if (link(with, text)) show_block(with, each.largest);
      ImGui::PopTextWrapPos();
      ImGui::PopID();
    }
    if (list.other_blocks > 0) {
      ImGui::TextDisabled("%s", format_bytes(list.other_bytes).c_str());
      ImGui::SameLine(with.px(100));
      ImGui::TextDisabled("others, %s", format_some(list.other_blocks, "block").c_str());
    }
    ImGui::PopID();
  }

  screen_slot<query::report_query> query_;
  std::optional<failure> failed_at_;
  std::set<document_id> opened_;  ///< Documents whose failure has already been shown.
  bool asking_ = false;
  view_tables tables_;
};

}  // namespace

std::unique_ptr<view> make_out_of_memory_view() { return std::make_unique<out_of_memory_view>(); }

}  // namespace sluice::gui
