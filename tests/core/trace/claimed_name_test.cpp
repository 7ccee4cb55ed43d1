// A writer that claims its name at the start, and a writer that is about to replace a file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer_inline.hpp"

namespace sluice::trace {
namespace {

class claimed_name : public ::testing::Test {
 protected:
  ~claimed_name() override { std::filesystem::remove(path_); }

  static void write_kernels(file_writer& to, int count) {
    for (int i = 0; i < count; ++i) {
      kernel_event row;
      row.time = row.end = i;
      to.add(row);
    }
    ASSERT_TRUE(to.publish() && to.close());
  }
  [[nodiscard]] std::size_t kernels() const {
    std::size_t count = 0;
    EXPECT_TRUE(file::open(path_).value()->latest()->for_each<kernel_event>([&](const kernel_event&) { ++count; }));
    return count;
  }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("sluice-claimed-name-" + std::to_string(::getpid()) + ".sluice"))
          .string();
};

TEST_F(claimed_name, takes_its_name_before_it_has_anything_to_say) {
  constexpr writer_options careful{.replaces = false};
  auto first = file_writer::create_claimed(path_, careful);
  ASSERT_TRUE(first) << first.error().to_string();
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_FALSE(holds_nothing(path_)) << "it is being written";
  EXPECT_EQ(file_writer::create_claimed(path_, careful).error().code, error_code::io);
  EXPECT_EQ(file_writer::create_claimed(path_).error().code, error_code::io) << "it must not be replaced either";
  const std::string header = bytes();
  first->discard();
  EXPECT_FALSE(std::filesystem::exists(path_));

  std::ofstream(path_, std::ios::binary) << header;  // The state in which a killed writer leaves the file.
  EXPECT_TRUE(holds_nothing(path_));
  auto next = file_writer::create_claimed(path_, careful);
  ASSERT_TRUE(next) << next.error().to_string();
  write_kernels(*next, 1);
  EXPECT_EQ(file_writer::create_claimed(path_, careful).error().code, error_code::invalid_argument);
  EXPECT_EQ(kernels(), 1U);
}

TEST_F(claimed_name, is_read_as_before_while_another_is_about_to_replace_it) {
  auto first = file_writer::create_claimed(path_);
  ASSERT_TRUE(first);
  write_kernels(*first, 10);
  auto next = file_writer::create_claimed(path_);
  ASSERT_TRUE(next);
  EXPECT_EQ(file_writer::create_claimed(path_).error().code, error_code::io) << "one is enough";
  EXPECT_FALSE(file::open(path_).value()->latest()->growing());
  EXPECT_EQ(kernels(), 10U);
  next->discard();
  EXPECT_TRUE(file_writer::create_claimed(path_)) << "the name is released";
  EXPECT_EQ(kernels(), 10U);
}

}  // namespace
}  // namespace sluice::trace
