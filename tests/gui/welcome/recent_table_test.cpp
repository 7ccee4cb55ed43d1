#include "app/gui/views/welcome/recent_table.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/gui/sample.hpp"

namespace sluice::gui {
namespace {

constexpr std::int64_t now = 1'764'500'000'000'000'000;
const recordings::file_state file{true, 13'002'342, now - 1'000'000'000};
const recent_verdict verdict{file, {"GPU 91 % busy, peak 71.0 of 80.0 GiB", false, 71}};

TEST(recent_row, shows_name_date_size_and_verdict) {
  const recent_row row = make_recent_row("/data/llama.sluice", &file, &verdict, nullptr, now);
  EXPECT_EQ(row.name, "llama.sluice");
  EXPECT_EQ(row.folder, "/data");
  EXPECT_EQ(row.date.substr(0, 5), "today");
  EXPECT_EQ(row.size, "12.4 MiB");
  EXPECT_EQ(row.verdict, "GPU 91 % busy, peak 71.0 of 80.0 GiB");
  EXPECT_FALSE(row.bad);
}

TEST(recent_row, shows_what_was_stored_until_the_file_was_looked_at) {
  const recent_row row = make_recent_row("/data/llama.sluice", nullptr, &verdict, nullptr, now);
  EXPECT_EQ(row.size, "12.4 MiB");
  EXPECT_EQ(row.verdict, verdict.line.text);
  EXPECT_FALSE(row.missing);
}

TEST(recent_row, loses_the_verdict_when_the_file_has_changed) {
  recordings::file_state changed = file;
  changed.modified += 1;
  EXPECT_EQ(make_recent_row("/a", &changed, &verdict, nullptr, now).verdict, "");
  const auto read = std::make_shared<const recordings::overview>(
      recordings::overview{{"out of memory, short by 1.20 GiB", true, 0}, {}});
  const recent_row row = make_recent_row("/a", &changed, &verdict, read, now);
  EXPECT_EQ(row.verdict, "out of memory, short by 1.20 GiB") << "that of the file as it is now";
  EXPECT_TRUE(row.bad);
}

TEST(recent_row, says_that_a_file_is_missing) {
  const recordings::file_state none;
  const recent_row row = make_recent_row("/data/llama.sluice", &none, &verdict, nullptr, now);
  EXPECT_TRUE(row.missing);
  EXPECT_EQ(row.verdict, "");
  EXPECT_EQ(row.size, "");
}

TEST(recent_row, is_printable_but_opens_the_path_as_it_is) {
  const std::string path = "/da\x1bta/a\nb.sluice";
  const recent_row row = make_recent_row(path, &file, nullptr, nullptr, now);
  EXPECT_EQ(row.path, path);
  EXPECT_EQ(row.name.find('\n'), std::string::npos);
  EXPECT_EQ(row.folder.find('\x1b'), std::string::npos);
}

TEST(recent_files, reads_a_file_without_a_verdict_in_the_background) {
  settings remembered("");
  remembered.add_recent(SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice");
  remembered.add_recent("/no/such/file.sluice");
  remembered.add_recent("ssh://host/run.sluice");
  recordings::overview_reader overviews;
  recent_files recent;
  std::vector<recent_row> rows = recent.list(remembered, overviews);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2].verdict, "") << "the first frame does not wait";
  for (int i = 0; i < 10'000 && rows[2].verdict.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    rows = recent.list(remembered, overviews);
  }
  EXPECT_EQ(rows[2].verdict, "GPU 4 % busy, peak 38.0 MiB of 140 GiB");
  EXPECT_NE(rows[2].picture, nullptr);
  EXPECT_TRUE(rows[1].missing);
  EXPECT_FALSE(rows[0].missing) << "a file of another machine is not looked for here";
}

}  // namespace
}  // namespace sluice::gui
