#pragma once

#include "imgui.h"
#include "imgui_internal.h"

namespace sluice::gui {

/// Owns ImGui's context, with the settings that this window needs. Create it when no other context exists, and before
/// all objects that use ImGui.
class imgui_context {
 public:
  imgui_context() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.ConfigFlags |= ImGuiConfigFlags_DockingEnable | ImGuiConfigFlags_NavEnableKeyboard;
    io.ConfigWindowsMoveFromTitleBarOnly = true;
    io.ConfigInputTextCursorBlink = false;  // A blinking cursor would keep redrawing the window.
    io.ConfigDpiScaleFonts = false;
    // Ctrl+Tab switches between tabs of recordings, not between panels.
    ImGui::GetCurrentContext()->ConfigNavWindowingKeyNext = 0;
    ImGui::GetCurrentContext()->ConfigNavWindowingKeyPrev = 0;
    io.IniFilename = nullptr;  // ImGui truncates the file before writing it, so a full disk would lose the layout.
  }
  ~imgui_context() { ImGui::DestroyContext(); }
  imgui_context(const imgui_context&) = delete;
  imgui_context& operator=(const imgui_context&) = delete;
};

}  // namespace sluice::gui
