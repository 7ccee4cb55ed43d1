#include "app/gui/shell/bars/recording_bar.hpp"

#include <algorithm>
#include <string>

#include "app/gui/shell/programs/record_dialog.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

struct bar_size {
  float width = 0;     ///< Total width; 0 if no program runs.
  float progress = 0;  ///< Width of the progress bar alone.
  bool narrow = false;
};

bar_size measure_bar(const view_context& with, const recorder_process& recorder) {
  bar_size size;
  if (!recorder.running()) return size;
  size.narrow = ImGui::GetWindowWidth() < with.px(640);
  size.progress = size.narrow ? with.px(110) : with.px(170);
  const float stop =
      size.narrow
          ? ImGui::GetFrameHeight() * 1.15F + with.px(8)
          : std::max(ImGui::CalcTextSize("Stopping").x, ImGui::CalcTextSize(stop_label(recorder)).x) + with.px(52);
  const float output =
      size.narrow ? ImGui::GetFrameHeight() * 1.15F + with.px(8) : ImGui::CalcTextSize("Output").x + with.px(52);
  size.width = size.progress + stop + with.px(16) + (recorder.is_demo() ? 0 : output);
  return size;
}

}  // namespace

float recording_bar_width(const view_context& with, const recorder_process& recorder) {
  return measure_bar(with, recorder).width;
}

void draw_recording_bar(const view_context& with, const recorder_process& recorder, double progress) {
  if (!recorder.running()) return;
  const bar_size size = measure_bar(with, recorder);
  ImGui::SameLine(ImGui::GetWindowWidth() - size.width);
  ImGui::BeginGroup();
  const std::string label =
      progress < 0 ? recorder.name() : recorder.name() + "  " + std::to_string(static_cast<int>(progress * 100)) + " %";
  ImGui::PushStyleColor(ImGuiCol_PlotHistogram,
                        ImGui::ColorConvertU32ToFloat4(mix(with.colours.accent, with.colours.background, 0.55F)));
  ImGui::ProgressBar(progress < 0 ? 0.0F : static_cast<float>(progress), {size.progress, ImGui::GetFrameHeight()},
                     make_label(printable(label)).c_str());
  ImGui::PopStyleColor();
  ImGui::EndGroup();
  if (!recorder.is_demo() && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
    ImGui::SetTooltip("%s", printable("Recording to " + recorder.recording()).c_str());
  ImGui::SameLine();
  if (!recorder.is_demo()) {
    command_button(with, "record.output", "Output", size.narrow);
    ImGui::SameLine();
  }
  stop_button(with, recorder);
}

}  // namespace sluice::gui
