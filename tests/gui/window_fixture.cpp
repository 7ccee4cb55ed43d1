#include "tests/gui/window_fixture.hpp"

#include <GLFW/glfw3.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "app/gui/gl/png.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "imgui_internal.h"
#include "tests/gui/display.hpp"
#include "tests/gui/sample.hpp"

namespace sluice::test {

void window_test::SetUp() {
  ASSERT_TRUE(start_display()) << "no Xvfb: install the package xvfb";
  write_sample(path);
  gui::application_options content;
  content.animations = false;
  content.config_folder = config_folder;
  content.recordings_folder = "/nowhere";
  content.around = around;
  content.program = SLUICE_BINARY_DIR "/tests/gui/fake_demo";
  content.demos = {{"endless", "Runs until it is stopped"}, {"quick", "Ends by itself"}, {"broken", "Fails"}};
  auto output = gui::window::create(std::move(content));
  ASSERT_TRUE(output) << output.error().to_string();
  window_ = std::move(*output);
  // Without a GPU, drawing pixels takes three quarters of a frame's time. Everything before rasterization still runs.
  constexpr unsigned rasterizer_discard = 0x8C89;
  if (!draws_pixels) reinterpret_cast<void (*)(unsigned)>(glfwGetProcAddress("glEnable"))(rasterizer_discard);

  engine_ = ImGuiTestEngine_CreateContext();
  ImGuiTestEngineIO& io = ImGuiTestEngine_GetIO(engine_);
  io.ConfigRunSpeed = ImGuiTestRunSpeed_Fast;
  io.ConfigVerboseLevel = ImGuiTestVerboseLevel_Error;
  io.ConfigLogToTTY = true;
  io.ConfigSavedSettings = false;
  io.ConfigWatchdogKillTest = 240;
  io.ConfigWatchdogWarning = 120;
  ImGuiTestEngine_Start(engine_, ImGui::GetCurrentContext());
  window_->after_frame = [this] {
    if (work_ != nullptr) {
      work_();
      work_ = nullptr;
    }
    ImGuiTestEngine_PostSwap(engine_);
  };

  // Captures ImGui's log of drawn text for single frames.
  ImGuiContextHook begin;
  begin.Type = ImGuiContextHookType_NewFramePost;
  begin.UserData = this;
  begin.Callback = [](ImGuiContext*, ImGuiContextHook* hook) {
    if (static_cast<window_test*>(hook->UserData)->listening_) ImGui::LogToBuffer();
  };
  ImGuiContextHook end = begin;
  end.Type = ImGuiContextHookType_EndFramePre;
  end.Callback = [](ImGuiContext* context, ImGuiContextHook* hook) {
    auto& self = *static_cast<window_test*>(hook->UserData);
    if (!self.listening_ || !context->LogEnabled) return;
    self.words_ = context->LogBuffer.c_str();
    self.listening_ = false;
    ImGui::LogFinish();
  };
  ImGui::AddContextHook(ImGui::GetCurrentContext(), &begin);
  ImGui::AddContextHook(ImGui::GetCurrentContext(), &end);
}

void window_test::close_window() {
  if (engine_ != nullptr) ImGuiTestEngine_Stop(engine_);
  window_.reset();
  if (engine_ != nullptr) ImGuiTestEngine_DestroyContext(engine_);
  engine_ = nullptr;
}

void window_test::TearDown() {
  close_window();
  std::filesystem::remove(path);
}

void window_test::use(std::function<void(ImGuiTestContext&)> steps) {
  steps_ = std::move(steps);
  ImGuiTest* test = IM_REGISTER_TEST(engine_, "window", "test");
  test->UserData = this;
  test->TestFunc = [](ImGuiTestContext* user) { static_cast<window_test*>(user->Test->UserData)->steps_(*user); };
  ImGuiTestEngine_QueueTest(engine_, test, ImGuiTestRunFlags_RunFromCommandLine);
  while (!ImGuiTestEngine_IsTestQueueEmpty(engine_)) ASSERT_TRUE(window_->step() || stays_open) << "the window closed";
  EXPECT_EQ(test->Output.Status, ImGuiTestStatus_Success);
}

bool window_test::draw_until(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline || !window_->step()) return false;
  }
  return true;
}

bool window_test::run_until(const std::function<bool()>& done, std::chrono::milliseconds most) {
  std::atomic<bool> over{false};
  std::atomic<bool> was{false};
  std::thread watch([&] {
    for (const auto end = std::chrono::steady_clock::now() + most; !was && std::chrono::steady_clock::now() < end;)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    over = true;
    glfwPostEmptyEvent();  // The window may be asleep.
  });
  window_->after_frame = [&] {
    // `done` is not called for the frame after the final wake-up.
    if (!over && done()) was = true;
    if (was || over) app().quit();
  };
  EXPECT_TRUE(window_->run());
  watch.join();
  return was;
}

bool window_test::wait_until(ImGuiTestContext& user, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline || user.IsError()) return false;
    user.Yield();
  }
  return true;
}

void window_test::settle(ImGuiTestContext& user) {
  int quiet = 0;
  EXPECT_TRUE(wait_until(user, [&] {
    quiet = app().busy() || app().animating() ? 0 : quiet + 1;
    return quiet > 3;
  }));
}

void window_test::open_sample(ImGuiTestContext& user) {
  app().open(path);
  EXPECT_TRUE(wait_until(user, [&] { return app().state().active() != nullptr && app().state().active()->ready(); }));
  user.Yield(6);  // Lets the panels take their places.
  settle(user);
}

std::string window_test::read(ImGuiTestContext& user) {
  words_.clear();
  listening_ = true;
  wait_until(user, [&] { return !listening_; });
  return words_;
}

void window_test::on_window_thread(ImGuiTestContext& user, std::function<void()> work) {
  work_ = std::move(work);
  wait_until(user, [&] { return work_ == nullptr; });
}

void window_test::take_picture(ImGuiTestContext& user, const std::string& name) {
  const char* folder = std::getenv("SLUICE_TEST_PICTURES");
  if (folder == nullptr) return;
  user.Yield(2);
  on_window_thread(user, [&] {
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    const gui::gl::image shown = gui::gl::read_framebuffer(0, static_cast<int>(size.x), static_cast<int>(size.y));
    EXPECT_TRUE(gui::gl::write_png(shown, std::string(folder) + "/" + name + ".png"));
  });
}

void window_test::resize(ImGuiTestContext& user, int width, int height) {
  on_window_thread(user, [&] { glfwSetWindowSize(glfwGetCurrentContext(), width, height); });
  const auto has_it = [&] {
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    return static_cast<int>(size.x) == width && static_cast<int>(size.y) == height;
  };
  EXPECT_TRUE(wait_until(user, has_it)) << width << "x" << height;
  user.Yield(2);
}

ImVec2 window_test::get_place(time_ns time, float down) {
  const gui::draw::rectangle& area = app().find<gui::timeline_view>().axis_area();
  const time_range visible = app().state().active()->visible;
  const double share = static_cast<double>(time - visible.begin) / static_cast<double>(visible.length());
  return {area.min.x + static_cast<float>(share) * area.width(), area.min.y + down};
}

}  // namespace sluice::test
