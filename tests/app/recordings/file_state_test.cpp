#include "app/recordings/file_state.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace sluice::recordings {
namespace {

constexpr std::int64_t hour = 3'600'000'000'000;

std::int64_t get_time(int year, int month, int day, int at) {
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = at;
  parts.tm_isdst = -1;
  return static_cast<std::int64_t>(std::mktime(&parts)) * 1'000'000'000;
}

TEST(format_date, is_shorter_the_nearer_the_day) {
  const std::int64_t now = get_time(2026, 3, 1, 9);
  EXPECT_EQ(format_date(get_time(2026, 3, 1, 8), now), "today 08:00");
  EXPECT_EQ(format_date(get_time(2026, 2, 28, 23), now), "yesterday");
  EXPECT_EQ(format_date(get_time(2026, 2, 27, 9), now), "27 Feb");
  EXPECT_EQ(format_date(get_time(2025, 12, 31, 9), now), "31 Dec 2025");
  EXPECT_EQ(format_date(now + 40 * hour, now), "3 Mar") << "a clock that was wrong";
}

TEST(file_state, changes_with_the_file) {
  const std::string path = (std::filesystem::temp_directory_path() / "sluice-file-state-test").string();
  std::ofstream(path) << "one";
  const file_state before = read_state(path);
  EXPECT_TRUE(before.exists);
  EXPECT_EQ(before.bytes, 3U);
  EXPECT_EQ(before, read_state(path));
  std::ofstream(path) << "three";
  EXPECT_NE(before, read_state(path));
  std::filesystem::remove(path);
  EXPECT_FALSE(read_state(path).exists);
  EXPECT_FALSE(read_state("/").exists) << "a folder is no recording";
}

}  // namespace
}  // namespace sluice::recordings
