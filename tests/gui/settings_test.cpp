// Settings that the window saves.
#include "app/gui/shell/settings.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/gui/sample.hpp"

namespace sluice::gui {
namespace {

class settings_test : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  const std::string folder = test::own_path("settings");
};

TEST_F(settings_test, are_the_same_at_the_next_start) {
  settings first(folder);
  first.theme = theme_kind::light;
  first.text_scale = 1.21F;
  first.memory_by_category = false;
  first.width = 1000;
  first.add_recent("/data/a file.sluice");
  const settings second(folder);
  EXPECT_EQ(second.theme, theme_kind::light);
  EXPECT_FLOAT_EQ(second.text_scale, 1.21F);
  EXPECT_FALSE(second.memory_by_category);
  EXPECT_EQ(second.width, 1000);
  ASSERT_EQ(second.recent().size(), 1U);
  EXPECT_EQ(second.recent()[0], "/data/a file.sluice");
}

TEST_F(settings_test, list_recent_files_newest_first_without_repeats) {
  settings some("");
  for (int i = 0; i < 20; ++i) some.add_recent("/" + std::to_string(i % 15));
  EXPECT_EQ(some.recent().size(), settings::recent_limit);
  EXPECT_EQ(some.recent()[0], "/4");
  some.forget_recent();
  EXPECT_TRUE(some.recent().empty());
}

recent_verdict get_verdict(const std::string& text, bool bad = false) {
  return {{true, 12'345, 1'764'500'000'123'456'789}, {text, bad, 71'000'000'000}};
}

TEST_F(settings_test, keep_the_verdicts_on_recent_files) {
  settings first(folder);
  first.add_recent("/data/b.sluice");
  first.add_recent("/data/a file.sluice");
  first.remember_verdict("/data/a file.sluice", get_verdict("GPU 91 % busy, peak 71.0 of 80.0 GiB"));
  first.remember_verdict("/data/./b.sluice", get_verdict("out of memory, short by 1.20 GiB", true));
  first.remember_verdict("/data/never opened.sluice", get_verdict("GPU 1 % busy"));
  const settings second(folder);
  EXPECT_EQ(second.recent(), (std::vector<std::string>{"/data/a file.sluice", "/data/b.sluice"}));
  ASSERT_NE(second.find_verdict("/data/a file.sluice"), nullptr);
  EXPECT_EQ(*second.find_verdict("/data/a file.sluice"), get_verdict("GPU 91 % busy, peak 71.0 of 80.0 GiB"));
  ASSERT_NE(second.find_verdict("/data/b.sluice"), nullptr);
  EXPECT_EQ(*second.find_verdict("/data/b.sluice"), get_verdict("out of memory, short by 1.20 GiB", true));
  EXPECT_EQ(second.find_verdict("/data/never opened.sluice"), nullptr);
}

TEST_F(settings_test, forget_the_verdicts_with_their_files) {
  settings some("");
  some.add_recent("/first");
  some.remember_verdict("/first", get_verdict("GPU 91 % busy"));
  for (std::size_t i = 0; i < settings::recent_limit; ++i) some.add_recent("/" + std::to_string(i));
  EXPECT_EQ(some.find_verdict("/first"), nullptr);
  some.remember_verdict("/1", get_verdict("GPU 91 % busy"));
  some.forget_recent();
  EXPECT_EQ(some.find_verdict("/1"), nullptr);
}

TEST_F(settings_test, without_verdicts_are_read_as_before) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/settings") << "recent /a\nrecent /b\nverdict what is this\nverdict 1 2 3 odd text\n";
  const settings read(folder);
  EXPECT_EQ(read.recent(), (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(read.find_verdict("/a"), nullptr);
  EXPECT_EQ(read.find_verdict("/b"), nullptr);
}

TEST_F(settings_test, keep_what_was_asked_with_its_lines) {
  settings first(folder);
  first.add_query("SELECT 1\nFROM \\n");
  first.add_query("SELECT 2");
  first.add_query(std::string(settings::query_length + 1, 'x'));
  const settings second(folder);
  EXPECT_EQ(second.queries(), (std::vector<std::string>{"SELECT 2", "SELECT 1\nFROM \\n"}));
  first.add_query("SELECT 1\nFROM \\n");
  EXPECT_EQ(first.queries().size(), 2U);
  EXPECT_EQ(first.queries()[1], "SELECT 2");
}

TEST_F(settings_test, keep_recorded_commands_and_what_was_open) {
  settings first(folder);
  first.add_command("python 'a b.py'");
  first.add_command("./solver");
  first.add_command("python 'a b.py'");
  first.last_session = {{"/data/a b.sluice", -5, 7, R"({"by_process":true})"}, {"/c", 1, 2}};
  first.save();
  const settings second(folder);
  EXPECT_EQ(second.commands(), (std::vector<std::string>{"python 'a b.py'", "./solver"}));
  ASSERT_EQ(second.last_session.size(), 2U);
  EXPECT_EQ(second.last_session[0].path, "/data/a b.sluice");
  EXPECT_EQ(second.last_session[0].begin, -5);
  EXPECT_EQ(second.last_session[0].end, 7);
  EXPECT_EQ(second.last_session[0].views, R"({"by_process":true})");
  EXPECT_EQ(second.last_session[1].views, "");
}

TEST_F(settings_test, survive_a_file_of_nonsense) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/settings")
      << "theme\n\0\xff\ntext 9999999999999\nwidth -5\nrecent \nopen 5 3 /x\nopen x\nopen 1 2\nwhat is this";
  const settings read(folder);
  EXPECT_EQ(read.theme, theme_kind::dark);
  EXPECT_FLOAT_EQ(read.text_scale, 1);
  EXPECT_GT(read.width, 0);
  EXPECT_TRUE(read.memory_by_category);
  EXPECT_TRUE(read.last_session.empty());
}

TEST_F(settings_test, that_cannot_be_read_are_left_as_they_are) {
  std::filesystem::create_directories(folder);
  const std::string huge(std::size_t{2} << 20, 'x');
  std::ofstream(folder + "/settings") << huge;
  settings some(folder);
  EXPECT_NE(some.trouble().find("will not be saved"), std::string::npos) << some.trouble();
  some.add_recent("/a");
  some.save();
  EXPECT_EQ(std::filesystem::file_size(folder + "/settings"), huge.size());
}

std::string get_layout(std::size_t nodes) {
  std::string text = "[Docking][Data]\n";
  for (std::size_t i = 1; i <= nodes; ++i)
    text +=
        "DockNode ID=0x" + std::to_string(10'000'000 + i) + " Parent=0x" + std::to_string(10'000'000 + i - 1) + "\n";
  return text;
}

TEST_F(settings_test, of_a_layout_that_imgui_would_not_bear_are_left_as_they_are) {
  settings some(folder);
  EXPECT_EQ(some.read_layout().error().code, error_code::not_found);
  std::filesystem::create_directories(folder);
  some.save_layout(get_layout(settings::max_dock_nodes));
  EXPECT_EQ(some.read_layout(), get_layout(settings::max_dock_nodes));
  std::ofstream(folder + "/layout.ini") << get_layout(100'000);
  const auto deep = some.read_layout();
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().to_string().find("more than 256 dock nodes"), std::string::npos) << deep.error().to_string();
  some.save_layout("another");
  EXPECT_EQ(std::filesystem::file_size(folder + "/layout.ini"), get_layout(100'000).size());
}

TEST_F(settings_test, do_not_stop_the_program_where_nothing_can_be_written) {
  settings read("/proc/nowhere");
  read.add_recent("/a");
  EXPECT_EQ(read.recent().size(), 1U);
}

}  // namespace
}  // namespace sluice::gui
