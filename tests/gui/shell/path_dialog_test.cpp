// The file dialog: paths that are typed or pasted, the list of files, and the question before a file is replaced.
#include "app/gui/shell/files/path_dialog.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "imgui_internal.h"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

TEST(path_typed, is_absolute_also_when_pasted_behind_other_text) {
  EXPECT_EQ(gui::path_typed("/a/b.sluice", "/from"), "/a/b.sluice");
  EXPECT_EQ(gui::path_typed("runs//work/x", "/from"), "/work/x");
  EXPECT_EQ(gui::path_typed("/a/b//c/d", "/from"), "/c/d");
  EXPECT_EQ(gui::path_typed("/a//b//c", "/from"), "/c");
}

TEST(path_typed, is_in_the_folder_of_the_dialog_when_relative) {
  EXPECT_EQ(gui::path_typed("x.csv", "/from"), "/from/x.csv");
  EXPECT_EQ(gui::path_typed("runs/x.csv", "/from/"), "/from/runs/x.csv");
  EXPECT_EQ(gui::path_typed("", "/from"), "/from/");
}

TEST(complete_path, extends_the_last_name_as_far_as_all_names_agree) {
  EXPECT_EQ(gui::complete_path("/a/ru", {"run-1.sluice", "run-2.sluice"}), "/a/run-");
  EXPECT_EQ(gui::complete_path("/a/ru", {"runs/"}), "/a/runs/");
  EXPECT_EQ(gui::complete_path("ru", {"run.sluice"}), "run.sluice");
  EXPECT_EQ(gui::complete_path("/a/", {"b.sluice"}), "/a/b.sluice");
  EXPECT_EQ(gui::complete_path("/a/x", {}), "/a/x");
  EXPECT_EQ(gui::complete_path("/a/", {"b", "c"}), "/a/") << "nothing in common";
}

class path_dialog : public window_test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder / "zfolder");
    window_test::SetUp();
  }
  void TearDown() override {
    window_test::TearDown();
    std::filesystem::remove_all(folder);
  }
  void make(const std::string& name, const std::string& text) const { std::ofstream(folder / name) << text; }
  std::string make_content(const std::string& name) const {
    std::ifstream in(folder / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void paste(ImGuiTestContext& user, const std::string& text) {
    ImGui::SetClipboardText(text.c_str());
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_V);
    user.Yield(2);
  }
  void type(ImGuiTestContext& user, const std::string& text) {
    user.Yield(3);
    user.ItemInput("//###path/##path_text");
    user.KeyCharsReplace(text.c_str());
    user.Yield(2);
  }
  void save_table(ImGuiTestContext& user) {
    app().invoke("table.save", gui::table_text{"Blocks", "bytes\n1\n"});
    user.Yield(4);
  }
  static bool is_open() {
    const ImGuiWindow* window = ImGui::FindWindowByName("###path");
    return window != nullptr && window->Active;
  }

  const std::filesystem::path folder = std::filesystem::absolute(own_path("paths"));
};

TEST_F(path_dialog, has_its_text_selected_so_that_a_pasted_path_replaces_it) {
  use([&](ImGuiTestContext& user) {
    app().invoke("file.type_path");
    user.Yield(6);
    paste(user, std::filesystem::absolute(path).string());
    user.KeyPress(ImGuiKey_Enter);
    EXPECT_TRUE(wait_until(user, [&] { return app().state().ready(); })) << app().notice();
    EXPECT_EQ(app().state().active()->path, std::filesystem::absolute(path).string());
  });
}

TEST_F(path_dialog, takes_an_absolute_path_that_was_pasted_behind_the_folder) {
  use([&](ImGuiTestContext& user) {
    app().invoke("file.type_path");
    user.Yield(6);
    user.KeyPress(ImGuiKey_End);
    paste(user, std::filesystem::absolute(path).string());
    user.ItemClick("//###path/Open");
    EXPECT_TRUE(wait_until(user, [&] { return app().state().ready(); })) << app().notice();
    EXPECT_EQ(app().state().active()->path, std::filesystem::absolute(path).string());
  });
}

