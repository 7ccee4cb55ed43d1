#include <algorithm>
#include <array>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/stacks/flame_chart.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
namespace {

using metrics::stack_metrics;
using metrics::stack_weight;
using query::stack_measure;

struct measure_choice {
  stack_measure measure;
  const char* title;
};
constexpr std::array<measure_choice, 4> measures = {{{stack_measure::peak, "memory at peak"},
                                                     {stack_measure::live, "memory at the cursor"},
                                                     {stack_measure::allocated, "allocated"},
                                                     {stack_measure::transferred, "copied"}}};
struct weight_choice {
  stack_weight weight;
  const char* title;
  bool of_copies;
};
constexpr std::array<weight_choice, 4> weights = {{{stack_weight::bytes, "by bytes", false},
                                                   {stack_weight::count, "by count", false},
                                                   {stack_weight::busy, "by duration", true},
                                                   {stack_weight::alone, "by time waited", true}}};

constexpr panel_info stacks_panel{.title = "Stacks", .scrolls = false};

/// Shows a flame graph of the call stacks that hold, allocate or copy memory.
class stacks_view final : public view {
 public:
  stacks_view() : view(stacks_panel) {}
  void reset() override {
    query_ = {};
    report_ = {};
    automatic_ = {};
    choice_.reset();
    chart_.reset();
  }

  void draw(view_context& with) override {
    const document& document_shown = *with.state.active();
    if (with.hovered_time) cursor_ = with.hovered_time;
    chart_.follow_selection(with);
    draw_controls(with);
    const auto result = query_.ask(*document_shown.engine, query(with, document_shown));
    progress_line(with, result.complete, result.progress);
    if (!result) return;
    if (draw_empty_state(with, *result.value)) return;
    chart_.draw(with, result.value, get_words(with, *result.value));
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
    if (measure_ == stack_measure::transferred) wanted.layer.reset(), wanted.device.reset(), wanted.kind.reset();
    return wanted;
  }

  [[nodiscard]] stack_weight weight() const {
    const bool of_copies = weight_ == stack_weight::busy || weight_ == stack_weight::alone;
    return of_copies && measure_ != stack_measure::transferred ? stack_weight::bytes : weight_;
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
    if (measure_ != stack_measure::transferred) draw_memory_choice(with);
    place_control(with.px(118));
    ImGui::SetNextItemWidth(with.px(118));
    if (ImGui::BeginCombo("##weight", selected(weights, [&](auto& w) { return w.weight == weight(); }))) {
      for (const auto& each : weights)
        if (!each.of_copies || measure_ == stack_measure::transferred)
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
    chart_.draw_search(with, weight());
  }

  void draw_memory_choice(const view_context& with) {
    place_control(with.px(170));
    ImGui::SetNextItemWidth(with.px(190));
    std::string label = "memory";
    const query::stack_view* shown = chart_.shown();
    if (shown != nullptr && shown->choice) label = shown->choices[*shown->choice].label;
    if (!ImGui::BeginCombo("##memory", gui::make_label(label).c_str(), ImGuiComboFlags_HeightLarge)) return;
    for (const query::memory_choice& each : shown != nullptr ? shown->choices : std::vector<query::memory_choice>{}) {
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
    else if (whole.count == 0)
      empty_state(with, icon::search, measure_ == stack_measure::transferred ? "Nothing was copied" : "No memory here",
                  with.state.range() ? "Nothing in the selected range." : "Nothing of this kind in the recording.");
    else if (found.without.count == whole.count)
      empty_state(with, icon::search, "No call stacks here",
                  measure_ == stack_measure::transferred
                      ? "The calls that issued these copies were recorded without stacks."
                      : "These blocks were recorded without stacks. Choose other memory above.");
    else if (weight() == stack_weight::alone && !found.kernels_known)
      empty_state(with, icon::search, "Kernels were not recorded",
                  "Record with \"Timeline\" (File, Record a program) to see which copies the device waited for.");
    else if (get_weight(whole, weight()) == 0)
      empty_state(with, icon::search, "The device never waited for a copy", "A kernel ran during every copy.");
    else
      return false;
    return true;
  }

  [[nodiscard]] std::string metric(const stack_metrics& subject) const {
    switch (weight()) {
      case stack_weight::bytes:
        return format_bytes(subject.bytes);
      case stack_weight::count:
        return format_some(subject.count, measure_ == stack_measure::transferred ? "transfer" : "block");
      case stack_weight::busy:
        return format_time(subject.busy);
      case stack_weight::alone:
        return format_time(subject.alone);
    }
    return {};
  }

  [[nodiscard]] std::string get_total(const query::stack_view& found) const {
    const stack_metrics& whole = found.tree.nodes.front().all;
    std::string text = metric(whole);
    if (measure_ == stack_measure::peak || measure_ == stack_measure::live) text += " at " + format_moment(found.time);
    if (weight() != stack_weight::count)
      text += " in " + format_some(whole.count, measure_ == stack_measure::transferred ? "transfer" : "block");
    return text;
  }

  /// The result refers to `with` and `found`.
  [[nodiscard]] flame_words get_words(const view_context& with, const query::stack_view& found) const {
    flame_words words;
    words.weight = weight();
    words.total = get_total(found);
    words.metric = [this](const stack_metrics& subject) { return metric(subject); };
    words.add_fields = [this, &with, &found](const metrics::stack_node& node) {
      const float column = with.px(88);
      tip_field(with, "bytes", format_bytes(node.all.bytes), column);
      const bool copies = measure_ == stack_measure::transferred;
      tip_field(with, copies ? "transfers" : "blocks", format_count(node.all.count), column);
      if (!copies) return;
      tip_field(with, "copy time", format_time(node.all.busy), column);
      if (found.kernels_known)
        tip_field(with, "time waited", format_time(node.all.alone) + " while no kernel ran", column);
    };
    return words;
  }

  screen_slot<query::stacks_query> query_;
  stack_measure measure_ = stack_measure::peak;
  stack_weight weight_ = stack_weight::bytes;
  std::optional<query::memory_choice> choice_;
  bool libraries_ = false;
  bool inverted_ = false;
  bool grouped_ = false;
  std::optional<symbols::attribution> by_;  ///< The grouping by which groups are shown; none: `automatic_`.
  automatic_grouping automatic_;
  screen_slot<query::report_query> report_;  ///< Used only while groups are shown.
  std::optional<time_ns> cursor_;
  flame_chart chart_;
};

}  // namespace

std::unique_ptr<view> make_stacks_view() { return std::make_unique<stacks_view>(); }

}  // namespace sluice::gui
