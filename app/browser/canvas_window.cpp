#include "app/browser/canvas_window.hpp"

#include <GLFW/glfw3.h>
#include <emscripten.h>
#include <emscripten/html5.h>

#include <chrono>
#include <cmath>

#include "app/browser/files.hpp"
#include "app/browser/page_functions.hpp"
#include "app/gui/window/renderer.hpp"
#include "imgui.h"
#include "imgui_impl_glfw.h"
#include "imgui_impl_opengl3.h"

namespace sluice::browser {
namespace {

constexpr int frames_after_input = 3;  // ImGui needs up to two frames to settle; the third shows the result
/// On a page without threads, the engine works on queries for this long between two frames.
constexpr auto work_a_frame = std::chrono::milliseconds(10);
constexpr double live_interval = 1.0 / 30;  // seconds between frames of a growing recording
constexpr double tip_time = 0.8;            // seconds after the last input during which a tooltip may still appear

}  // namespace

result<std::unique_ptr<canvas_window>> canvas_window::create(gui::application_options content) {
  if (glfwInit() == GLFW_FALSE) return fail(error_code::unavailable, "the browser provides no canvas");
  std::unique_ptr<canvas_window> window(new canvas_window);
  glfwWindowHint(GLFW_CLIENT_API, GLFW_OPENGL_ES_API);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  // A browser would spend time on these buffers in every frame, although nothing here is translucent or has depth.
  for (const int unused : {GLFW_ALPHA_BITS, GLFW_DEPTH_BITS, GLFW_STENCIL_BITS}) glfwWindowHint(unused, 0);
  window->handle_ = glfwCreateWindow(1280, 720, "Sluice", nullptr, nullptr);
  if (window->handle_ == nullptr)
    return fail(error_code::unavailable, "this browser does not support WebGL 2", {},
                "use a current Chrome, Edge or Firefox");
  glfwMakeContextCurrent(window->handle_);
  content.wake = [self = window.get()] { self->draw_soon(); };
  window->app_ = std::make_unique<gui::application>(std::move(content));
  ImGui_ImplGlfw_InitForOpenGL(window->handle_, true);
  ImGui_ImplGlfw_InstallEmscriptenCallbacks(window->handle_, "#canvas");
  ImGui_ImplOpenGL3_Init("#version 300 es");
  ImGui::GetPlatformIO().Platform_SetClipboardTextFn = [](ImGuiContext*, const char* text) { sluice_copy(text); };
  window->take_size();
  sluice_watch_input();
  if (auto started = window->app_->start(); !started) return tl::unexpected(started.error());
  return window;
}

void canvas_window::take_size() {
  double width = 0, height = 0;
  emscripten_get_element_css_size("#canvas", &width, &height);
  const double scale = emscripten_get_device_pixel_ratio();
  const int wide = static_cast<int>(std::lround(width * scale)), high = static_cast<int>(std::lround(height * scale));
  if (wide == width_ && high == height_) return;
  width_ = wide;
  height_ = high;
  glfwSetWindowSize(handle_, wide, high);
  app_->set_scale(static_cast<float>(scale));
  frames_wanted_ = frames_after_input;
}

void canvas_window::step() {
  take_size();
  static int seen = 0;
  const double now = emscripten_get_now() / 1000;
  if (const int count = sluice_inputs(); count != seen) {
    seen = count;
    frames_wanted_ = frames_after_input;
    last_input_ = now;
  }
  app_->work_here(std::chrono::steady_clock::now() + work_a_frame);
  if (woken_.exchange(false, std::memory_order_acq_rel)) frames_wanted_ = frames_after_input;
  const bool live = app_->live() && now - last_drawn_ >= live_interval;
  if (live || app_->animating() || app_->playing() || now - last_input_ < tip_time)
    frames_wanted_ = std::max(frames_wanted_, 1);
  glfwPollEvents();
  if (frames_wanted_ == 0 || width_ == 0 || height_ == 0) return;
  --frames_wanted_;
  last_drawn_ = now;
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  gui::build_frame(*app_);
  gui::draw_frame(*app_, width_, height_);
  if (std::string title = app_->title(); title != title_) {
    title_ = std::move(title);
    sluice_set_title(title_.c_str());
  }
  give_what_was_saved();
}

void canvas_window::give_what_was_saved() {
  give_saved();
  const auto picture = app_->take_picture_wanted();
  if (picture.path.empty()) return;
  const std::string name = picture.path.substr(picture.path.find_last_of('/') + 1);
  const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
  const bool complete = picture.max.x <= picture.min.x;
  const ImVec2 size(picture.max.x - picture.min.x, picture.max.y - picture.min.y);
  sluice_give_picture(name.c_str(), complete ? 0 : static_cast<int>(picture.min.x * scale.x),
                      complete ? 0 : static_cast<int>(picture.min.y * scale.y),
                      complete ? width_ : static_cast<int>(size.x * scale.x),
                      complete ? height_ : static_cast<int>(size.y * scale.y));
  app_->notices().tell("Saved " + name);
}

}  // namespace sluice::browser
