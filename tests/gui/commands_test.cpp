// Commands run between frames, by id, and only while they are enabled.
#include "app/gui/shell/commands.hpp"

#include <gtest/gtest.h>

namespace sluice::gui {
namespace {

TEST(commands, run_when_the_queue_is_taken) {
  command_registry commands;
  int runs = 0;
  commands.add({.id = "a", .title = "A", .run = [&](const argument&) { ++runs; }});
  commands.invoke("a");
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(commands.run_queued());
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(commands.run_queued());
}

TEST(commands, that_views_act_on_have_run_for_one_frame) {
  command_registry commands;
  commands.add({.id = "copy", .title = "Copy"});
  EXPECT_FALSE(commands.just_ran("copy"));
  commands.invoke("copy");
  commands.run_queued();
  EXPECT_TRUE(commands.just_ran("copy"));
  EXPECT_FALSE(commands.just_ran("paste"));
  commands.run_queued();
  EXPECT_FALSE(commands.just_ran("copy"));
}

TEST(commands, get_their_argument) {
  command_registry commands;
  time_range got;
  commands.add({.id = "show", .run = [&](const argument& with) { got = std::get<time_range>(with); }});
  commands.invoke("show", time_range{3, 9});
  commands.run_queued();
  EXPECT_EQ(got, (time_range{3, 9}));
}

TEST(commands, that_are_disabled_or_unknown_do_nothing) {
  command_registry commands;
  int runs = 0;
  commands.add({.id = "never", .run = [&](const argument&) { ++runs; }, .enabled = [] { return false; }});
  commands.invoke("never");
  commands.invoke("no such");
  commands.run_queued();
  EXPECT_EQ(runs, 0);
}

TEST(commands, may_queue_others) {
  command_registry commands;
  int runs = 0;
  commands.add({.id = "first", .run = [&](const argument&) { commands.invoke("second"); }});
  commands.add({.id = "second", .run = [&](const argument&) { ++runs; }});
  commands.invoke("first");
  commands.run_queued();
  EXPECT_EQ(runs, 0);
  commands.run_queued();
  EXPECT_EQ(runs, 1);
}

TEST(commands, are_found_by_their_title_their_other_words_and_some_letters) {
  const command saves{.id = "s", .title = "Save table as CSV...", .group = "Panels", .words = "export"};
  for (const char* typed : {"csv", "CSV", "export", "save table", "table save", "panels", ""})
    EXPECT_EQ(match_score(saves, typed), 2) << typed;
  EXPECT_EQ(match_score(saves, "stc"), 1);
  EXPECT_EQ(match_score(saves, "png"), 0);
  EXPECT_EQ(match_score(saves, "xport csv zoom"), 0);
  EXPECT_EQ(match_score(saves, "epo"), 0) << "if letters of other words counted, everything would match";
}

TEST(keys, are_read_as_they_are_written) {
  ImGui::CreateContext();
  for (const ImGuiKeyChord chord : std::vector<ImGuiKeyChord>{ImGuiMod_Ctrl | ImGuiKey_Equal, ImGuiKey_Comma,
                                                              ImGuiKey_F3, ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_L,
                                                              ImGuiMod_Alt | ImGuiKey_LeftArrow, ImGuiKey_KeypadAdd}) {
    command with;
    with.keys = {chord};
    EXPECT_EQ(parse_chord(key_text(with)), chord) << key_text(with);
  }
  for (const char* text : {"", "Ctrl+", "No such key", "Ctrl"}) EXPECT_EQ(parse_chord(text), std::nullopt) << text;
  ImGui::DestroyContext();
}

TEST(keys, may_be_changed) {
  command_registry commands;
  commands.add({.id = "a", .title = "A", .keys = {ImGuiKey_A, ImGuiKey_B}});
  commands.set_key("a", ImGuiKey_C);
  EXPECT_EQ(commands.find("a")->keys, std::vector<ImGuiKeyChord>{ImGuiKey_C});
  commands.set_key("a", std::nullopt);
  EXPECT_TRUE(commands.find("a")->keys.empty());
  commands.set_key("no such", ImGuiKey_C);
}

TEST(keys, are_named_as_on_a_keyboard) {
  const auto text = [](ImGuiKeyChord chord) {
    ImGui::CreateContext();
    command with;
    with.keys = {chord};
    const std::string line = key_text(with);
    ImGui::DestroyContext();
    return line;
  };
  EXPECT_EQ(text(ImGuiMod_Ctrl | ImGuiKey_Equal), "Ctrl+=");
  EXPECT_EQ(text(ImGuiMod_Alt | ImGuiKey_LeftArrow), "Alt+Left");
  EXPECT_EQ(text(ImGuiKey_Comma), ",");
  EXPECT_EQ(text(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_L), "Ctrl+Shift+L");
  EXPECT_EQ(text(ImGuiKey_F3), "F3");
  EXPECT_EQ(key_text({}), "");
}

}  // namespace
}  // namespace sluice::gui