TEST_F(path_dialog, lists_folders_and_what_can_be_opened_first) {
  make("a.txt", "");
  make("b.sluice", "");
  make("c.json", "");
  use([&](ImGuiTestContext& user) {
    app().invoke("file.type_path");
    type(user, folder.string() + "/");
    EXPECT_TRUE(wait_until(user, [&] { return read(user).find("a.txt") != std::string::npos; }));
    take_picture(user, "open-path");
    const std::string words = read(user);
    EXPECT_LT(words.find("zfolder"), words.find("b.sluice"));
    EXPECT_LT(words.find("b.sluice"), words.find("c.json"));
    EXPECT_LT(words.find("c.json"), words.find("a.txt"));
  });
}

TEST_F(path_dialog, completes_the_only_match_with_tab_or_enter_and_shows_size_and_date) {
  std::filesystem::copy_file(path, folder / "zfolder/only one.sluice");
  use([&](ImGuiTestContext& user) {
    app().invoke("file.type_path");
    user.Yield(3);
    type(user, folder.string() + "/zf");
    EXPECT_TRUE(wait_until(user, [&] { return read(user).find("zfolder/") != std::string::npos; }));
    user.KeyPress(ImGuiKey_Tab);
    EXPECT_TRUE(wait_until(user, [&] { return read(user).find("today ") != std::string::npos; })) << read(user);
    EXPECT_NE(read(user).find("KiB"), std::string::npos);
    take_picture(user, "open-path-completed");
    user.KeyChars("on");
    EXPECT_TRUE(wait_until(user, [&] { return read(user).find("zfolder/on") != std::string::npos; }));
    user.KeyPress(ImGuiKey_Enter);
    EXPECT_TRUE(wait_until(user, [&] { return app().state().ready(); })) << app().notice();
    EXPECT_EQ(app().state().active()->path, (folder / "zfolder/only one.sluice").string());
  });
}

TEST_F(path_dialog, saves_by_its_button_and_says_where) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    save_table(user);
    type(user, (folder / "new.csv").string());
    user.ItemClick("//###path/Save");
    EXPECT_TRUE(
        wait_until(user, [&] { return app().notices().reported() == "Saved " + (folder / "new.csv").string(); }));
    EXPECT_NE(read(user).find(app().notices().reported()), std::string::npos);
    take_picture(user, "saved");
    EXPECT_EQ(make_content("new.csv"), "bytes\n1\n");
    EXPECT_FALSE(is_open());
  });
}

TEST_F(path_dialog, asks_before_it_replaces_a_file) {
  make("old.csv", "old");
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    save_table(user);
    type(user, (folder / "old.csv").string());
    user.KeyPress(ImGuiKey_Enter);
    EXPECT_TRUE(wait_until(user, [&] { return read(user).find("old.csv already exists") != std::string::npos; }));
    take_picture(user, "replace");
    user.ItemClick("//###path/Keep it");
    user.Yield(3);
    EXPECT_TRUE(is_open());
    user.ItemClick("//###path/Save");
    EXPECT_TRUE(wait_until(user, [&] { return read(user).find("old.csv already exists") != std::string::npos; }));
    EXPECT_EQ(make_content("old.csv"), "old");
    user.ItemClick("//###path/Replace it");
    EXPECT_TRUE(wait_until(user, [&] { return make_content("old.csv") == "bytes\n1\n"; })) << app().notice();
  });
}

TEST_F(path_dialog, saves_nothing_when_it_is_cancelled) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    save_table(user);
    type(user, (folder / "none.csv").string());
    user.ItemClick("//###path/Cancel");
    user.Yield(4);
    EXPECT_FALSE(is_open());
    EXPECT_FALSE(std::filesystem::exists(folder / "none.csv"));
  });
}

TEST_F(path_dialog, saves_the_table_of_the_row_that_has_the_focus_from_the_palette) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    const auto find = [&](const char* words) {
      user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
      user.Yield(3);
      user.KeyChars(words);
      user.Yield(2);
      user.KeyPress(ImGuiKey_Enter);
      user.Yield(6);
    };
    user.ItemClick("//Blocks/**/##row");
    user.Yield(3);
    find("csv");
    EXPECT_TRUE(is_open());
    EXPECT_NE(read(user).find("-Blocks.csv"), std::string::npos);
    take_picture(user, "save-path");
  });
}

}  // namespace
}  // namespace sluice::test
