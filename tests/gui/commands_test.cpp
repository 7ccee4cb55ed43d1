// Commands run between frames, by id, and only while they are enabled.
#include "app/gui/shell/commands.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "app/gui/application/application.hpp"

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

struct counter {
  int value = 0;
};

TEST(command_rows, become_commands_that_act_on_their_context) {
  static constexpr command_row<counter*> rows[] = {{.id = "count.up",
                                                    .title = "Count",
                                                    .group = "Edit",
                                                    .words = "add",
                                                    .keys = {ImGuiKey_A, ImGuiMod_Ctrl | ImGuiKey_A},
                                                    .repeats = true,
                                                    .run = [](auto& at, auto&) { ++at->value; },
                                                    .enabled = [](auto& at) { return at->value < 1; },
                                                    .checked = [](auto& at) { return at->value == 1; }},
                                                   {.id = "count.copy"}};
  counter counted;
  command_registry commands;
  commands.add(rows, &counted);
  const command& up = commands.all().at(0);
  EXPECT_EQ(up.title + up.group + up.words, "CountEditadd");
  EXPECT_EQ(up.keys, (std::vector<ImGuiKeyChord>{ImGuiKey_A, ImGuiMod_Ctrl | ImGuiKey_A}));
  EXPECT_TRUE(up.repeats);
  for (int i = 0; i < 2; ++i) {
    commands.invoke("count.up");
    commands.run_queued();
  }
  EXPECT_EQ(counted.value, 1) << "the second time, it was disabled";
  EXPECT_TRUE(up.checked());
  EXPECT_TRUE(commands.all().at(1).keys.empty());
  EXPECT_FALSE(commands.all().at(1).run) << "a view performs it";
}

/// The commands of the window, without the window.
class commands_of_the_window : public ::testing::Test {
 protected:
  application app{{}};
  const std::vector<command>& all() { return app.commands().all(); }
};

TEST_F(commands_of_the_window, have_each_key_once) {
  std::map<ImGuiKeyChord, std::string> taken;
  for (const command& each : all())
    for (const ImGuiKeyChord chord : each.keys) {
      const auto [other, fresh] = taken.try_emplace(chord, each.id);
      EXPECT_TRUE(fresh) << each.id << " and " << other->second;
    }
}

TEST_F(commands_of_the_window, that_have_a_title_belong_to_a_group) {
  const std::set<std::string> groups = {"File",     "Edit",   "View",       "Panels",  "Layouts",
                                        "Timeline", "Memory", "Analyze",    "Compare", "Notes",
                                        "Demo",     "Help",   "Memory map", "Query",   "Go"};
  for (const command& each : all()) {
    if (each.title.empty()) {
      EXPECT_TRUE(each.keys.empty()) << each.id << " needs an argument, which a key does not have";
      continue;
    }
    EXPECT_TRUE(groups.contains(each.group)) << each.id << ": " << each.group;
  }
}

TEST_F(commands_of_the_window, that_need_a_recording_are_disabled_without_one) {
  for (const char* id : {"timeline.zoom_in", "search.open", "map.open", "statistics.per_step", "compare.open",
                         "file.close", "selection.reveal", "notes.add", "query.run"}) {
    ASSERT_NE(app.commands().find(id), nullptr) << id;
    EXPECT_FALSE(app.commands().enabled(*app.commands().find(id))) << id;
  }
  for (const char* id : {"file.open", "help.keys", "window.theme", "window.palette"})
    EXPECT_TRUE(app.commands().enabled(*app.commands().find(id))) << id;
}

TEST_F(commands_of_the_window, show_each_panel_but_that_in_the_centre) {
  for (const auto& each : app.panels().views()) {
    const bool has_tab = each->info.place != panel_place::centre;
    EXPECT_EQ(app.commands().find(std::string("panel.") + each->name()) != nullptr, has_tab) << each->name();
    if (*each->info.open.id != '\0') {
      EXPECT_NE(app.commands().find(each->info.open.id), nullptr);
    }
  }
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
