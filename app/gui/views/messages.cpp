#include <algorithm>

#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
namespace {

/// Messages of the recording, the file and the program.
class messages_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Messages"; }
  void reset() override {
    question_ = {};
    warns_ = false;
  }
  [[nodiscard]] bool warns() const override { return warns_; }

  void follow(const view_context& with) override {
    if (!with.state.ready()) return;
    const document& shown = *with.state.active();
    const auto answer = question_.ask(*shown.engine, {});
    if (!answer) return;
    const auto is_warning = [](const query::message& each) { return each.severity != trace::severity::info; };
    warns_ = (!shown.live && !shown.engine->snapshot()->complete()) ||
             std::any_of(answer->begin(), answer->end(), is_warning);
  }

  void draw(view_context& with) override {
    const document& shown = *with.state.active();
    const auto snapshot = shown.engine->snapshot();
    const auto answer = question_.ask(*shown.engine, {});
    progress_line(with, answer.complete, answer.progress);
    bool any = false;
    if (snapshot->simulated()) {
      any = true;
      line(with, icon::flask, with.colours.accent, "Simulated device",
           "Every clock of this recording is simulated: its times follow a documented model of costs, not a GPU.");
    }
    if (!snapshot->complete() && !shown.live) {
      any = true;
      line(with, icon::warning, with.colours.warning, "This recording was never closed",
           "Its writer died. Everything that reached the file is shown.");
    }
    if (answer)
      for (const query::message& each : *answer.value) {
        any = true;
        const bool info = each.severity == trace::severity::info;
        const ImU32 colour = each.severity == trace::severity::error ? with.colours.failure
                             : info                                  ? with.colours.accent
                                                                     : with.colours.warning;
        line(with, info ? icon::info : icon::warning, colour, each.text,
             each.time != 0 ? "at " + format_moment(each.time) : std::string());
      }
    if (!any && answer.complete)
      empty_state(with, icon::info, "No messages", "The recording is whole: nothing was lost, nothing is doubtful.");
  }

 private:
  static void line(const view_context& with, const char* sign, ImU32 colour, std::string_view text,
                   std::string_view detail) {
    ImGui::TextColored(ImGui::ColorConvertU32ToFloat4(colour), "%s", sign);
    ImGui::SameLine(with.px(34));
    ImGui::BeginGroup();
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
    if (!detail.empty()) {
      ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
      ImGui::TextUnformatted(detail.data(), detail.data() + detail.size());
      ImGui::PopStyleColor();
    }
    ImGui::PopTextWrapPos();
    ImGui::EndGroup();
  }

  screen_slot<query::messages_question> question_;
  bool warns_ = false;
};

}  // namespace

std::unique_ptr<view> make_messages_view() { return std::make_unique<messages_view>(); }

}  // namespace sluice::gui
