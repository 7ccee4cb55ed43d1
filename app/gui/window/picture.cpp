#include "app/gui/window/picture.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "app/gui/gl/gl.hpp"
#include "app/gui/window/renderer.hpp"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "imgui_internal.h"

namespace sluice::gui {

namespace {

/// Of so many frames in which nothing was asked for and nothing moves each is as the one before: tables and docked panels find their widths.
constexpr int quiet_frames = 4;

/// Glyphs lie in their texture in the order in which frames first wanted them, and a little of their neighbours shows at their edges. Which
/// frames there were depends on how fast answers came: from here on the texture holds what the next frame wants, in its order.
void forget_glyphs() {
  ImFontAtlas* atlas = ImGui::GetIO().Fonts;
  ImFontAtlasBuildDiscardBakes(atlas, 0);  // Else the new texture is as large as they need.
  ImFontAtlasBuildClear(atlas);
}

}  // namespace

struct picture::waker {
  std::mutex mutex;
  std::condition_variable changed;
  bool woken = false;

  void wake() {
    {
      const std::lock_guard lock(mutex);
      woken = true;
    }
    changed.notify_one();
  }
  /// For an answer, or until nobody works on one: who answers last wakes us a moment before. To build frames meanwhile would only take the
  /// processor from them.
  void wait(const application& whose) {
    constexpr int patience_ms = 200;
    for (int ms = 0; ms < patience_ms && (ms == 0 || whose.busy()); ++ms) {
      std::unique_lock lock(mutex);
      if (changed.wait_for(lock, std::chrono::milliseconds(1), [this] { return woken; })) break;
    }
    take();
  }
  /// Whether something was answered since it was last asked.
  bool take() {
    const std::lock_guard lock(mutex);
    return std::exchange(woken, false);
  }
};

result<std::unique_ptr<picture>> picture::create(const picture_options& options, application_options content) {
  std::unique_ptr<picture> made(new picture);
  made->waker_ = std::make_shared<waker>();
  content.animations = false;
  content.scale = options.scale;
  content.wake = [w = made->waker_] { w->wake(); };
  made->app_ = std::make_unique<application>(std::move(content));
  auto context = gl::offscreen_context::create(options.width, options.height);
  if (!context) return tl::unexpected(context.error());
  made->context_ = std::move(*context);
  made->app_->use_theme(options.theme);
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(options.width), static_cast<float>(options.height)};
  io.MousePos = {-FLT_MAX, -FLT_MAX};
  made->drawing_ = ImGui_ImplOpenGL3_Init("#version 330 core");
  if (auto started = made->app_->start(); !started) return tl::unexpected(started.error());
  return made;
}

picture::~picture() {
  if (drawing_) ImGui_ImplOpenGL3_Shutdown();
  app_.reset();
}

void picture::build() {
  context_->bind();
  ImGui::GetIO().DeltaTime = 1.0F / 60;
  ImGui_ImplOpenGL3_NewFrame();
  build_frame(*app_);
}

void picture::draw() {
  draw_frame(*app_, context_->width(), context_->height());
  glFinish();
}

double picture::step() {
  const auto begin = std::chrono::steady_clock::now();
  build();
  draw();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void picture::move_mouse(float x, float y) { ImGui::GetIO().AddMousePosEvent(x, y); }

bool picture::settle(double seconds) {
  const auto patience =
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  auto deadline = std::chrono::steady_clock::now() + patience;
  float done = 0;
  int quiet = 0;
  step();  // A software GL compiles what it draws with, while the first answers are worked out.
  while (quiet < quiet_frames) {
    const auto now = std::chrono::steady_clock::now();
    if (const float done_now = app_->state().opening_progress(); done_now != done) {
      done = done_now;
      deadline = now + patience;
    }
    if (now > deadline) break;
    build();
    if (app_->busy() || app_->animating()) {
      quiet = 0;
      waker_->wait(*app_);
    } else if (waker_->take()) {
      quiet = 0;  // Answered while the frame was built: no frame has shown it.
    } else {
      ++quiet;
    }
  }
  forget_glyphs();
  build();  // The texture grows meanwhile.
  build();
  draw();
  return quiet == quiet_frames;
}

}  // namespace sluice::gui
