// Notes and saved views on disk: they are read back unchanged, and hostile files are refused with a one-line error.
#include "app/gui/shell/side_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/gui/sample.hpp"

namespace sluice::gui {
namespace {

class side_files : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path); }
  void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
  void expect_refused(const std::string& text, const std::string& why) const {
    write(text);
    const auto found = read_notes(path, subject);
    ASSERT_FALSE(found) << text;
    const std::string line = found.error().to_string();
    EXPECT_NE(line.find(why), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }

  const std::string path = test::own_path("notes.json");
  const recording_identity subject{"a.sluice", 1'700'000'000'000'000'000, 42};
  const std::string head =
      R"({"sluice_notes": 1, "recording": {"name": "a.sluice", "realtime_origin_ns": 1700000000000000000, "begin_ns": 42})";
};

TEST_F(side_files, keep_notes_as_they_were) {
  const std::vector<user_note> notes = {{{5, 5}, selection_kind::none, 0, "a moment"},
                                        {{10, 20}, selection_kind::none, 0, "a range, \"quoted\"\nand two lines"},
                                        {{30, 30}, selection_kind::block, 7, "Grüße"},
                                        {{40, 40}, selection_kind::event, 8, ""}};
  ASSERT_TRUE(write_notes(path, subject, notes));
  const auto found = read_notes(path, subject);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(*found, notes);
}

TEST_F(side_files, of_no_notes_are_not_found) {
  EXPECT_EQ(read_notes(path, subject).error().code, error_code::not_found);
}

TEST_F(side_files, about_another_recording_are_refused) {
  ASSERT_TRUE(write_notes(path, subject, {}));
  EXPECT_TRUE(read_notes(path, {"renamed.sluice", subject.realtime_origin, subject.begin}));
  const auto other = read_notes(path, {"a.sluice", subject.realtime_origin + 1, subject.begin});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, error_code::foreign);
}

