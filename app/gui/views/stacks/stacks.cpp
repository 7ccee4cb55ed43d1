#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/row_menu.hpp"
#include "app/gui/views/stacks/flames.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "imgui_internal.h"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

using metrics::stack_metrics;
using metrics::stack_weight;
using query::stack_measure;
using symbols::frame_line;

constexpr float row_height = 20;             // design pixels
constexpr time_ns across_width = 1'000'000;  // total width in units of the renderer, which was designed for times

struct measure_choice {
  stack_measure measure;
  const char* title;
};
constexpr std::array<measure_choice, 5> measures = {{{stack_measure::peak, "memory at peak"},
                                                     {stack_measure::live, "memory at the cursor"},
                                                     {stack_measure::allocated, "allocated"},
                                                     {stack_measure::transferred, "copied"},
                                                     {stack_measure::host, "host time"}}};
struct weight_choice {
  stack_weight weight;
  const char* title;
  bool is_time;  ///< Copies and samples have times, blocks have none.
};
constexpr std::array<weight_choice, 4> weights = {{{stack_weight::bytes, "by bytes", false},
                                                   {stack_weight::count, "by count", false},
                                                   {stack_weight::busy, "by duration", true},
                                                   {stack_weight::alone, "by time waited", true}}};

bool contains(std::string_view text, std::string_view wanted) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return std::search(text.begin(), text.end(), wanted.begin(), wanted.end(), same) != text.end();
}

