#include "app/gui/picture.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "app/gui/gl/gl.hpp"
#include "app/gui/renderer.hpp"
#include "imgui.h"
#include "imgui_impl_opengl3.h"

namespace sluice::gui {

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
  void wait() {
    std::unique_lock lock(mutex);
    // Whoever answers wakes us; drawing meanwhile would only take the processor from them.
    changed.wait_for(lock, std::chrono::milliseconds(200), [this] { return woken; });
    woken = false;
  }
  /// Whether something was answered since it was last asked.
  bool take() {
    const std::lock_guard lock(mutex);
    return std::exchange(woken, false);
  }
};

result<std::unique_ptr<picture>> picture::create(const picture_options& options, application_options content) {
  auto context = gl::offscreen_context::create(options.width, options.height);
  if (!context) return tl::unexpected(context.error());
  std::unique_ptr<picture> made(new picture);
  made->context_ = std::move(*context);
  made->waker_ = std::make_shared<waker>();
  content.animations = false;
  content.scale = options.scale;
  content.wake = [w = made->waker_] { w->wake(); };
  made->app_ = std::make_unique<application>(std::move(content));
  made->app_->use_theme(options.theme);
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(options.width), static_cast<float>(options.height)};
  io.MousePos = {-FLT_MAX, -FLT_MAX};
  ImGui_ImplOpenGL3_Init("#version 330 core");
  if (auto started = made->app_->start(); !started) return tl::unexpected(started.error());
  return made;
}

picture::~picture() {
  if (!app_) return;
  ImGui_ImplOpenGL3_Shutdown();
  app_.reset();
}

double picture::step() {
  const auto begin = std::chrono::steady_clock::now();
  context_->bind();
  ImGui::GetIO().DeltaTime = 1.0F / 60;
  ImGui_ImplOpenGL3_NewFrame();
  render_frame(*app_, context_->width(), context_->height());
  glFinish();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void picture::move_mouse(float x, float y) { ImGui::GetIO().AddMousePosEvent(x, y); }

bool picture::settle(double seconds) {
  const auto patience =
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  auto deadline = std::chrono::steady_clock::now() + patience;
  float done = 0;
  int quiet = 0;
  while (quiet < 4) {
    const auto now = std::chrono::steady_clock::now();
    if (const float done_now = app_->state().opening_progress(); done_now != done) {
      done = done_now;
      deadline = now + patience;
    }
    if (now > deadline) return false;
    step();
    if (app_->busy() || app_->animating()) {
      quiet = 0;
      waker_->wait();
    } else if (waker_->take()) {
      quiet = 0;  // Answered while the frame was drawn: no frame has shown it.
    } else {
      ++quiet;
    }
  }
  return true;
}

}  // namespace sluice::gui
