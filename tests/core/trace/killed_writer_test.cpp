// A reader opens a file whose writer was killed between two writes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer_inline.hpp"

namespace sluice::trace {
namespace {

namespace fs = std::filesystem;

class killed_writer : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("sluice-killed-" + std::to_string(::getpid()) + ".sluice");
    left_ = path_.string() + ".left";
    file_.emplace(std::move(file_writer::create(path_.string(), {.rows_per_chunk = 4}).value()));
  }
  void TearDown() override {
    fs::remove(path_);
    fs::remove(left_);
  }

  void lose(std::uint64_t events) {
    loss_event row;
    row.events = row.memory_events = events;
    file_->add(row);
  }
  void allocate(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) file_->add(alloc_event{});
  }

  struct found {
    std::size_t allocs = 0;
    std::uint64_t lost = 0;
  };
  /// The content that a reader finds in the file's first `bytes`, as if the writer had been killed at that length.
  found after(std::uintmax_t bytes) {
    fs::copy_file(path_, left_, fs::copy_options::overwrite_existing);
    fs::resize_file(left_, bytes);
    found output;
    const auto opened = file::open(left_.string());
    if (!opened) return output;
    const auto now = (*opened)->latest();
    EXPECT_TRUE(now->for_each<alloc_event>([&](const alloc_event&) { ++output.allocs; }));
    EXPECT_TRUE(now->for_each<loss_event>([&](const loss_event& row) { output.lost += row.events; }));
    return output;
  }

  fs::path path_, left_;
  std::optional<file_writer> file_;
};

TEST_F(killed_writer, has_reported_a_loss_when_a_chunk_of_later_events_is_full) {
  allocate(2);
  lose(7);
  allocate(2);
  const found left = after(fs::file_size(path_));
  EXPECT_EQ(left.allocs, 4U);
  EXPECT_EQ(left.lost, 7U);
}

TEST_F(killed_writer, has_reported_a_loss_wherever_it_dies_in_a_flush) {
  const std::uintmax_t before = fs::file_size(path_);
  lose(7);
  allocate(2);
  ASSERT_TRUE(file_->flush());
  for (std::uintmax_t bytes = before; bytes <= fs::file_size(path_); ++bytes) {
    const found left = after(bytes);
    if (left.allocs != 0) {
      EXPECT_EQ(left.lost, 7U) << "cut after " << bytes << " bytes";
    }
  }
  EXPECT_EQ(after(fs::file_size(path_)).allocs, 2U);
}

}  // namespace
}  // namespace sluice::trace
