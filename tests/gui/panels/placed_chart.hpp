#pragma once

#include "app/gui/views/chart/chart_layout.hpp"
#include "app/gui/window/theme.hpp"
#include "imgui_internal.h"
#include "imgui_te_context.h"

namespace sluice::test {

/// Where the panel draws the values of `model`, which must outlive the result. `item`: the chart's ImGui item.
inline gui::chart_layout find_chart(ImGuiTestContext& user, const char* item, const gui::chart_model& model) {
  const ImRect place = user.ItemInfo(item).RectFull;
  const gui::chart_metrics sizes{
      1, gui::small_text, [](std::string_view text) {
        ImFont* regular = ImGui::GetIO().Fonts->Fonts.front();
        return regular->CalcTextSizeA(gui::small_text, FLT_MAX, 0, text.data(), text.data() + text.size()).x;
      }};
  return gui::lay_out(model, place.Min, place.GetSize(), sizes);
}

}  // namespace sluice::test