/// Shows a flame graph of the call stacks that hold, allocate or copy memory, or in which host threads spend time.
class stacks_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Stacks"; }
  [[nodiscard]] bool scrolls() const override { return false; }
  void reset() override {
    query_ = {};
    report_ = {};
    automatic_ = {};
    shown_ = nullptr;
    batch_ = {};
    choice_.reset();
    zoom_ = 0;
  }

  void draw(view_context& with) override {
    const document& document_shown = *with.state.active();
    if (with.hovered_time) cursor_ = with.hovered_time;
    follow_selection(with);
    draw_controls(with);
    const auto result = query_.ask(*document_shown.engine, query(with, document_shown));
    progress_line(with, result.complete, result.progress);
    if (!result) return;
    if (draw_empty_state(with, *result.value)) return;
    if (result.value != shown_) matches_.clear();
    const bool changed = result.value != shown_;
    shown_ = result.value;
    draw_path(with);
    draw_chart(with, changed);
  }

 private:
  [[nodiscard]] query::stacks_query query(const view_context& with, const document& subject) const {
    query::stacks_query wanted;
    wanted.range = with.state.range().value_or(subject.span);
    wanted.measure = measure_;
    if (measure_ == stack_measure::live) wanted.at = cursor_.value_or(subject.span.end);
    if (choice_) {
      wanted.layer = choice_->layer;
      wanted.device = choice_->device;
      wanted.kind = choice_->kind;
    }
    wanted.weight = weight();
    wanted.order = inverted_ ? metrics::stack_order::from_callee : metrics::stack_order::from_caller;
    wanted.fold = !libraries_;
    wanted.grouping = {grouped_, by_ ? by_ : automatic_.by};
    if (!is_of_memory()) wanted.layer.reset(), wanted.device.reset(), wanted.kind.reset();
    return wanted;
  }

  [[nodiscard]] bool is_of_memory() const {
    return measure_ != stack_measure::transferred && measure_ != stack_measure::host;
  }
  [[nodiscard]] bool is_offered(const weight_choice& choice) const {
    if (choice.weight == stack_weight::bytes) return measure_ != stack_measure::host;
    return !choice.is_time || !is_of_memory();
  }
  /// The chosen weight or, if the measure does not have it, the first that it has.
  [[nodiscard]] stack_weight weight() const {
    const auto chosen =
        std::find_if(weights.begin(), weights.end(), [&](auto& each) { return each.weight == weight_; });
    if (is_offered(*chosen)) return weight_;
    return measure_ == stack_measure::host ? stack_weight::busy : stack_weight::bytes;
  }
  /// What the tree counts.
  [[nodiscard]] const char* noun() const {
    return measure_ == stack_measure::transferred ? "transfer" : measure_ == stack_measure::host ? "sample" : "block";
  }

  /// Zooms to the selected frame. The window's selection stores the zoomed frame, so that going back zooms out.
  void follow_selection(const view_context& with) {
    const selection& chosen = with.state.selected();
    if (chosen.kind == selection_kind::frame) zoom_ = chosen.id;
    if (chosen.kind == selection_kind::none) zoom_ = 0;
  }

  static void zoom_to(const view_context& with, std::uint64_t id) {
    with.commands.invoke("selection.set", id == 0 ? selection{with.state.active()->id, selection_kind::none, 0}
                                                  : selection{with.state.active()->id, selection_kind::frame, id});
  }

  // --- controls -----------------------------------------------------------------------------------------------------

  /// Draws the controls above the chart.
  void draw_controls(const view_context& with) {
    const auto selected = [](const auto& whole, auto&& current) {
      return std::find_if(whole.begin(), whole.end(), current)->title;
    };
    ImGui::SetNextItemWidth(with.px(142));
    if (ImGui::BeginCombo("##measure", selected(measures, [&](auto& m) { return m.measure == measure_; }))) {
      for (const auto& each : measures)
        if (ImGui::Selectable(each.title, each.measure == measure_)) measure_ = each.measure;
      ImGui::EndCombo();
    }
    if (is_of_memory()) draw_memory_choice(with);
    place_control(with.px(118));
    ImGui::SetNextItemWidth(with.px(118));
    if (ImGui::BeginCombo("##weight", selected(weights, [&](auto& w) { return w.weight == weight(); }))) {
      for (const auto& each : weights)
        if (is_offered(each))
          if (ImGui::Selectable(each.title, each.weight == weight())) weight_ = each.weight;
      ImGui::EndCombo();
    }
    place_control(with.px(84), with.px(between_choices));
    check_box(with, "libraries", &libraries_);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
      ImGui::SetTooltip("Show library frames. Otherwise, only the innermost frame of a stack may be a library frame.");
    place_control(with.px(84), with.px(between_choices));
    check_box(with, "grouped", &grouped_);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
      ImGui::SetTooltip("Group by allocation site first; the stacks follow below.");
    if (grouped_) {
      place_control(with.px(190));
      ImGui::SetNextItemWidth(with.px(190));
      automatic_ = choose_grouping(with, report_.ask(*with.state.active()->engine, {}));
      attribution_combo(with, "##by", by_, automatic_);
    }
    place_control(with.px(84), with.px(between_choices));
    check_box(with, "inverted", &inverted_);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
      ImGui::SetTooltip("Start with the allocating functions, with their callers below.");
    place_control(with.px(150), with.px(between_choices));
    ImGui::SetNextItemWidth(std::min(with.px(180), ImGui::GetContentRegionAvail().x));
    if (ImGui::InputTextWithHint("##search", "Function or file", &search_)) matches_.clear();
    if (!search_.empty() && shown_ != nullptr) {
      const std::string found = "found in " + format_share(compute_share(*shown_, matches(), weight()));
      place_control(ImGui::CalcTextSize(found.c_str()).x);
      ImGui::AlignTextToFramePadding();
      ImGui::TextDisabled("%s", found.c_str());
    }
  }

  void draw_memory_choice(const view_context& with) {
    place_control(with.px(170));
    ImGui::SetNextItemWidth(with.px(190));
    std::string label = "memory";
    if (shown_ != nullptr && shown_->choice) label = shown_->choices[*shown_->choice].label;
    if (!ImGui::BeginCombo("##memory", gui::make_label(label).c_str(), ImGuiComboFlags_HeightLarge)) return;
    for (const query::memory_choice& each : shown_ != nullptr ? shown_->choices : std::vector<query::memory_choice>{}) {
      const std::string peak = format_bytes(each.peak);
      if (ImGui::Selectable((gui::make_label(each.label) + "##choice").c_str(), each.label == label,
                            each.has_stacks ? 0 : ImGuiSelectableFlags_None))
        choice_ = each;
      ImGui::SameLine(with.px(210));
      ImGui::TextDisabled("%s%s", peak.c_str(), each.has_stacks ? "" : ", no stacks");
    }
    ImGui::EndCombo();
  }

  bool draw_empty_state(const view_context& with, const query::stack_view& found) const {
    const stack_metrics& whole = found.tree.nodes.front().all;
    if (!found.recorded)
      empty_state(with, icon::search, "This recording has no call stacks",
                  "Record with call stacks (File, Record a program) to see which lines hold the memory.");
    else if (whole.count == 0 && measure_ == stack_measure::host)
      empty_state(with, icon::search, "No samples of host threads",
                  with.state.range() ? "None in the selected range." : "The recording was made without sampling.");
    else if (whole.count == 0)
      empty_state(with, icon::search, measure_ == stack_measure::transferred ? "Nothing was copied" : "No memory here",
                  with.state.range() ? "Nothing in the selected range." : "Nothing of this kind in the recording.");
    else if (found.without.count == whole.count)
      empty_state(with, icon::search, "No call stacks here",
                  measure_ == stack_measure::host ? "The threads were sampled without stacks."
                  : measure_ == stack_measure::transferred
                      ? "The calls that issued these copies were recorded without stacks."
                      : "These blocks were recorded without stacks. Choose other memory above.");
    else if (weight() == stack_weight::alone && !found.kernels_known)
      empty_state(with, icon::search, "Kernels were not recorded",
                  measure_ == stack_measure::host
                      ? "Without them, it is not known when the GPU was idle."
                      : "Record with \"Timeline\" (File, Record a program) to see which copies the device waited for.");
    else if (get_weight(whole, weight()) == 0 && measure_ == stack_measure::host)
      empty_state(with, icon::search, "The GPU was never idle", "It worked during every sample.");
    else if (get_weight(whole, weight()) == 0)
      empty_state(with, icon::search, "The device never waited for a copy", "A kernel ran during every copy.");
    else
      return false;
    return true;
  }

  // --- the path to the zoomed frame ---------------------------------------------------------------------------------

  [[nodiscard]] std::string metric(const stack_metrics& subject) const {
    switch (weight()) {
      case stack_weight::bytes:
        return format_bytes(subject.bytes);
      case stack_weight::count:
        return format_some(subject.count, noun());
      case stack_weight::busy:
        return format_time(subject.busy);
      case stack_weight::alone:
        return format_time(subject.alone);
    }
    return {};
  }

  [[nodiscard]] std::string total() const {
    const stack_metrics& whole = shown_->tree.nodes.front().all;
    std::string text = metric(whole);
    if (measure_ == stack_measure::peak || measure_ == stack_measure::live)
      text += " at " + format_moment(shown_->time);
    if (weight() != stack_weight::count) text += " in " + format_some(whole.count, noun());
    return text;
  }

  void draw_path(const view_context& with) {
    zoomed_ = find_node(*shown_, zoom_);
    const auto& nodes = shown_->tree.nodes;
    std::vector<std::uint32_t> path;
    for (std::uint32_t at = zoomed_; at != 0; at = nodes[at].parent) path.insert(path.begin(), at);
    if (path.empty()) {
      ImGui::TextDisabled("%s", total().c_str());
    } else {
      if (link(with, total())) zoom_to(with, 0);
      // If the path does not fit, omit its middle: the frame itself and its nearest callers matter most.
      const float arrow = ImGui::CalcTextSize(icon::fold).x + with.px(12);
      const auto width = [&](std::uint32_t node) {
        return ImGui::CalcTextSize(get_short_name(node).c_str()).x + arrow;
      };
      float room = ImGui::GetContentRegionAvail().x - ImGui::GetItemRectSize().x - with.px(70);
      std::size_t first = path.size();
      while (first > 0 && (room -= width(path[first - 1])) > 0) --first;
      first = std::min(first, path.size() - 1);
      for (std::size_t i = first; i < path.size(); ++i) {
        ImGui::SameLine(0, with.px(6));
        ImGui::TextDisabled(i == first && first > 0 ? "%s ... %s" : "%s", icon::fold, icon::fold);
        ImGui::SameLine(0, with.px(6));
        ImGui::PushID(static_cast<int>(i));
        if (i + 1 == path.size()) {
          ImGui::TextUnformatted(get_short_name(path[i]).c_str());
        } else if (link(with, get_short_name(path[i]))) {
          zoom_to(with, shown_->ids[path[i]]);
        }
        ImGui::PopID();
      }
    }
    draw_legend(with);
  }

  [[nodiscard]] std::string get_short_name(std::uint32_t node) const {
    return short_name(shown_->lines[shown_->tree.nodes[node].line]);
  }

  void draw_legend(const view_context& with) const {
    struct entry {
      ImU32 colour;
      const char* label;
      bool hatched;
    };
    const std::array<entry, 4> entries = {{{own_python(with), "own Python", false},
                                           {own_native(with), "own native", false},
                                           {library(with), "libraries", false},
                                           {with.colours.untracked, "unknown", true}}};
    float width = 0;
    for (const entry& each : entries) width += ImGui::CalcTextSize(each.label).x + with.px(15 + 14);
    ImGui::SameLine(0, with.px(16));
    const float room = ImGui::GetContentRegionAvail().x;
    if (room < width) return ImGui::NewLine();
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room - width);
    for (const entry& each : entries) {
      swatch(with, each.colour, each.hatched);
      ImGui::TextDisabled("%s", each.label);
      if (&each != &entries.back()) ImGui::SameLine(0, with.px(14));
    }
  }

  // --- the chart ----------------------------------------------------------------------------------------------------

  static bool is_unknown(const frame_line& line) {
    return line.kind == trace::frame_kind::unknown || line.function.empty();
  }
  static ImU32 own_python(const view_context& with) { return with.colours.slice(query::slice_kind::kernel); }
  static ImU32 own_native(const view_context& with) { return with.colours.slice(query::slice_kind::range); }
  static ImU32 library(const view_context& with) { return with.colours.slice(query::slice_kind::api_call); }

  const std::vector<bool>& matches() {
    if (matches_.size() == shown_->lines.size()) return matches_;
    matches_.assign(shown_->lines.size(), search_.empty());
    for (std::size_t i = 0; i < matches_.size() && !search_.empty(); ++i)
      matches_[i] = contains(symbols::to_text(shown_->lines[i]), search_);
    return matches_;
  }

  [[nodiscard]] draw::box make_box(const view_context& with, const flame& each, std::uint32_t rows, float gap) {
    draw::box box;
    box.begin = static_cast<float>(each.begin * static_cast<double>(across_width));
    box.end = static_cast<float>(each.end * static_cast<double>(across_width));
    box.low = static_cast<float>(rows - each.row - 1) + gap;
    box.high = static_cast<float>(rows - each.row);
    box.style = draw::gap_after;
    const std::uint32_t place = shown_->tree.nodes[each.node].line;
    const frame_line& line = shown_->lines[place];
    const ImU32 colour = line.kind == trace::frame_kind::unknown  ? with.colours.untracked
                         : !line.own                              ? library(with)
                         : line.kind == trace::frame_kind::python ? own_python(with)
                                                                  : own_native(with);
    box.colour = with.colours.shade(colour, std::hash<std::string>()(line.function));
    if (is_unknown(line)) box.style |= draw::hatched;
    if (!matches()[place]) box.style |= draw::dimmed;
    return box;
  }

  void upload(const view_context& with, float width) {
    flames_ = lay_out_below_root(shown_->tree, zoomed_, weight(), static_cast<double>(width));
    rows_ = get_rows(flames_);
    std::vector<draw::box> boxes;
    boxes.reserve(flames_.size());
    for (const flame& each : flames_) boxes.push_back(make_box(with, each, rows_, 1 / with.px(row_height)));
    batch_.assign(0, boxes);
  }

  void draw_chart(view_context& with, bool changed) {
    const float bar = ImGui::GetStyle().ScrollbarSize;
    ImGui::BeginChild("chart", {0, 0}, ImGuiChildFlags_None);
    const float width = std::max(1.0F, ImGui::GetWindowWidth() - bar);
    const drawn_state now{zoomed_, weight(), width, with.scale, with.colours.kind, search_};
    if (changed || !(now == drawn_)) {
      if (now.zoom != drawn_.zoom) ImGui::SetScrollY(0);
      drawn_ = now;
      upload(with, width);
    }
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float line = with.px(row_height);
    const draw::rectangle area{origin, {origin.x + width, origin.y + line * static_cast<float>(rows_)}};
    ImGui::InvisibleButton("flames", {width, std::max(1.0F, area.height())});
    const bool hovered = ImGui::IsItemHovered();
    const bool clicked = ImGui::IsItemClicked(ImGuiMouseButton_Left);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    with.boxes.add(list, batch_, area, {0, across_width}, static_cast<float>(rows_), with.colours.background);
    draw_labels(with, area, list);
    if (hovered) hover(with, area, list, clicked);
    menu_.draw_opened(with);
    ImGui::EndChild();
  }

  static draw::rectangle get_place(const view_context& with, const draw::rectangle& area, const flame& each) {
    const float line = with.px(row_height);
    const auto x = [&](double share) {
      return std::floor(area.min.x + static_cast<float>(share * static_cast<double>(area.width())) + 0.5F);
    };
    const float top = area.min.y + line * static_cast<float>(each.row);
    return {{x(each.begin), top}, {std::max(x(each.end), x(each.begin) + 1), top + line - 1}};
  }

  void draw_labels(const view_context& with, const draw::rectangle& area, ImDrawList& list) {
    const ImVec2 top = ImGui::GetWindowPos();
    const float bottom = top.y + ImGui::GetWindowHeight();
    ImGui::PushFont(nullptr, box_text);
    const float line = ImGui::GetTextLineHeight();
    for (const flame& each : flames_) {
      const draw::rectangle box = get_place(with, area, each);
      if (box.max.y < top.y || box.min.y > bottom) continue;
      const float left = box.min.x + with.px(5);
      const float right = box.max.x - with.px(4);
      if (right - left < with.px(22)) continue;
      const std::uint32_t at = shown_->tree.nodes[each.node].line;
      // Hatched and dimmed boxes let the background show through.
      const bool bright = !matches()[at] || is_unknown(shown_->lines[at]);
      const std::string label = make_label(each.node, right - left);
      const ImVec2 size = ImGui::CalcTextSize(label.c_str());
      ImGui::PushStyleColor(ImGuiCol_Text,
                            bright ? with.colours.text : with.colours.text_on(make_box(with, each, rows_, 0).colour));
      ImGui::RenderTextEllipsis(&list, {left, std::floor(box.min.y + (box.height() - line) * 0.5F)}, {right, box.max.y},
                                right, label.c_str(), label.c_str() + label.size(), &size);
      ImGui::PopStyleColor();
    }
    ImGui::PopFont();
  }

  [[nodiscard]] std::string make_label(std::uint32_t node, float room) const {
    const frame_line& line = shown_->lines[shown_->tree.nodes[node].line];
    std::string label = get_short_name(node);
    std::string more = line.file.empty() ? std::string() : "   " + symbols::get_place(line);
    more += "   " + metric(shown_->tree.nodes[node].all);
    return ImGui::CalcTextSize((label + more).c_str()).x < room ? label + more : label;
  }

  void hover(const view_context& with, const draw::rectangle& area, ImDrawList& list, bool clicked) {
    const ImVec2 mouse = ImGui::GetMousePos();
    for (const flame& each : flames_) {
      const draw::rectangle box = get_place(with, area, each);
      if (!box.contains(mouse)) continue;
      list.AddRect(box.min, box.max, with.colours.text);
      tip(with, each.node);
      if (each.node != zoomed_) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
      if (clicked && each.node != zoomed_) zoom_to(with, shown_->ids[each.node]);
      if (ImGui::IsMouseReleased(ImGuiMouseButton_Right)) open_menu(each.node);
      return;
    }
  }

  void open_menu(std::uint32_t at) {
    const metrics::stack_node& node = shown_->tree.nodes[at];
    row_target target;
    target.line = shown_->lines[node.line];
    const std::string text = symbols::to_text(*target.line) + "\t" + metric(node.all);
    menu_.open(target, symbols::get_name(*target.line), text,
               [this, id = shown_->ids[at], name = target.line->function](const view_context& with) {
                 if (ImGui::MenuItem("Zoom in")) zoom_to(with, id);
                 if (ImGui::MenuItem("Show all stacks", nullptr, false, zoom_ != 0)) zoom_to(with, 0);
                 if (!name.empty() && ImGui::MenuItem("Highlight this name")) {
                   search_ = name;
                   matches_.clear();
                 }
                 ImGui::Separator();
               });
  }

  void tip(const view_context& with, std::uint32_t at) const {
    if (!begin_tip(with)) return;
    const metrics::stack_node& node = shown_->tree.nodes[at];
    const frame_line& line = shown_->lines[node.line];
    ImGui::PushTextWrapPos(with.px(520));
    ImGui::PushFont(with.fonts.bold, 0);
    ImGui::TextUnformatted(symbols::get_name(line).c_str());
    ImGui::PopFont();
    const std::string where = line.file.empty() ? line.module : line.file + ":" + std::to_string(line.line);
    if (!where.empty()) ImGui::TextDisabled("%s", where.c_str());
    if (!line.missing.empty()) ImGui::TextDisabled("%s", line.missing.c_str());
    if (!line.source.empty()) ImGui::TextUnformatted(line.source.c_str());
    ImGui::PopTextWrapPos();
    const float column = with.px(88);
    const stack_metrics& whole = shown_->tree.nodes.front().all;
    const auto share = [&](const stack_metrics& part) {
      return format_share(static_cast<double>(get_weight(part, weight())) /
                          static_cast<double>(std::max<std::uint64_t>(1, get_weight(whole, weight()))));
    };
    tip_field(with, "share", share(node.all) + " of " + metric(whole), column);
    const bool host = measure_ == stack_measure::host;
    if (!host) tip_field(with, "bytes", format_bytes(node.all.bytes), column);
    tip_field(with, noun() + std::string("s"), format_count(node.all.count), column);
    if (!is_of_memory()) {
      tip_field(with, host ? "host time" : "copy time", format_time(node.all.busy), column);
      if (shown_->kernels_known)
        tip_field(with, "time waited",
                  format_time(node.all.alone) + (host ? " while the GPU was idle" : " while no kernel ran"), column);
    }
    if (node.own.count > 0 && node.own.count != node.all.count) tip_field(with, "self", metric(node.own), column);
    end_tip();
  }

  /// The inputs of the boxes on the GPU. When they change, the boxes are rebuilt.
  struct drawn_state {
    std::uint32_t zoom = 0;
    stack_weight weight = stack_weight::bytes;
    float width = 0;
    float scale = 0;
    theme_kind theme = theme_kind::dark;
    std::string search;
    friend bool operator==(const drawn_state&, const drawn_state&) = default;
  };

  screen_slot<query::stacks_query> query_;
  std::shared_ptr<const query::stack_view> shown_;
  stack_measure measure_ = stack_measure::peak;
  stack_weight weight_ = stack_weight::bytes;
  std::optional<query::memory_choice> choice_;
  bool libraries_ = false;
  bool inverted_ = false;
  bool grouped_ = false;
  std::optional<symbols::attribution> by_;  ///< The grouping by which groups are shown; none: `automatic_`.
  automatic_grouping automatic_;
  screen_slot<query::report_query> report_;  ///< Used only while groups are shown.
  std::string search_;
  std::optional<time_ns> cursor_;
  std::uint64_t zoom_ = 0;    ///< The id of the zoomed frame; 0: the whole tree.
  std::uint32_t zoomed_ = 0;  ///< Index of the node with the id `zoom_`.
  std::vector<bool> matches_;
  std::vector<flame> flames_;
  std::uint32_t rows_ = 0;
  draw::box_batch batch_;
  drawn_state drawn_;
  row_menu menu_;
};

}  // namespace

std::unique_ptr<view> make_stacks_view() { return std::make_unique<stacks_view>(); }

}  // namespace sluice::gui
