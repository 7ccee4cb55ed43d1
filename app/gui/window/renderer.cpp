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

void draw_frame(const application& app, int width, int height) {
  const ImVec4 clear = ImGui::ColorConvertU32ToFloat4(app.colours().background);
  glViewport(0, 0, width, height);
  glDisable(GL_SCISSOR_TEST);
  glClearColor(clear.x, clear.y, clear.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

}  // namespace sluice::gui
