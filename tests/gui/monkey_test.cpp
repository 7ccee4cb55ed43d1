// Random input: no sequence of commands, keys, clicks, sizes and recordings may crash or hang the window.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>

#include "imgui_internal.h"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

/// A number from the environment: SLUICE_MONKEY_SEED=N SLUICE_MONKEY_STEPS=N test_gui_window --gtest_filter='monkey.*'
std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class monkey : public window_test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / ("monkey-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);  // The window saves files here.
    setenv("EDITOR", "true", 1);
    config_folder = folder_ / "config";
    stays_open = true;
    window_test::SetUp();
    damage();
    recordings_ = {path, folder_ / "damaged.sluice", folder_ / "none.sluice"};
    for (const char* name : {"pytorch-training.sluice", "overlap.sluice"}) {
      std::filesystem::copy_file(SLUICE_SOURCE_DIR "/assets/recordings/" + std::string(name), folder_ / name);
      recordings_.push_back(folder_ / name);  // A copy, because its notes are saved beside it.
    }
  }
  void TearDown() override {
    window_test::TearDown();
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }

  void play(ImGuiTestContext& user, std::uint64_t seed, std::uint64_t steps) {
    random_.seed(seed);
    app().open(path);
    for (std::uint64_t step = 0; step < steps && !user.IsError() && !HasFatalFailure(); ++step) {
      act(user);
      if (const auto frames = static_cast<int>(up_to(3)); frames > 0) user.Yield(frames);
    }
    release(user);
    resize(user, 1280, 800);
    EXPECT_NE(read(user).find("File"), std::string::npos) << "the window still shows text";
  }

 private:
  /// A copy of the sample with some bytes changed.
  void damage() {
    std::ifstream in(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    for (int i = 0; i < 8; ++i) bytes[up_to(bytes.size())] ^= static_cast<char>(1 + up_to(255));
    std::ofstream(folder_ / "damaged.sluice", std::ios::binary) << bytes;
  }

  std::uint64_t up_to(std::uint64_t behind) {
    return std::uniform_int_distribution<std::uint64_t>(0, behind - 1)(random_);
  }
  template <class List>
  const auto& choose_one(const List& list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(up_to(std::size(list))));
  }
  ImVec2 anywhere() {
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    return {static_cast<float>(up_to(static_cast<std::uint64_t>(size.x) + 1)),
            static_cast<float>(up_to(static_cast<std::uint64_t>(size.y) + 1))};
  }
  ImGuiKey some_key() {
    static constexpr ImGuiKey keys[] = {ImGuiKey_A,         ImGuiKey_B,          ImGuiKey_C,     ImGuiKey_F,
                                        ImGuiKey_G,         ImGuiKey_H,          ImGuiKey_N,     ImGuiKey_P,
                                        ImGuiKey_R,         ImGuiKey_T,          ImGuiKey_V,     ImGuiKey_Z,
                                        ImGuiKey_0,         ImGuiKey_1,          ImGuiKey_Equal, ImGuiKey_Minus,
                                        ImGuiKey_Comma,     ImGuiKey_Period,     ImGuiKey_Slash, ImGuiKey_LeftArrow,
                                        ImGuiKey_Escape,    ImGuiKey_RightArrow, ImGuiKey_Enter, ImGuiKey_UpArrow,
                                        ImGuiKey_DownArrow, ImGuiKey_PageUp,     ImGuiKey_End,   ImGuiKey_Space,
                                        ImGuiKey_Tab,       ImGuiKey_F1,         ImGuiKey_F3,    ImGuiKey_F10,
                                        ImGuiKey_Menu,      ImGuiKey_Delete,     ImGuiKey_Home,  ImGuiKey_Backspace};
    return choose_one(keys);
  }
  ImGuiKeyChord some_modifiers() {
    static constexpr ImGuiKeyChord chord[] = {
        0, 0, 0, ImGuiMod_Ctrl, ImGuiMod_Shift, ImGuiMod_Alt, ImGuiMod_Ctrl | ImGuiMod_Shift};
    return choose_one(chord);
  }

  void command() {
    const gui::command& subject = choose_one(app().commands().all());
    if (up_to(4) > 0) return app().invoke(subject.id);
    // Runs commands with arguments that they may not expect.
    const gui::argument some[] = {std::string("no such thing"),
                                  std::string(choose_one(recordings_)),
                                  time_range{5, 5},
                                  time_range{-1'000'000, 1'000'000'000'000},
                                  0.5,
                                  -1e300,
                                  gui::blocks_filter{}};
    // Excluded, because the texts of these fields name programs and files of the user.
    const bool starts =
        subject.id.starts_with("record.") || subject.id.starts_with("source.") || subject.id.starts_with("demo.");
    app().invoke(subject.id, starts ? gui::argument() : choose_one(some));
  }
  /// Moves the mouse in one step, because the test engine's own movements take many frames.
  void point(ImGuiTestContext& user, ImVec2 at) { user.MouseTeleportToPos(at); }
  static void click(ImGuiTestContext& user, int button, ImGuiKeyChord modifiers) {
    if (modifiers != 0) user.KeyDown(modifiers);
    user.MouseClick(button);
    if (modifiers != 0) user.KeyUp(modifiers);
  }
  static void release(ImGuiTestContext& user) {
    for (int button = 0; button < 3; ++button)
      if (ImGui::GetIO().MouseDown[button]) user.MouseUp(button);
  }
  void act(ImGuiTestContext& user) {
    switch (up_to(12)) {
      case 0:
      case 1:
      case 2:
        return command();
      case 3:
      case 4:
        point(user, anywhere());
        return click(user, static_cast<int>(up_to(3)), some_modifiers());
      case 5:
        point(user, anywhere());
        return user.MouseDoubleClick();
      case 6:
        point(user, anywhere());
        user.MouseDown(static_cast<int>(up_to(3)));
        point(user, anywhere());
        user.Yield();
        point(user, anywhere());
        return release(user);
      case 7:
        point(user, anywhere());
        return user.MouseWheel(ImVec2(static_cast<float>(up_to(3)) - 1, static_cast<float>(up_to(21)) - 10));
      case 8:
      case 9:
        return user.KeyPress(static_cast<ImGuiKeyChord>(some_key()) | some_modifiers());
      case 10:
        return user.KeyChars(choose_one(words_));
      default:
        if (up_to(3) > 0) return app().open(choose_one(recordings_));
        return resize(user, 320 + static_cast<int>(up_to(1300)), 200 + static_cast<int>(up_to(800)));
    }
  }

  std::mt19937_64 random_;
  std::filesystem::path folder_;
  std::filesystem::path before_;
  std::vector<std::string> recordings_;
  static constexpr const char* words_[] = {"q", "7", "-1e99", "\xE2\x82\xAC", "select 1", "'", "..", "%n%s"};
};

TEST_F(monkey, does_anything_and_the_window_goes_on) {
  const std::uint64_t seed = number_from("SLUICE_MONKEY_SEED", 1);
  RecordProperty("seed", std::to_string(seed));
  use([&](ImGuiTestContext& user) { play(user, seed, number_from("SLUICE_MONKEY_STEPS", 400)); });
}

}  // namespace
}  // namespace sluice::test