TEST_F(side_files, with_hostile_content_are_refused_in_one_line) {
  expect_refused("", "at byte 0: is not a file of notes");
  expect_refused("[]", "expected a JSON object");
  expect_refused("{\"a\": \"\xFF\"}", "expected a JSON object");
  expect_refused("{\"a\": nothing}", "at byte 7: is not a file of notes: it is not JSON; expected a JSON object");
  expect_refused(std::string(100'000, '['), "at byte 100: is not a file of notes: it is nested deeper than 100 levels");
  // Deep nesting is refused even if it is closed, and in a member that the reader ignores.
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  expect_refused(head + ", \"notes\": [], \"more\": " + deep + "}", "nested deeper than 100 levels");
  expect_refused(head + ", \"notes\": [" + deep + "]}", "nested deeper than 100 levels");
  expect_refused("{}", "it has no \"sluice_notes\"");
  expect_refused(R"({"sluice_notes": 2})", "newer Sluice");
  expect_refused(R"({"sluice_notes": 1})", "which recording");
  expect_refused(head + "}", "no list of notes");
  expect_refused(head + R"(, "notes": [7]})", "note 1 is not an object");
  expect_refused(head + R"(, "notes": [{"text": "x"}]})", "no valid time");
  expect_refused(head + R"(, "notes": [{"text": "x", "time": {"begin_ns": 5, "end_ns": 4}}]})", "no valid time");
  expect_refused(head + R"(, "notes": [{"text": "x", "time": {"begin_ns": 1e400, "end_ns": 4}}]})", "expected a JSON");
  expect_refused(head + R"(, "notes": [{"text": "x", "time": {"begin_ns": 18446744073709551615, "end_ns": 4}}]})",
                 "no valid time");
  expect_refused(head + R"(, "notes": [{"time": {"begin_ns": 1, "end_ns": 4}}]})", "no text");
  expect_refused(
      head + R"(, "notes": [{"time": {"begin_ns": 1, "end_ns": 4}, "text": ")" + std::string(5000, 'x') + R"("}]})",
      "no text of at most");
  std::string many = head + ", \"notes\": [0";
  for (int i = 0; i < 10'000; ++i) many += ",0";
  expect_refused(many + "]}", "at most 10000");
}

TEST_F(side_files, that_are_too_large_are_not_read) {
  write("");
  std::filesystem::resize_file(path, std::uintmax_t{10} << 30);  // A sparse file, which takes no disk space.
  const auto notes = read_notes(path, subject);
  ASSERT_FALSE(notes);
  EXPECT_NE(notes.error().to_string().find("too large: 10737418240 bytes; expected at most"), std::string::npos)
      << notes.error().to_string();
  EXPECT_FALSE(read_saved_view(path));
}

TEST_F(side_files, keep_a_view_as_it_was) {
  saved_view view;
  view.recording = subject;
  view.visible = {100, 2000};
  view.range = time_range{150, 160};
  view.moment = 155;
  view.selected = selection_kind::block;
  view.id = 12;
  view.memory_by_category = false;
  view.kept.pinned = {0xffff'ffff'ffff'0000};
  view.kept.generations = {7, 9};
  view.kept.queries = {"SELECT time FROM kernels"};
  view.kept.blocks = blocks_filter{.text = "model.py"};
  ASSERT_TRUE(write_saved_view(path, view));
  const auto found = read_saved_view(path);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->visible, view.visible);
  EXPECT_EQ(found->range, view.range);
  EXPECT_EQ(found->moment, view.moment);
  EXPECT_EQ(found->selected, view.selected);
  EXPECT_EQ(found->id, view.id);
  EXPECT_FALSE(found->memory_by_category);
  EXPECT_TRUE(found->recording.matches(subject));
  EXPECT_EQ(found->kept, view.kept);
}

TEST_F(side_files, of_a_view_of_an_older_version_are_read) {
  write(R"({"sluice_view": 1, "recording": {"name": "a.sluice", "realtime_origin_ns": 0, "begin_ns": 0},)"
        R"( "visible": {"begin_ns": 0, "end_ns": 9}, "memory_by_category": true})");
  const auto found = read_saved_view(path);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->kept, kept_view{});
}

TEST_F(side_files, of_a_view_that_is_nested_too_deep_are_refused_in_one_line) {
  const std::string view =
      R"({"sluice_view": 1, "recording": {"name": "a.sluice", "realtime_origin_ns": 0, "begin_ns": 0},)"
      R"( "visible": {"begin_ns": 0, "end_ns": 9}, "views": )";
  write(view + std::string(100'000, '[') + std::string(100'000, ']') + "}");
  const auto found = read_saved_view(path);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().to_string().find("deeper than 100 levels"), std::string::npos) << found.error().to_string();
  EXPECT_EQ(found.error().offset, view.size() + 99);
}

TEST_F(side_files, of_a_view_with_hostile_views_are_refused_in_one_line) {
  write(R"({"sluice_view": 1, "recording": {"name": "a.sluice", "realtime_origin_ns": 0, "begin_ns": 0},)"
        R"( "visible": {"begin_ns": 0, "end_ns": 9}, "views": {"blocks": {"layer": "cellar"}}})");
  const auto found = read_saved_view(path);
  ASSERT_FALSE(found);
  const std::string line = found.error().to_string();
  EXPECT_NE(line.find(path), std::string::npos) << line;
  EXPECT_NE(line.find("\"layer\""), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

TEST_F(side_files, of_a_view_name_no_file_in_another_folder) {
  for (const char* name : {"../secret", "/etc/passwd", "..", ".", "", "a/b"}) {
    write(std::string(R"({"sluice_view": 1, "recording": {"name": ")") + name +
          R"(", "realtime_origin_ns": 0, "begin_ns": 0}, "visible": {"begin_ns": 0, "end_ns": 9}})");
    const auto found = read_saved_view(path);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code, error_code::corrupt);
  }
}

TEST(side_file_paths, lie_beside_the_recording_or_in_the_config_folder) {
  EXPECT_EQ(notes_path("/data/a.sluice"), "/data/a.sluice.notes.json");
  EXPECT_EQ(notes_path_in("", "/data/a.sluice"), "");
  EXPECT_NE(notes_path_in("/c", "/data/a.sluice"), notes_path_in("/c", "/data/b.sluice"));
  EXPECT_TRUE(notes_path_in("/c", "/data/a.sluice").starts_with("/c/notes/"));
  saved_view view;
  view.recording.name = "a.sluice";
  EXPECT_EQ(find_recording("/tmp/x.sluiceview", view), "/tmp/a.sluice");
}

}  // namespace
}  // namespace sluice::gui
