#include "app/recordings/overview_reader.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace sluice::recordings {
namespace {

const std::string leak = SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice";

overview_reader::reader read_of(const std::string& path) {
  return [path] { return read_overview(path); };
}

std::shared_ptr<const overview> wait_for(overview_reader& several, const std::string& key,
                                         const overview_reader::reader& read) {
  while (several.find(key, read) == nullptr && several.reading())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return several.find(key, read);
}

TEST(overview_reader, reads_in_the_background) {
  overview_reader several;
  EXPECT_EQ(several.find(leak, read_of(leak)), nullptr) << "the caller does not wait";
  EXPECT_TRUE(several.is_waiting(leak));
  const auto found = wait_for(several, leak, read_of(leak));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->verdict.text, "GPU 4 % busy, peak 38.0 MiB of 140 GiB");
  EXPECT_FALSE(several.is_waiting(leak));
  EXPECT_EQ(several.find(leak, read_of(leak)), found) << "and once";
}

TEST(overview_reader, has_none_for_what_is_no_recording) {
  const auto path = (std::filesystem::temp_directory_path() / "sluice-overview-test.sluice").string();
  std::ofstream(path) << "not a recording";
  overview_reader several;
  EXPECT_EQ(wait_for(several, path, read_of(path)), nullptr);
  EXPECT_EQ(wait_for(several, "none", read_of(path + ".missing")), nullptr);
  EXPECT_FALSE(several.is_waiting(path));
  std::filesystem::remove(path);
}

TEST(overview_reader, forgets_what_was_used_least_recently) {
  overview_reader several;
  std::atomic<int> calls = 0;
  const auto count = [&]() -> result<overview> {
    ++calls;
    return overview{};
  };
  for (std::size_t i = 0; i <= overview_reader::max_known; ++i) wait_for(several, std::to_string(i), count);
  const int before = calls;
  wait_for(several, std::to_string(overview_reader::max_known), count);
  EXPECT_EQ(calls, before);
  wait_for(several, "0", count);
  EXPECT_EQ(calls, before + 1);
}

}  // namespace
}  // namespace sluice::recordings
