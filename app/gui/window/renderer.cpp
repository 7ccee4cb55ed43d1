#include "app/gui/window/renderer.hpp"

#include "app/gui/gl/gl.hpp"
#include "imgui.h"
#include "imgui_impl_opengl3.h"

namespace sluice::gui {

void build_frame(application& app) {
  ImGui::NewFrame();
  app.frame();
  ImGui::Render();
}

namespace {

void clear(const application& app, int width, int height) {
  const ImVec4 clear = ImGui::ColorConvertU32ToFloat4(app.colours().background);
  glViewport(0, 0, width, height);
  glDisable(GL_SCISSOR_TEST);
  glClearColor(clear.x, clear.y, clear.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
}

}  // namespace

void draw_frame(const application& app, int width, int height) {
  clear(app, width, height);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

void draw_empty_frame(const application& app, int width, int height) {
  clear(app, width, height);
  ImDrawList list(ImGui::GetDrawListSharedData());
  list._ResetForNewFrame();
  list.PushTexture(ImGui::GetIO().Fonts->TexRef);
  list.PushClipRect({0, 0}, {static_cast<float>(width), static_cast<float>(height)});
  list.AddText(ImGui::GetIO().Fonts->Fonts[0], 16, {16, 16}, app.colours().text, "Nothing but this line of text");
  ImDrawData data;
  data.DisplaySize = {static_cast<float>(width), static_cast<float>(height)};
  data.FramebufferScale = {1, 1};
  data.Textures = &ImGui::GetPlatformIO().Textures;
  data.AddDrawList(&list);
  data.Valid = true;
  ImGui_ImplOpenGL3_RenderDrawData(&data);
}

}  // namespace sluice::gui
