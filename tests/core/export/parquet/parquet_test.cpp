// The data set of Parquet files, with a Python that only pretends to write. data_set_test.py checks real files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "core/export/export.hpp"
#include "core/export/parquet/partitions.hpp"
#include "tests/core/query/sql/sql_fixture.hpp"
#include "tests/core/trace/random_rows.hpp"

namespace sluice::exports {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class parquet_export : public query::sql_test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "sluice-parquet-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    fs::create_directory(folder_ / "bin");
    path_before_ = getenv("PATH");
    setenv("PATH", ((folder_ / "bin").string() + ":" + path_before_).c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", path_before_.c_str(), 1);
    fs::remove_all(folder_);
  }

  /// Installs a shell script that runs instead of python3; it is started as `python3 -c SCRIPT FOLDER`.
  void python(const std::string& script) {
    const fs::path at = folder_ / "bin" / "python3";
    std::ofstream(at) << "#!/bin/sh\n" << script;
    fs::permissions(at, fs::perms::owner_all);
  }
  /// Installs a python3 that reads all input and writes a file of run "a".
  void pretend() {
    python(
        "echo ready 1.0\n"
        "mkdir -p \"$3/events/run=$RUN/rank=0\"; echo new > \"$3/events/run=$RUN/rank=0/part-0.parquet\"\n"
        "grep -a -q '{\"end\": true}' && echo done 4\n");
  }
  void record() {
    made_.standard_tables();
    made_.writer().add(made_.event<trace::marker_event>(5));
    open();
  }

  result<written_summary> write(const std::string& run, bool replaces = false, const std::string& to = "data") {
    setenv("RUN", run.c_str(), 1);
    options wanted;
    wanted.name = run;
    wanted.replaces = replaces;
    return exports::write(*trace_, *find_format("parquet"), (folder_ / to).string(), wanted);
  }
  [[nodiscard]] std::vector<std::string> files(const std::string& in = "data") const {
    std::vector<std::string> strings;
    if (!fs::exists(folder_ / in)) return strings;
    for (const auto& each : fs::recursive_directory_iterator(folder_ / in))
      if (each.is_regular_file()) strings.push_back(each.path().lexically_relative(folder_ / in).string());
    std::sort(strings.begin(), strings.end());
    return strings;
  }

  fs::path folder_;
  std::string path_before_;
};

TEST_F(parquet_export, says_what_to_install_where_python_lacks_pyarrow) {
  record();
  python("echo missing No module named pyarrow\n");
  const auto tried = write("a");
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().code, error_code::unavailable);
  EXPECT_THAT(tried.error().to_string(), HasSubstr("needs pyarrow 11 or later"));
  EXPECT_THAT(tried.error().to_string(), HasSubstr("pip install pyarrow"));
  EXPECT_FALSE(fs::exists(folder_ / "data"));
}

TEST_F(parquet_export, says_why_python_fails) {
  record();
  python("echo a broken installation >&2; exit 1\n");
  const auto tried = write("a");
  ASSERT_FALSE(tried);
  EXPECT_THAT(tried.error().to_string(), HasSubstr("a broken installation"));
}

TEST_F(parquet_export, leaves_nothing_behind_when_python_dies_or_complains) {
  record();
  for (const char* script :
       {"echo ready 1.0; exit 1\n", "echo ready 1.0; mkdir -p \"$3/events\"; echo error 28 No space left\n"}) {
    python(script);
    EXPECT_FALSE(write("a")) << script;
    EXPECT_FALSE(fs::exists(folder_ / "data"));
  }
}

TEST_F(parquet_export, tells_a_full_disk_from_other_errors) {
  record();
  python("echo ready 1.0; grep -a -q '{\"end\": true}'; echo error 28 No space left on device\n");
  EXPECT_EQ(write("a").error().code, error_code::no_space);
  python("echo ready 1.0; grep -a -q '{\"end\": true}'; echo error 5 Input/output error\n");
  EXPECT_EQ(write("a").error().code, error_code::io);
}

TEST_F(parquet_export, adds_runs_to_a_data_set) {
  record();
  pretend();
  ASSERT_TRUE(write("a"));
  const auto added = write("b");
  ASSERT_TRUE(added) << added.error().to_string();
  EXPECT_THAT(files(),
              ::testing::ElementsAre("events/run=a/rank=0/part-0.parquet", "events/run=b/rank=0/part-0.parquet"));
}

