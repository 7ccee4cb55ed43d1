// Generations of memory: memory allocated after each mark that is still live.
#include "core/query/types/generations.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
namespace {

constexpr float generations_beside = 760;  // design pixels; in narrower panels the two tables are above one another
constexpr std::size_t max_marks = kept_view::max_generations;

constexpr panel_info generations_panel{
    .title = "Generations", .scrolls = false, .shown_at_first = false, .offers_choices = true};

/// Lists the generations of the active document, and the lines of code that hold the chosen generation's memory.
class generations_view final : public view {
 public:
  generations_view() : view(generations_panel) {}
  [[nodiscard]] panel_status status() const override { return {.busy = waiting_}; }

  void reset() override {
    query_ = {};
    shown_ = nullptr;
    choice_.reset();
    chosen_ = 0;
  }

  void add_commands(const command_home& home) override {
    static constexpr command_row<acts_on<generations_view>> rows[] = {
        {.id = "generations.mark",
         .title = "Mark generation",
         .group = "Memory",
         .run =
             [](auto& at, auto& with) {
               const auto* range = std::get_if<time_range>(&with);
               at.self.mark(*at.state.active(), range != nullptr ? range->begin : get_moment(at.state));
               at.commands.invoke("panel.focus.Generations");
             },
         .enabled = when_ready},
        {.id = "generations.clear",
         .title = "Remove all generation marks",
         .group = "Memory",
         .run = [](auto& at, auto&) { at.self.marks_.erase(at.state.active()->id); },
         .enabled = [](auto& at) { return at.state.ready() && at.self.marks_.contains(at.state.active()->id); }}};
    home.commands.add(rows, acts_on<generations_view>{home, *this});
  }

  void keep(document_id id, kept_view& into) const override {
    if (const auto found = marks_.find(id); found != marks_.end()) into.generations = found->second;
  }
  void restore(const view_context& with, const kept_view& source) override {
    if (!source.generations.empty()) marks_[with.state.active()->id] = source.generations;
  }

  void draw(view_context& with) override {
    const document& subject = *with.state.active();
    waiting_ = false;
    const auto found = marks_.find(subject.id);
    if (found == marks_.end() || found->second.empty()) {
      shown_ = nullptr;
      empty_state(with, icon::chart, "No generation marks",
                  "Choose a moment, for example between two steps, and mark a generation there: this panel then lists "
                  "the memory allocated after the mark that is still live.");
      ImGui::Dummy({0, with.px(4)});
      const float width = ImGui::CalcTextSize("Mark generation").x + with.px(24);
      ImGui::SetCursorPosX(std::max(0.0F, (ImGui::GetWindowWidth() - width) * 0.5F));
      command_button(with, "generations.mark");
      return;
    }
    const auto result = query_.ask(*subject.engine, query(with, subject, found->second));
    waiting_ = !result.complete && !result.failure;
    progress_line(with, !waiting_, result.progress);
    if (result) shown_ = result.value;
    draw_controls(with);
    if (result.failure) return empty_state(with, icon::warning, "Not in this recording", result.failure->message);
    if (shown_ != nullptr) draw_tables(with, found->second);
  }

 private:
  /// The moment to show: the chosen one; otherwise the start of the selected range; otherwise the end of a growing
  /// recording, or the start of the visible range.
  static time_ns get_moment(const documents& state) {
    const document& subject = *state.active();
    if (state.moment()) return *state.moment();
    if (state.range()) return state.range()->begin;
    return subject.live ? subject.span.end : std::max(subject.span.begin, subject.visible.begin);
  }

  void mark(const document& subject, time_ns time) {
    std::vector<time_ns>& marks = marks_[subject.id];
    if (marks.size() >= max_marks) return;
    const auto place = std::lower_bound(marks.begin(), marks.end(), time);
    if (place != marks.end() && *place == time) return;
    chosen_ = static_cast<std::size_t>(place - marks.begin()) + 1;
    marks.insert(place, time);
  }

