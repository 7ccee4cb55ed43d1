// Shows what host threads did, as a flame graph: "what ran while the GPU waited".
#include <array>
#include <memory>
#include <utility>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/process_choice.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/stacks/flame_chart.hpp"
#include "app/gui/views/stacks/host_words.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
namespace {

constexpr std::array<const char*, 2> time_titles = {"while the GPU was idle", "all of the range"};
constexpr std::array<const char*, 2> thread_titles = {"threads that launch", "all threads"};

constexpr panel_info host_stacks_panel{
    .title = "Host stacks", .scrolls = false, .open = {"host_stacks.open", "Host stacks", "Go"}};

class host_stacks_view final : public view {
 public:
  host_stacks_view() : view(host_stacks_panel) {}
  void reset() override {
    query_ = {};
    statistics_ = {};
    messages_ = {};
    choice_.device.reset();
    choice_.process = trace::process_id::none;
    devices_.clear();
    chart_.reset();
  }

  void draw(view_context& with) override {
    const document& shown = *with.state.active();
    chart_.follow_selection(with);
    draw_controls(with);
    const auto result = query_.ask(*shown.engine, make_query(choice_, get_range(with, shown)));
    progress_line(with, result.complete, result.progress);
    if (result.failure)
      return empty_state(with, icon::failure, "The samples could not be read", result.failure->message);
    if (!result) return;
    devices_ = result->devices;
    const std::string device = result->device ? device_words(with, *result->device) : std::string();
    if (const auto words = explain_empty(*result.value, choice_, device, get_messages(shown, *result.value))) {
      if (result.complete) empty_state(with, icon::search, words->headline, words->advice);
      return;
    }
    const std::shared_ptr<const query::stack_view> tree(result.value, &result.value->view);
    chart_.draw(with, tree, get_words(with, *result.value, device));
  }

 private:
  [[nodiscard]] time_range get_range(const view_context& with, const document& shown) {
    if (const auto range = with.state.range()) return *range;
    return choose_range(statistics_.ask(*shown.engine, {shown.span}).value.get(), shown.span);
  }

  std::vector<query::message> get_messages(const document& shown, const query::host_stacks& found) {
    if (found.sampled) return {};
    const auto messages = messages_.ask(*shown.engine, {});
    return messages ? *messages.value : std::vector<query::message>();
  }

  /// Draws a combo box of two choices. Returns true if the first is chosen.
  static bool choose_of_two(const char* id, const std::array<const char*, 2>& titles, bool first) {
    if (!ImGui::BeginCombo(id, titles[first ? 0 : 1])) return first;
    for (const bool each : {true, false})
      if (ImGui::Selectable(titles[each ? 0 : 1], each == first)) first = each;
    ImGui::EndCombo();
    return first;
  }

  void draw_controls(const view_context& with) {
    ImGui::SetNextItemWidth(with.px(180));
    choice_.only_idle = choose_of_two("##time", time_titles, choice_.only_idle);
    if (devices_.size() > 1) draw_device_choice(with);
    place_control(with.px(160));
    ImGui::SetNextItemWidth(with.px(160));
    choice_.only_launching = choose_of_two("##threads", thread_titles, choice_.only_launching);
    if (has_several_processes(with)) {
      place_control(with.px(170));
      ImGui::SetNextItemWidth(with.px(170));
      process_combo(with, "##process", choice_.process);
    }
    place_control(with.px(84), with.px(between_choices));
    check_box(with, "libraries", &choice_.libraries);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
      ImGui::SetTooltip("Show library frames. Otherwise, only the innermost frame of a stack may be a library frame.");
    place_control(with.px(84), with.px(between_choices));
    check_box(with, "inverted", &choice_.inverted);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
      ImGui::SetTooltip("Start with what threads did, with the code in which they did it below.");
    place_control(with.px(150), with.px(between_choices));
    chart_.draw_search(with, metrics::stack_weight::busy);
  }

  void draw_device_choice(const view_context& with) {
    place_control(with.px(110));
    ImGui::SetNextItemWidth(with.px(110));
    const trace::device_id now = choice_.device.value_or(devices_.front());
    if (!ImGui::BeginCombo("##device", make_label(device_words(with, now)).c_str())) return;
    for (const trace::device_id each : devices_) {
      ImGui::PushID(static_cast<int>(trace::raw(each)));
      if (ImGui::Selectable(make_label(device_words(with, each)).c_str(), each == now)) choice_.device = each;
      ImGui::PopID();
    }
    ImGui::EndCombo();
  }

  /// The shade of a line that says what threads did. The text of the line says the same.
  static std::optional<ImU32> choose_shade(const view_context& with, const query::host_stacks& found,
                                           std::uint32_t line) {
    static constexpr std::array<float, trace::host_state_count> shares = {0.25F, 0.75F, 0.6F, 0.4F, 0.5F};
    for (const query::state_line& each : found.states)
      if (each.line == line)
        return mix(with.colours.background, with.colours.muted, shares[static_cast<std::size_t>(each.state)]);
    return std::nullopt;
  }

  /// The result refers to `with` and `found`.
  [[nodiscard]] flame_words get_words(const view_context& with, const query::host_stacks& found,
                                      const std::string& device) const {
    flame_words words;
    words.weight = metrics::stack_weight::busy;
    words.total = get_total(found, choice_, device);
    words.metric = [](const metrics::stack_metrics& subject) { return format_time(subject.busy); };
    words.add_fields = [&with](const metrics::stack_node& node) {
      tip_field(with, "samples", format_count(node.all.count), with.px(88));
    };
    words.choose_colour = [&with, &found](std::uint32_t line) { return choose_shade(with, found, line); };
    words.colour_meaning = "what the thread did";
    return words;
  }

  screen_slot<query::host_stacks_query> query_;
  screen_slot<query::statistics_query> statistics_;  ///< Used only while no range is selected.
  screen_slot<query::messages_query> messages_;      ///< Used only if the recording has no samples.
  host_choice choice_;
  std::vector<trace::device_id> devices_;
  flame_chart chart_;
};

}  // namespace

std::unique_ptr<view> make_host_stacks_view() { return std::make_unique<host_stacks_view>(); }

}  // namespace sluice::gui