TEST_F(parquet_export, replaces_a_run_only_if_reported_to) {
  record();
  pretend();
  ASSERT_TRUE(write("a"));
  const fs::path file = folder_ / "data/events/run=a/rank=0/part-0.parquet";
  std::ofstream(file) << "old";
  const auto tried = write("a");
  ASSERT_FALSE(tried);
  EXPECT_THAT(tried.error().to_string(), HasSubstr("already has run=a/rank=0"));
  EXPECT_EQ(fs::file_size(file), 3U);
  const auto replaced = write("a", true);
  ASSERT_TRUE(replaced) << replaced.error().to_string();
  EXPECT_EQ(fs::file_size(file), 4U);
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(parquet_export, adds_nothing_to_a_data_set_whose_columns_have_other_names) {
  record();
  pretend();
  fs::create_directories(folder_ / "data/events");
  fs::create_directories(folder_ / "data/steps");
  const auto tried = write("a");
  ASSERT_FALSE(tried);
  EXPECT_THAT(tried.error().to_string(), HasSubstr("older version"));
  EXPECT_TRUE(files().empty());
}

TEST_F(parquet_export, writes_into_no_folder_of_another_kind) {
  record();
  pretend();
  fs::create_directory(folder_ / "data");
  std::ofstream(folder_ / "data/notes.txt") << "mine";
  const auto tried = write("a");
  ASSERT_FALSE(tried);
  EXPECT_THAT(tried.error().to_string(), HasSubstr("is not a data set"));
  EXPECT_THAT(files(), ::testing::ElementsAre("notes.txt"));
}

// Rows of every kind, with any values.
TEST_F(parquet_export, sends_each_row_of_whatever_a_recording_holds) {
  std::mt19937_64 random(7);
  std::uint64_t events = 0;
#define SLUICE_ADD(row, kind)                                   \
  if constexpr (!std::is_same_v<trace::row, trace::string_row>) \
    for (int i = 0; i < 100; ++i) made_.writer().add(trace::testing::random_row<trace::row>(random));
  SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
  open();
  for (const query::table& each : query::tables()) events += each.events ? 100U : 0U;
  events -= 7 * 100;  // Exclude events that only belong to other rows.
  pretend();
  const auto done = write("a");
  ASSERT_TRUE(done) << done.error().to_string();
  // All events, kernels and copies a second time, blocks, and metrics.
  EXPECT_GE(done->rows, events + 200);
}

TEST(partition_value, keeps_plain_names_and_writes_others_as_hive_does) {
  EXPECT_EQ(partition_value("train-17_b.2"), "train-17_b.2");
  EXPECT_EQ(partition_value("a/b=c d%\n\xc3\xa4"), "a%2Fb%3Dc%20d%25%0A%C3%A4");
}

TEST(rank_table, tells_whose_a_process_and_a_device_are) {
  trace::tables tables;
  const auto process = [&](std::uint64_t id, std::int64_t rank) {
    trace::process_row row;
    row.id = trace::process_id{id};
    row.rank = rank;
    tables.processes.put(row);
  };
  const auto stream = [&](std::uint64_t id, std::uint64_t value, std::uint64_t device) {
    trace::stream_row row;
    row.id = trace::stream_id{id};
    row.process = trace::process_id{value};
    row.device = trace::device_id{device};
    tables.streams.put(row);
  };
  process(1, 4);
  process(2, 5);
  process(3, -1);
  stream(1, 1, 7);
  stream(2, 1, 8);
  stream(3, 2, 8);
  const rank_table book(tables);
  EXPECT_THAT(book.all(), ::testing::ElementsAre(4, 5));
  EXPECT_EQ(book.of(1), 4);
  EXPECT_EQ(book.of(3), rank_table::none);
  EXPECT_EQ(book.of(0), rank_table::none);
  EXPECT_EQ(book.of_device(7), 4);
  EXPECT_EQ(book.of_device(8), rank_table::none) << "Two ranks share it.";
}

TEST(rank_table, gives_a_recording_without_ranks_rank_0) {
  trace::tables tables;
  trace::process_row row;
  row.id = trace::process_id{1};
  tables.processes.put(row);
  const rank_table book(tables);
  EXPECT_THAT(book.all(), ::testing::ElementsAre(0));
  EXPECT_EQ(book.of(1), 0);
  EXPECT_EQ(book.of_job(), 0);
}

}  // namespace
}  // namespace sluice::exports