  [[nodiscard]] query::generations_query query(const view_context& with, const document& subject,
                                               const std::vector<time_ns>& marks) const {
    query::generations_query wanted;
    wanted.marks = marks;
    wanted.at = at_moment_ && with.state.moment() ? *with.state.moment() : subject.span.end;
    if (choice_) {
      wanted.layer = choice_->layer;
      wanted.device = choice_->device;
      wanted.kind = choice_->kind;
    }
    wanted.by = by_;
    return wanted;
  }

  void draw_controls(const view_context& with) {
    command_button(with, "generations.mark");
    place_control(with.px(200));
    ImGui::SetNextItemWidth(with.px(200));
    const char* ends[] = {"live at the end", "live at the chosen moment"};
    if (ImGui::BeginCombo("##at", ends[at_moment_ ? 1 : 0])) {
      if (ImGui::Selectable(ends[0], !at_moment_)) at_moment_ = false;
      if (ImGui::Selectable(ends[1], at_moment_)) at_moment_ = true;
      ImGui::EndCombo();
    }
    if (shown_ != nullptr && shown_->choices.size() > 1) draw_memory_combo(with);
    place_control(with.px(190));
    ImGui::SetNextItemWidth(with.px(190));
    if (ImGui::BeginCombo("##by", (std::string("Group by: ") + gui::get_title(by_)).c_str())) {
      for (std::size_t i = 0; i < symbols::attribution_count; ++i) {
        const auto by = static_cast<symbols::attribution>(i);
        if (ImGui::Selectable(gui::get_title(by), by == by_)) by_ = by;
      }
      ImGui::EndCombo();
    }
    if (at_moment_ && !with.state.moment()) {
      place_control(with.px(220));
      ImGui::AlignTextToFramePadding();
      ImGui::TextDisabled("no moment chosen: using the end");
    }
  }

  void draw_memory_combo(const view_context& with) {
    place_control(with.px(190));
    ImGui::SetNextItemWidth(with.px(190));
    const std::string label = shown_->choice ? shown_->choices[*shown_->choice].label : std::string("memory");
    if (!ImGui::BeginCombo("##memory", make_label(label).c_str(), ImGuiComboFlags_HeightLarge)) return;
    for (const query::memory_choice& each : shown_->choices)
      if (ImGui::Selectable((make_label(each.label) + "##choice").c_str(), each.label == label)) choice_ = each;
    ImGui::EndCombo();
  }

  void draw_tables(const view_context& with, const std::vector<time_ns>& marks) {
    // After a new mark, the result may still belong to the previous marks.
    const std::size_t chosen = std::min(chosen_, shown_->generations.size() - 1);
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const bool beside = room.x >= with.px(generations_beside);
    const ImVec2 first = beside ? ImVec2(room.x * 0.45F, 0) : ImVec2(0, room.y * 0.45F);
    if (ImGui::BeginChild("generations", first)) draw_generations(with, marks);
    ImGui::EndChild();
    if (beside) ImGui::SameLine(0, with.px(16));
    if (ImGui::BeginChild("groups")) draw_groups(with, shown_->generations[chosen]);
    ImGui::EndChild();
  }

  static std::string get_words(const query::generation& each, std::size_t number, std::size_t count) {
    if (number == 0) return "before the first mark, at " + format_moment(each.end);
    std::string words = std::to_string(number) + ": from " + format_moment(each.begin);
    if (number + 1 < count) words += " to " + format_moment(each.end);
    return words;
  }

