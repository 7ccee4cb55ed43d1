// A writer whose disk fails at any byte, in any way, and may have space again later: for each kind, the rows that a
// reader finds and the rows reported as lost add up to the rows passed to the writer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <random>
#include <string>

#include "core/trace/columns/codec.hpp"
#include "core/trace/file/layout.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer_inline.hpp"
#include "tests/core/trace/failing_disk.hpp"

namespace sluice::trace {
namespace {

using sluice::testing::disk;
using sluice::testing::failing_disk;
using kinds = std::map<row_type, std::uint64_t>;

/// The expected events of each program: rows by kind, and the program's own losses.
struct tally {
  kinds rows;
  dropped_rows::count happened;  ///< Event rows, plus events that loss rows report.

  void add(row_type kind, std::uint64_t count = 1) {
    if (count == 0) return;
    rows[kind] += count;
    if (!is_happening(kind)) return;
    happened.events += count;
    if (is_of_memory(kind)) happened.memory_events += count;
  }
  void add(const dropped_rows& lost) {
    for (const auto& [kind, count] : lost.kinds()) {
      if (is_event(kind)) rows[kind] += count;
    }
  }
  void add(const loss_event& row) {
    happened.events += row.events;
    happened.memory_events += row.memory_events;
  }
};

/// A program that writes some rows of each kind to a disk that sometimes fails.
class program {
 public:
  program(std::string path, unsigned seed) : path_(std::move(path)), random_(seed) {
    writer_options options;
    options.rows_per_chunk = 1 + random_() % 60;
    options.outlives_failures = true;
    file_.emplace(std::move(file_writer::create(path_, options).value()));
    const std::uint64_t most = random_() % 4 == 0 ? 1 + random_() % 100 : UINT64_MAX;
    faults_ = {.why = pick({ENOSPC, EFBIG, EDQUOT, EIO}), .max_at_once = most, .truncates = random_() % 8 != 0};
  }
  ~program() { disk() = {}; }

  void run() {
    const std::size_t steps = 200 + random_() % 2000;
    for (std::size_t i = 0; i < steps; ++i) {
      if (random_() % 300 == 0) break_disk();
      if (random_() % 500 == 0) disk() = {};
      step();
      if (random_() % 90 == 0) static_cast<void>(file_->flush());
      if (random_() % 150 == 0) resume();
    }
    if (random_() % 3 == 0) disk() = {};
    if (random_() % 2 == 0) resume();
    closed_ = file_->close().has_value();
    disk() = {};
  }

  void check() {
    ASSERT_EQ(closed_ && !file_->says_losses(), false) << "a properly closed file reports its losses";
    const auto opened = file::open(path_);
    ASSERT_TRUE(opened) << opened.error().to_string();
    tally there;
    const auto now = (*opened)->latest();
    EXPECT_TRUE(!closed_ || now->complete());
    look_for<alloc_event>(*now, there);
    look_for<free_event>(*now, there);
    look_for<kernel_event>(*now, there);
    look_for<marker_event>(*now, there);
    look_for<attribute_event>(*now, there);
    const auto seen = now->for_each<loss_event>([&](const loss_event& row) { there.add(row); });
    ASSERT_TRUE(seen) << seen.error().to_string();
    if (!file_->says_losses()) {
      for (const auto& [process, lost] : file_->dropped().processes()) {
        there.happened.events += lost.events;
        there.happened.memory_events += lost.memory_events;
      }
    }
    lost_.add(file_->dropped());
    for (const auto& [kind, count] : lost_.rows) there.rows[kind] += count;
    for (const auto& [kind, count] : said_.rows)
      EXPECT_EQ(there.rows[kind], count) << "rows of the kind " << static_cast<int>(kind);
    EXPECT_EQ(there.happened.events, said_.happened.events);
    EXPECT_EQ(there.happened.memory_events, said_.happened.memory_events);
  }
  [[nodiscard]] bool lost_anything() const { return !lost_.rows.empty(); }

 private:
  int pick(std::initializer_list<int> values) { return *(values.begin() + random_() % values.size()); }

  void break_disk() {
    disk() = faults_;
    if (random_() % 2 == 0) {
      disk().longest = file_->bytes_written() + random_() % 400;
    } else {
      disk().room = random_() % 400;
    }
    if (random_() % 2 == 0) disk().failures = 1 + random_() % 20;
  }

  template <class Row>
  Row begin() {
    Row row;
    row.time = ++time_;
    row.process = static_cast<process_id>(1 + random_() % 3);
    return row;
  }
  template <class Row>
  void put(const Row& row) {
    file_->add(row);
    said_.add(type_of_row<Row>);
  }

