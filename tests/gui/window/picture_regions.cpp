#include "tests/gui/window/picture_regions.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "app/gui/gl/gl.hpp"
#include "app/gui/gl/offscreen.hpp"
#include "imgui_impl_opengl3.h"
#include "imgui_internal.h"

namespace sluice::test {
namespace {

/// The offset of the shifted frame in pixels, right and up. Not a multiple of the tile sizes of a software OpenGL (64
/// and 4), but a multiple of the distance between hatch lines.
constexpr int moved = 42;

/// Edges of shapes may cover pixels slightly differently in the shifted frame.
constexpr int tolerance = 8;  // of 255

/// The topmost panel, menu or dialog at this point.
std::string region_at(float x, float y) {
  const auto& windows = ImGui::GetCurrentContext()->Windows;
  for (int i = windows.Size; i-- > 0;) {
    const ImGuiWindow& each = *windows[i];
    const bool shown = each.WasActive && !each.Hidden && each.HiddenFramesCanSkipItems <= 0;
    const bool part = (each.Flags & ImGuiWindowFlags_ChildWindow) != 0 && !each.DockIsActive;
    if (shown && !part && each.OuterRectClipped.Contains(ImVec2(x, y))) return each.Name;
  }
  return "between the panels";
}

}  // namespace

gui::gl::image drawn_apart(const gui::application& app, int width, int height) {
  const int wide = width + moved, high = height + moved;
  GLint before = 0;
  glGetIntegerv(GL_FRAMEBUFFER_BINDING, &before);
  GLuint frame = 0, pixels = 0;
  glGenFramebuffers(1, &frame);
  glGenRenderbuffers(1, &pixels);
  glBindFramebuffer(GL_FRAMEBUFFER, frame);
  glBindRenderbuffer(GL_RENDERBUFFER, pixels);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, wide, high);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, pixels);
  glViewport(0, 0, wide, high);
  glDisable(GL_SCISSOR_TEST);
  const ImVec4 behind = ImGui::ColorConvertU32ToFloat4(app.colours().background);
  glClearColor(behind.x, behind.y, behind.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImDrawData& data = *ImGui::GetDrawData();
  const ImVec2 place = data.DisplayPos, size = data.DisplaySize;
  data.DisplayPos = {place.x - moved, place.y};
  data.DisplaySize = {static_cast<float>(wide), static_cast<float>(high)};
  ImGui_ImplOpenGL3_RenderDrawData(&data);
  data.DisplayPos = place;
  data.DisplaySize = size;
  const gui::gl::image image = gui::gl::read_framebuffer(frame, wide, high);
  glBindFramebuffer(GL_FRAMEBUFFER, static_cast<GLuint>(before));
  glDeleteRenderbuffers(1, &pixels);
  glDeleteFramebuffers(1, &frame);
  return gui::gl::get_part(image, moved, 0, wide, height);
}

std::string differing_regions(const gui::gl::image& shown, const gui::gl::image& whole) {
  if (shown.width != whole.width || shown.height != whole.height) return "the pictures have different sizes";
  struct difference {
    std::size_t pixels = 0;
    int x = 0, y = 0;  ///< Position of the first one.
  };
  std::map<std::string, difference> found;
  for (int y = 0; y < shown.height; ++y)
    for (int x = 0; x < shown.width; ++x) {
      const auto at = static_cast<std::size_t>(y * shown.width + x) * 3;
      bool same = true;
      for (std::size_t channel = 0; channel < 3; ++channel)
        same = same && std::abs(shown.pixels[at + channel] - whole.pixels[at + channel]) <= tolerance;
      if (same) continue;
      difference& in = found[region_at(static_cast<float>(x), static_cast<float>(y))];
      if (in.pixels++ == 0) in.x = x, in.y = y;
    }
  std::string said;
  for (const auto& [region, in] : found)
    said += (said.empty() ? "" : "; ") + region + ": " + std::to_string(in.pixels) + " pixels, first at " +
            std::to_string(in.x) + "," + std::to_string(in.y);
  return said;
}

}  // namespace sluice::test