  void draw_generations(const view_context& with, const std::vector<time_ns>& marks) {
    time_ns removed = trace::unknown_time;
    table_of<query::generation> table("Generations", shown_->generations);
    const auto words = [&](const query::generation& each, std::size_t row) {
      return get_words(each, row, shown_->generations.size());
    };
    table_column& first = table.text("allocated", "generation", [&](const auto& each, std::size_t row) {
      return table_cell::words(words(each, row), std::to_string(row));
    });
    first.draw = [&](std::size_t row) {
      const float button = ImGui::CalcTextSize(icon::close).x + ImGui::GetStyle().FramePadding.x * 2 + with.px(6);
      clipped_text(words(table.row(row), row), ImGui::GetContentRegionAvail().x - button);
      if (row == 0) return true;
      ImGui::SameLine(0, with.px(6));
      if (ImGui::SmallButton(icon::close)) removed = table.row(row).begin;
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("Remove this mark.");
      return true;
    };
    table.bytes("live", "bytes", [](const auto& each) { return each.bytes; });
    table.count("blocks", "blocks", [](const auto& each) { return table_cell::count(each.blocks).in(tone::muted); });
    table.moment("", "begin_ns",
                 [](const auto& each, std::size_t row) { return row > 0 ? std::optional(each.begin) : std::nullopt; });
    table.moment("", "end_ns", [](const auto& each) { return each.end; });
    table.leads_to([](const auto& each, std::size_t row) {
      row_target target;
      if (row > 0) target.range = time_range{each.begin, std::max(each.begin, each.end)};
      return target;
    });
    table.menu = [&](std::size_t row) {
      if (ImGui::MenuItem("Remove this mark", nullptr, false, row > 0)) removed = table.row(row).begin;
    };
    table.chosen = [this](std::size_t row) { return row == chosen_; };
    table.click = [&](std::size_t row, std::size_t) {
      chosen_ = row;
      if (row > 0) with.commands.invoke("moment.set", time_range{table.row(row).begin, table.row(row).begin});
    };
    tables_.draw(with, table, {.scrolls = true});
    if (removed == trace::unknown_time) return;
    std::vector<time_ns> kept = marks;
    std::erase(kept, removed);
    marks_[with.state.active()->id] = std::move(kept);
  }

  void draw_groups(const view_context& with, const query::generation& subject) {
    if (subject.blocks == 0) return ImGui::TextDisabled("Nothing of this generation is live.");
    table_of<query::generation_group> table("Generation by line", subject.groups);
    table.text("allocated by", "asked_by", [](const auto& each) {
      return each.place.empty() || each.place == each.name ? each.name : each.name + "  " + each.place;
    });
    table.bytes("live", "bytes", [](const auto& each) { return each.bytes; });
    table.count("blocks", "blocks", [](const auto& each) { return table_cell::count(each.blocks).in(tone::muted); });
    table.leads_to([&](const auto& each) {
      row_target target;
      target.shows = select_block(with, each.largest);
      if (by_ == symbols::attribution::line && each.place.empty()) return target;  // No stack was recorded.
      target.blocks.emplace();
      target.blocks->text = each.place.empty() ? each.name : each.place + ", " + each.name;
      target.blocks->range = time_range{shown_->at, shown_->at + 1};
      return target;
    });
    table.on_click([&](const auto& each) { with.commands.invoke("selection.set", select_block(with, each.largest)); });
    table.explain([](const auto& each) {
      ImGui::Text("Click to select the largest block, %s.", format_bytes(each.largest_bytes).c_str());
    });
    const float below = subject.other_bytes > 0 ? ImGui::GetTextLineHeightWithSpacing() : 0;
    tables_.draw(with, table, {.scrolls = true, .height = -below});
    if (subject.other_bytes > 0) ImGui::TextDisabled("and %s more", format_bytes(subject.other_bytes).c_str());
  }

  screen_slot<query::generations_query> query_;
  std::shared_ptr<const query::generation_list> shown_;
  std::map<document_id, std::vector<time_ns>> marks_;  ///< Marks of each document, sorted by time.
  std::optional<query::memory_choice> choice_;
  symbols::attribution by_ = symbols::attribution::line;
  bool at_moment_ = false;
  std::size_t chosen_ = 0;
  bool waiting_ = false;
  view_tables tables_;
};

}  // namespace

std::unique_ptr<view> make_generations_view() { return std::make_unique<generations_view>(); }

}  // namespace sluice::gui