  void step() {
    switch (random_() % 12) {
      case 0:
      case 1:
      case 2:
      case 3: {
        auto row = begin<alloc_event>();
        row.block = static_cast<block_id>(++last_block_);
        row.bytes = random_();
        live_.push_back(row.block);
        return put(row);
      }
      case 4:
      case 5:
      case 6:
        return release();
      case 7: {
        auto row = begin<kernel_event>();
        row.end = row.time;
        row.name = file_->intern("kernel " + std::to_string(random_() % 500));
        return put(row);
      }
      case 8:
        return put(begin<marker_event>());
      case 9: {
        auto row = begin<attribute_event>();
        row.key = file_->intern("key " + std::to_string(random_() % 50));
        return put(row);
      }
      case 10:
        file_->add(begin<checkpoint_event>());  // Repeats known facts, so its loss is not a lost event.
        return;
      default: {
        if (random_() % 8 != 0) return;
        auto row = begin<loss_event>();  // Reports events that a ring buffer lost earlier.
        row.end = row.time;
        row.events = 1 + random_() % 100;
        row.memory_events = random_() % (row.events + 1);
        file_->add(row);
        said_.add(row);
      }
    }
  }

  /// Frees a block; sometimes the free is only inferred.
  void release() {
    if (live_.empty()) return;
    auto row = begin<free_event>();
    std::swap(live_[random_() % live_.size()], live_.back());
    row.block = live_.back();
    live_.pop_back();
    if (random_() % 10 != 0) return put(row);
    row.source = provenance::inferred;
    file_->add(row);
  }

  void resume() {
    if (const auto lost = file_->resume()) lost_.add(*lost);
  }

  /// An inferred free is not an event.
  template <class Row>
  static void look_for(const snapshot& in, tally& there) {
    const auto read = in.for_each<Row>([&](const Row& row) {
      if constexpr (std::is_same_v<Row, free_event>) {
        if (row.source == provenance::inferred) return;
      }
      there.add(type_of_row<Row>);
    });
    EXPECT_TRUE(read) << read.error().to_string();
  }

  std::string path_;
  std::mt19937_64 random_;
  std::optional<file_writer> file_;
  failing_disk faults_;
  std::vector<block_id> live_;
  std::uint64_t last_block_ = 0;
  time_ns time_ = 0;
  tally said_, lost_;
  bool closed_ = false;
};

class failed_writes : public ::testing::Test {
 protected:
  ~failed_writes() override { std::filesystem::remove(path_); }
  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("sluice-failed-writes-" + std::to_string(::getpid()) + ".sluice"))
          .string();
};

TEST_F(failed_writes, leave_nothing_that_is_neither_in_the_file_nor_said_to_be_lost) {
  int losses = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    program one(path_, seed);
    one.run();
    one.check();
    losses += one.lost_anything() ? 1 : 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(losses, 100) << "otherwise the test checks nothing";
}

// More frees wait for their allocation's row than fit in a chunk.
TEST_F(failed_writes, keep_more_frees_than_a_chunk_takes) {
  constexpr std::uint64_t blocks = 3 * max_chunk_rows;
  auto file = std::move(file_writer::create(path_, {.outlives_failures = true}).value());
  for (std::uint64_t i = 1; i <= blocks; ++i) {
    alloc_event row;
    row.block = static_cast<block_id>(i);
    file.add(row);
  }
  ASSERT_TRUE(file.flush());
  disk() = {.room = 0, .why = ENOSPC};
  for (std::uint64_t i = 1; i <= blocks; ++i) {
    free_event row;
    row.block = static_cast<block_id>(i);
    file.add(row);
  }
  EXPECT_FALSE(file.flush());
  disk() = {};
  const auto lost = file.resume();
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->own().events, 0U);
  ASSERT_TRUE(file.close());
  std::uint64_t freed = 0;
  const auto now = file::open(path_).value()->latest();
  ASSERT_TRUE(now->for_each<free_event>([&](const free_event&) { ++freed; }));
  EXPECT_EQ(freed, blocks);
}

// Other programs fill the disk: truncating the file would only give them more of it.
TEST_F(failed_writes, take_little_from_a_file_on_a_disk_that_stays_full) {
  auto file = std::move(file_writer::create(path_, {.outlives_failures = true}).value());
  std::mt19937_64 random(1);
  const auto add = [&] {
    alloc_event row;
    row.bytes = random();
    row.address = random();
    file.add(row);
  };
  for (int i = 0; i < 400'000; ++i) add();
  ASSERT_TRUE(file.flush());
  const std::uint64_t before = file.bytes_written();
  ASSERT_GT(before, 4U << 20);
  disk() = {.room = 0, .why = ENOSPC};
  for (int i = 0; i < 1000; ++i) add();
  EXPECT_FALSE(file.close());
  disk() = {};
  EXPECT_FALSE(file.says_losses());
  EXPECT_GT(std::filesystem::file_size(path_), before - (2U << 20));
  std::uint64_t found = 0, lost = 0;
  ASSERT_TRUE(file::open(path_).value()->latest()->for_each<alloc_event>([&](const alloc_event&) { ++found; }));
  for (const auto& [process, count] : file.dropped().processes()) lost += count.events;
  EXPECT_EQ(found + lost, 401'000U);
}

}  // namespace
}  // namespace sluice::trace
