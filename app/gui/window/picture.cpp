#include "app/gui/window/picture.hpp"

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <utility>

#include "app/gui/gl/gl.hpp"
#include "app/gui/window/renderer.hpp"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "imgui_internal.h"

namespace sluice::gui {

namespace {

/// After this many quiet frames the picture is final: tables and docked panels need a few frames to determine their
/// widths.
constexpr int quiet_frames = 4;

/// Clears the glyph texture. The texture contains the glyphs in the order of their first use, which depends on how fast
/// results arrive, and the edges of a glyph show a little of its neighbors. After this call, the order depends only on
/// the next frame.
void forget_glyphs() {
  ImFontAtlas* atlas = ImGui::GetIO().Fonts;
  ImFontAtlasBuildDiscardBakes(atlas, 0);  // Otherwise the size of the new texture would be based on the old glyphs.
  ImFontAtlasBuildClear(atlas);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The CPU time of this thread (CLOCK_THREAD_CPUTIME_ID) or of the process (CLOCK_PROCESS_CPUTIME_ID), in seconds.
double processor_seconds(clockid_t subject) {
  timespec now{};
  ::clock_gettime(subject, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
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
  /// Waits until a result arrives or no query is running. (Each result wakes this object shortly before its query
  /// ends.) Building frames meanwhile would only take CPU time from the queries.
  void wait(const application& whose) {
    constexpr int timeout_ms = 200;
    for (int ms = 0; ms < timeout_ms && (ms == 0 || whose.busy()); ++ms) {
      std::unique_lock lock(mutex);
      if (changed.wait_for(lock, std::chrono::milliseconds(1), [this] { return woken; })) break;
    }
    take();
  }
  /// Returns true if a result has arrived since the last call.
  bool take() {
    const std::lock_guard lock(mutex);
    return std::exchange(woken, false);
  }
};

result<std::unique_ptr<picture>> picture::create(const picture_options& options, application_options content) {
  std::unique_ptr<picture> output(new picture);
  output->waker_ = std::make_shared<waker>();
  content.animations = false;
  content.scale = options.scale;
  content.wake = [w = output->waker_] { w->wake(); };
  output->app_ = std::make_unique<application>(std::move(content));
  auto context = gl::offscreen_context::create(options.width, options.height);
  if (!context) return tl::unexpected(context.error());
  output->context_ = std::move(*context);
  output->app_->use_theme(options.theme);
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(options.width), static_cast<float>(options.height)};
  io.MousePos = {-FLT_MAX, -FLT_MAX};
  output->drawing_ = ImGui_ImplOpenGL3_Init("#version 330 core");
  if (auto started = output->app_->start(); !started) return tl::unexpected(started.error());
  return output;
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

frame_cost picture::step() {
  frame_cost cost;
  const auto begin = std::chrono::steady_clock::now();
  const double total = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double own = processor_seconds(CLOCK_THREAD_CPUTIME_ID);
  build();
  cost.own_processor = processor_seconds(CLOCK_THREAD_CPUTIME_ID) - own;
  draw();
  cost.processor = processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - total;
  cost.whole = seconds_since(begin);
  return cost;
}

double picture::step_empty() {
  const auto begin = std::chrono::steady_clock::now();
  context_->bind();
  draw_empty_frame(*app_, context_->width(), context_->height());
  glFinish();
  return seconds_since(begin);
}

void picture::move_mouse(float x, float y) { ImGui::GetIO().AddMousePosEvent(x, y); }

bool picture::settle(double seconds) {
  const auto timeout =
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  auto deadline = std::chrono::steady_clock::now() + timeout;
  float done = 0;
  int quiet = 0;
  step();  // This makes a software GL compile its shaders while the first queries run.
  while (quiet < quiet_frames) {
    const auto now = std::chrono::steady_clock::now();
    if (const float done_now = app_->state().loader().progress(); done_now != done) {
      done = done_now;
      deadline = now + timeout;
    }
    if (now > deadline) break;
    build();
    if ((app_->busy() || app_->animating()) && !app_->playing()) {
      quiet = 0;
      waker_->wait(*app_);
    } else if (waker_->take() && !app_->playing()) {
      quiet = 0;  // A result arrived while the frame was built, so it is not drawn yet.
    } else {
      ++quiet;
    }
  }
  forget_glyphs();
  build();  // The texture grows in this frame.
  build();
  draw();
  return quiet == quiet_frames;
}

}  // namespace sluice::gui
