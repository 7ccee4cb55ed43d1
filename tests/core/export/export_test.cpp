// Behavior common to all exports: selection, destinations, and cleanup after a failure. CSV stands for all formats.
#include "core/export/export.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/core/recordings/recording.hpp"

namespace sluice::exports {
namespace {

namespace fs = std::filesystem;

class export_test : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("sluice-export-" + std::to_string(::getpid()) + "-" +
                                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    made_.standard_tables();
    for (int i = 0; i < 10; ++i)
      made_.add_copy(i * 10, i * 10 + 5, 100 + static_cast<std::uint64_t>(i), trace::direction::h2d,
                     trace::memory_kind::pinned, i % 2 == 0 ? 1 : 2);
    made_.add_alloc(3, 7, 1000, trace::memory_kind::device, trace::layer::driver, "quoted, \"name\"");
    made_.add_free(50, 7);
    ASSERT_TRUE(made_.writer().close());
    file_ = trace::file::open(made_.path()).value();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string place(const char* name) const { return (folder_ / name).string(); }

  static std::string to_text(const std::string& path) {
    std::ifstream in(path);
    std::stringstream stringstream;
    stringstream << in.rdbuf();
    return stringstream.str();
  }

  /// The lines of table `name` without the heading.
  std::vector<std::string> lines(const char* name, options wanted = {}) {
    wanted.tables = {name};
    const std::string path = place("table.csv");
    const auto done = write(*file_->latest(), *find_format("csv"), path, wanted);
    EXPECT_TRUE(done) << done.error().to_string();
    std::istringstream in(to_text(path));
    std::vector<std::string> strings;
    for (std::string line; std::getline(in, line);) strings.push_back(line);
    EXPECT_FALSE(strings.empty());
    strings.erase(strings.begin());
    return strings;
  }

  fs::path folder_;
  testing::recording made_{4};
  std::shared_ptr<trace::file> file_;
};

TEST_F(export_test, writes_a_table_as_a_file) {
  EXPECT_EQ(lines("transfer").size(), 10U);
  const auto allocs = lines("alloc");
  ASSERT_EQ(allocs.size(), 1U);
  EXPECT_TRUE(allocs[0].ends_with("\"quoted, \"\"name\"\"\"")) << allocs[0];
}

TEST_F(export_test, writes_all_tables_into_a_folder) {
  const auto done = write(*file_->latest(), *find_format("csv"), place("all"), {});
  ASSERT_TRUE(done) << done.error().to_string();
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(place("all"))) files.insert(entry.path().filename().string());
  EXPECT_EQ(files, (std::set<std::string>{"alloc.csv", "device.csv", "free.csv", "process.csv", "stream.csv",
                                          "thread.csv", "transfer.csv"}));
  EXPECT_EQ(done->rows, 16U);
}

TEST_F(export_test, takes_what_overlaps_a_range) {
  options wanted;
  wanted.range = time_range{15, 40};  // The copy of [10, 15] touches it, that of [40, 45] does not.
  EXPECT_EQ(lines("transfer", wanted).size(), 3U);
  EXPECT_EQ(lines("free", wanted).size(), 0U);
}

TEST_F(export_test, takes_what_is_about_a_subject) {
  options wanted;
  wanted.only = {parse_subject("stream:2").value()};
  EXPECT_EQ(lines("transfer", wanted).size(), 5U);
  EXPECT_EQ(lines("alloc", wanted).size(), 0U);
  wanted.only.push_back(parse_subject("stream:1").value());  // Both streams with this number match.
  EXPECT_EQ(lines("transfer", wanted).size(), 10U);
  wanted.only.push_back(parse_subject("event:1").value());  // Selects only this event on those streams.
  EXPECT_EQ(lines("transfer", wanted).size(), 1U);
  wanted.only = {parse_subject("block:7").value()};
  EXPECT_EQ(lines("alloc", wanted).size(), 1U);
  EXPECT_EQ(lines("free", wanted).size(), 1U);
  EXPECT_EQ(lines("process", wanted).size(), 1U);
}

TEST_F(export_test, a_subject_is_a_kind_and_an_id) {
  EXPECT_FALSE(parse_subject("stream"));
  EXPECT_FALSE(parse_subject("stream:"));
  EXPECT_FALSE(parse_subject("stream:7x"));
  EXPECT_FALSE(parse_subject("stream:0"));
  EXPECT_FALSE(parse_subject("stream:-1"));
  EXPECT_FALSE(parse_subject("cow:1"));
}

TEST_F(export_test, redacts_by_what_a_column_holds) {
  options wanted;
  wanted.redact = redaction::all();
  const auto processes = lines("process", wanted);
  ASSERT_EQ(processes.size(), 1U);
  EXPECT_NE(processes[0].find("dir1/python [redacted]"), std::string::npos) << processes[0];
}

TEST_F(export_test, leaves_nothing_behind_when_cancelled) {
  const std::atomic<bool> stop{true};
  options wanted;
  wanted.cancelled = &stop;
  wanted.tables = {"transfer"};
  std::ofstream(place("kept.csv")) << "as it was";
  const auto done = write(*file_->latest(), *find_format("csv"), place("kept.csv"), wanted);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, error_code::cancelled);
  EXPECT_EQ(to_text(place("kept.csv")), "as it was");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}), 1);
}

TEST_F(export_test, says_what_is_wrong_with_the_place) {
  options wanted;
  wanted.tables = {"transfer"};
  EXPECT_FALSE(write(*file_->latest(), *find_format("csv"), place("no/folder/x.csv"), wanted));
  EXPECT_FALSE(write(*file_->latest(), *find_format("csv"), folder_.string(), wanted));
  EXPECT_FALSE(write(*file_->latest(), *find_format("csv"), "/dev/full", wanted));
  std::ofstream(place("file")) << "x";
  EXPECT_FALSE(write(*file_->latest(), *find_format("csv"), place("file"), {}));
  wanted.tables = {"cow"};
  const auto unknown = write(*file_->latest(), *find_format("csv"), place("x.csv"), wanted);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, error_code::invalid_argument);
}

TEST_F(export_test, tells_how_far_it_is) {
  std::vector<float> reported;
  options wanted;
  wanted.progress = [&](float share) { reported.push_back(share); };
  ASSERT_TRUE(write(*file_->latest(), *find_format("csv"), place("all"), wanted));
  ASSERT_FALSE(reported.empty());
  EXPECT_TRUE(std::is_sorted(reported.begin(), reported.end()));
  EXPECT_EQ(reported.back(), 1);
}

TEST_F(export_test, the_suffix_tells_the_format) {
  ASSERT_NE(format_of_file("a/b.csv"), nullptr);
  EXPECT_EQ(format_of_file("a/b.csv")->name, "csv");
  EXPECT_EQ(format_of_file("a/b.unknown"), nullptr);
  std::set<std::string_view> names;
  for (const format& each : formats()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_FALSE(each.about.empty()) << each.name;
  }
}

}  // namespace
}  // namespace sluice::exports
