#include "core/summary/passes/finalize.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/base/files/scratch_file.hpp"
#include "core/metrics/make_report.hpp"
#include "core/trace/file/layout.hpp"
#include "tests/core/base/named_files.hpp"
#include "tests/core/recordings/copied_rows.hpp"
#include "tests/core/recordings/each_seed.hpp"
#include "tests/core/recordings/eventful_recording.hpp"
#include "tests/core/recordings/random_recording.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/whole_sections.hpp"
#include "tests/core/summary/same_stored_metrics.hpp"

/// Opening an unfinished recording builds its summary.
namespace sluice::summary {
namespace {

namespace fs = std::filesystem;
using testing::indexed;
using testing::recording;

unfinished_options however_small(double section_events = 100) {
  return {.memory_bytes = 0, .section_events = section_events};
}

/// The file that a killed writer left.
class remains {
 public:
  explicit remains(const std::string& text) : path_(text + ".cut") { fs::copy_file(text, path_); }
  ~remains() { fs::remove(path_); }
  remains(const remains&) = delete;
  remains& operator=(const remains&) = delete;

  void cut_at(std::uintmax_t byte) const { fs::resize_file(path_, byte); }
  void damage(std::uintmax_t byte) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(byte));
    file.write("damaged", 7);
  }
  [[nodiscard]] std::uintmax_t bytes() const { return fs::file_size(path_); }
  [[nodiscard]] std::shared_ptr<trace::file> open() const { return trace::file::open(path_).value(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Expects that, after the summary is built, the file's results equal those of an index of the remaining rows.
void expect_same_as_of_all(const remains& left, double section_events) {
  const indexed loaded(left.open());
  const auto summed = summed_up(left.open()->latest(), however_small(section_events));
  ASSERT_TRUE(summed) << summed.error().to_string();
  if (index::recorded_range(*loaded.snapshot).length() == 0) return;
  ASSERT_FALSE((*summed)->complete());
  ASSERT_EQ((*summed)->warnings().size(), loaded.snapshot->warnings().size())
      << ((*summed)->warnings().empty() ? "" : (*summed)->warnings().back());
  const auto kept = find_stored_metrics(**summed);
  ASSERT_NE(kept, nullptr);
  expect_same_stored_metrics(*kept, make_stored_metrics(loaded.index, *loaded.snapshot));
}

TEST(a_random_recording_cut_short, says_what_an_index_of_all_says_wherever_it_was_cut) {
  testing::for_each_seed(1, 80, [](std::uint64_t seed) {
    const bool hostile = seed % 4 == 0;
    query::random_recording reported(seed, hostile);
    ASSERT_TRUE(finalize(reported.recorded.writer(), {.min_events = 1, .section_events = 50}));
    std::mt19937_64 random(seed);
    const remains left(reported.recorded.path());
    left.cut_at(sizeof(trace::file_header) + random() % (left.bytes() - sizeof(trace::file_header)));
    const auto section_events = static_cast<double>(20 + random() % 200);
    // If two rows contradict each other, it is unspecified which row counts.
    if (hostile) {
      EXPECT_TRUE(summed_up(left.open()->latest(), however_small(section_events)));
    } else {
      expect_same_as_of_all(left, section_events);
    }
  });
}

TEST(a_random_recording_cut_short, says_what_an_index_of_all_says_where_it_was_damaged_too) {
  testing::for_each_seed(1, 80, [](std::uint64_t seed) {
    query::random_recording reported(seed, false);
    reported.recorded.close();
    std::mt19937_64 random(seed);
    const remains left(reported.recorded.path());
    left.cut_at(left.bytes() - 1);
    for (int i = 0; i < 3; ++i)
      left.damage(sizeof(trace::file_header) + random() % (left.bytes() - sizeof(trace::file_header)));
    expect_same_as_of_all(left, static_cast<double>(20 + random() % 200));
  });
}

class a_training_cut_short : public ::testing::TestWithParam<testing::training_options::marking> {};

TEST_P(a_training_cut_short, says_what_an_index_of_all_says) {
  recording recorded(100);
  testing::training_options options;
  options.marks = GetParam();
  options.steps = 12;
  testing::tell_a_lot(recorded, options);
  recorded.close();
  for (const std::uintmax_t octile_coverage : {3, 5, 7}) {
    const remains left(recorded.path());
    left.cut_at(left.bytes() / 8 * octile_coverage);
    expect_same_as_of_all(left, 150);
  }
}

TEST_P(a_training_cut_short, says_what_an_index_of_all_says_where_it_was_damaged_too) {
  recording recorded(100);
  testing::training_options options;
  options.marks = GetParam();
  options.steps = 12;
  testing::tell_a_lot(recorded, options);
  recorded.close();
  const auto whole = recorded.open()->latest();
  for (std::size_t i = 0; i < whole->chunks().size(); i += 1 + whole->chunks().size() / 40) {
    const trace::chunk_info& chunk = whole->chunks()[i];
    const remains left(recorded.path());
    left.cut_at(left.bytes() - 1);
    left.damage(chunk.offset + sizeof(trace::chunk_header) + chunk.stored_bytes / 2);
    expect_same_as_of_all(left, 150);
  }
}

INSTANTIATE_TEST_SUITE_P(markings, a_training_cut_short,
                         ::testing::Values(testing::training_options::marking::marks,
                                           testing::training_options::marking::profiler,
                                           testing::training_options::marking::nvtx,
                                           testing::training_options::marking::none));

TEST(a_pattern_cut_short, has_the_steps_of_all_that_can_be_read) {
  recording recorded(8);
  recorded.standard_tables();
  constexpr int a_step = 20;
  for (int i = 0; i < 12 * a_step; ++i) {
    recorded.add_alloc(i * 100, static_cast<std::uint64_t>(i + 1), static_cast<std::uint64_t>(1'000 + i % a_step * 10),
                       trace::memory_kind::device, trace::layer::framework, "tensor");
    // Memory use is lowest in the middle of the repeated part.
    for (int j = 0; i % a_step == 12 && j < a_step && i - j >= 0; ++j)
      recorded.add_free(i * 100 + 50, static_cast<std::uint64_t>(i - j + 1), trace::layer::framework);
  }
  recorded.close();
  const auto whole = recorded.open()->latest();
  const auto first = std::find_if(whole->chunks().begin(), whole->chunks().end(),
                                  [](const trace::chunk_info& each) { return each.type == trace::row_type::free; });
  const remains left(recorded.path());
  left.cut_at(left.bytes() - 1);
  left.damage(first->offset + sizeof(trace::chunk_header));
  const auto summed = summed_up(left.open()->latest(), however_small()).value();
  EXPECT_EQ(find_stored_metrics(*summed)->steps.size(), 1U);
  expect_same_as_of_all(left, 100);
}

TEST(a_pattern_cut_short, is_found_in_each_of_many_processes) {
  recording recorded(64);
  recorded.standard_tables();
  constexpr int a_step = 20, processes = 30;
  for (int p = 1; p <= processes; ++p) {
    trace::process_row process;
    process.id = static_cast<trace::process_id>(p);
    if (p > 1) recorded.writer().add(process);
    for (int i = 0; i < 6 * a_step; ++i) {
      auto row = recorded.event<trace::alloc_event>(p * 100'000 + i * 100);
      row.process = process.id;
      row.block = static_cast<trace::block_id>(p * 1'000 + i);
      row.bytes = static_cast<std::uint64_t>(1'000 + p + i % a_step * 10);
      row.layer = trace::layer::framework;
      row.kind = trace::memory_kind::device;
      recorded.writer().add(row);
      for (int j = 0; i % a_step == 12 && j < a_step && i - j >= 0; ++j) {
        auto end = recorded.event<trace::free_event>(p * 100'000 + i * 100 + 50);
        end.process = process.id;
        end.block = static_cast<trace::block_id>(p * 1'000 + i - j);
        recorded.writer().add(end);
      }
    }
  }
  recorded.close();
  const remains left(recorded.path());
  left.cut_at(left.bytes() - 1);
  const auto summed = summed_up(left.open()->latest(), however_small()).value();
  EXPECT_EQ(find_stored_metrics(*summed)->steps.size(), static_cast<std::size_t>(processes));
  expect_same_as_of_all(left, 100);
}

/// The last steps have no recorded frees, but checkpoints after them that list no live blocks.
TEST(a_pattern_cut_short, has_steps_that_end_where_a_checkpoint_shows_what_is_gone) {
  recording recorded(8);
  recorded.standard_tables();
  constexpr int a_step = 20;
  constexpr int lossy = 6 * a_step;
  for (int i = 0; i < 12 * a_step; ++i) {
    recorded.add_alloc(i * 100, static_cast<std::uint64_t>(i + 1), static_cast<std::uint64_t>(1'000 + i % a_step * 10),
                       trace::memory_kind::device, trace::layer::framework, "tensor");
    if (i == lossy) {
      auto lost = recorded.event<trace::loss_event>(i * 100 + 10);
      lost.memory_events = 1;
      recorded.writer().add(lost);
    }
    if (i % a_step != 12) continue;
    if (i < lossy) {
      for (int j = 0; j < a_step && i - j >= 0; ++j)
        recorded.add_free(i * 100 + 50, static_cast<std::uint64_t>(i - j + 1), trace::layer::framework);
    } else {
      recorded.writer().add(recorded.event<trace::checkpoint_event>(i * 100 + 50));
    }
  }
  recorded.close();
  const remains left(recorded.path());
  left.cut_at(left.bytes() - 1);
  const auto summed = summed_up(left.open()->latest(), however_small()).value();
  EXPECT_EQ(find_stored_metrics(*summed)->steps.size(), 1U);
  expect_same_as_of_all(left, 100);
}

/// Fixture with a recording of 3,000 kernels whose end is missing.
class cut_short : public ::testing::Test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    for (int i = 0; i < 3'000; ++i) made_.add_kernel(i * 100, i * 100 + 50);
    made_.close();
    left_ = std::make_unique<remains>(made_.path());
    left_->cut_at(left_->bytes() - 1);
  }

  recording made_{100};
  std::unique_ptr<remains> left_;
};

TEST_F(cut_short, is_summed_up_and_still_says_that_it_was_cut_short) {
  const auto before = left_->open()->latest();
  const auto summed = summed_up(before, however_small()).value();
  EXPECT_TRUE(before->summaries().empty());
  EXPECT_FALSE(summed->summaries().empty());
  EXPECT_FALSE(summed->complete());
  EXPECT_FALSE(summed->growing());
  symbols::frame_cache names;
  const auto said =
      metrics::make_report(find_stored_metrics(*summed)->metrics, *summed, metrics::naming{names}).warnings;
  EXPECT_EQ(said, metrics::make_report(indexed(left_->open()).index, *before).warnings);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("writer ended early"), std::string::npos) << said[0];
}

TEST_F(cut_short, is_left_as_it_is_where_all_of_it_can_be_held) {
  const auto before = left_->open()->latest();
  EXPECT_FALSE(wants_summing_up(*before));
  EXPECT_EQ(summed_up(before).value(), before);
}

TEST_F(cut_short, is_not_summed_up_twice) {
  const auto summed = summed_up(left_->open()->latest(), however_small()).value();
  EXPECT_EQ(summed_up(summed, however_small()).value(), summed);
}

TEST_F(cut_short, leaves_nothing_behind_and_is_not_touched) {
  const fs::path folder = left_->path() + ".tmp";
  fs::create_directory(folder);
  const auto bytes = left_->bytes();
  const auto changed = fs::last_write_time(left_->path());
  ::setenv("TMPDIR", folder.c_str(), 1);
  const auto summed = summed_up(left_->open()->latest(), however_small()).value();
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(fs::is_empty(folder));
  EXPECT_NE(find_stored_metrics(*summed), nullptr);
  EXPECT_EQ(left_->bytes(), bytes);
  EXPECT_EQ(fs::last_write_time(left_->path()), changed);
  fs::remove(folder);
}

TEST_F(cut_short, says_that_there_is_no_room_for_summaries) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit little = before;
  little.rlim_cur = 2'000;
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const auto summed = summed_up(left_->open()->latest(), however_small());
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  ASSERT_TRUE(summed) << summed.error().to_string();
  EXPECT_TRUE((*summed)->summaries().empty());
  ASSERT_FALSE((*summed)->warnings().empty());
  EXPECT_NE((*summed)->warnings().back().find("could not be summed up"), std::string::npos);
}

TEST_F(cut_short, tells_how_far_it_is_and_can_be_given_up) {
  std::vector<double> shares;
  auto small = however_small();
  small.progress = [&](double share) { shares.push_back(share); };
  ASSERT_TRUE(summed_up(left_->open()->latest(), small));
  ASSERT_GT(shares.size(), 10U);
  EXPECT_LE(shares.size(), 100U);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_LE(shares.back(), 1);
  for (std::size_t until = 0; until < shares.size(); until += 7) {
    std::atomic<std::size_t> reported = 0;
    small.progress = [&](double /*share*/) { ++reported; };
    small.cancelled = [&] { return reported > until; };
    const auto given_up = summed_up(left_->open()->latest(), small);
    ASSERT_FALSE(given_up);
    EXPECT_EQ(given_up.error().code, error_code::cancelled);
  }
}

TEST(a_recording_that_is_written, is_summed_up_as_far_as_it_goes) {
  recording recorded(100);
  recorded.standard_tables();
  for (int i = 0; i < 3'000; ++i) recorded.add_kernel(i * 100, i * 100 + 50);
  recorded.flush();
  const indexed loaded(recorded.open());
  ASSERT_TRUE(loaded.snapshot->growing());
  const auto summed = summed_up(loaded.snapshot, however_small()).value();
  EXPECT_TRUE(summed->growing());
  recorded.add_kernel(1'000'000, 1'000'050);
  recorded.flush();
  expect_same_stored_metrics(*find_stored_metrics(*summed), make_stored_metrics(loaded.index, *loaded.snapshot));
}

/// Fixture with a recording of 3,000 kernels in order, 10 per chunk.
class a_recording_that_ends : public ::testing::Test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    for (int i = 0; i < 3'000; ++i) {
      made_.add_kernel(i * 100, i * 100 + 50);
      if (i % 10 == 9) made_.flush();
    }
  }
  [[nodiscard]] auto summed() const { return finalize_options{.min_events = 1, .section_events = 500}; }
  /// The number of files with the recording's name, including any that it was rewritten to.
  [[nodiscard]] std::size_t files() const { return testing::files_named_after(made_.path()); }
  static std::size_t chunks_of_kernels(const trace::snapshot& recording) {
    return static_cast<std::size_t>(
        std::count_if(recording.chunks().begin(), recording.chunks().end(),
                      [](const auto& each) { return each.type == trace::row_type::kernel; }));
  }

  recording made_{50};
};

TEST_F(a_recording_that_ends, is_compacted_into_a_file_that_takes_its_place) {
  const auto followed = made_.open();
  const auto before = followed->latest();
  ASSERT_EQ(chunks_of_kernels(*before), 300U);
  EXPECT_EQ(followed->successor().value(), nullptr);
  ASSERT_TRUE(finalize(made_.writer(), {.min_events = 5'000}));
  EXPECT_EQ(files(), 1U);
  const auto next = followed->successor().value();
  ASSERT_NE(next, nullptr);
  const auto after = next->latest();
  EXPECT_TRUE(after->complete());
  EXPECT_FALSE(after->is_of_the_file_of(*before));
  EXPECT_EQ(after->file_bytes(), made_.writer().bytes_written());
  EXPECT_LT(after->file_bytes(), before->file_bytes());
  EXPECT_EQ(chunks_of_kernels(*after), 60U);
  // A reader that has the old file open can still read it.
  std::size_t rows = 0;
  EXPECT_TRUE(before->for_each<trace::kernel_event>([&](const auto&) { ++rows; }));
  EXPECT_EQ(rows, 3'000U);
}

TEST(a_recording_of_full_chunks, stays_in_its_file) {
  recording recorded{20};
  recorded.standard_tables();
  for (int i = 0; i < 3'000; ++i) recorded.add_kernel(i * 100, i * 100 + 50);
  ASSERT_TRUE(recorded.writer().flush());
  const auto followed = recorded.open();
  const auto before = followed->latest();
  ASSERT_GE(before->chunks().size(), 150U);
  ASSERT_TRUE(finalize(recorded.writer(), {.min_events = 5'000}));
  EXPECT_EQ(followed->successor().value(), nullptr);
  const auto after = recorded.open()->latest();
  EXPECT_TRUE(after->complete());
  EXPECT_EQ(after->chunks().size(), before->chunks().size());
}

TEST_F(a_recording_that_ends, keeps_its_permissions_and_the_link_that_names_it) {
  const std::string link = made_.path() + ".link";
  fs::create_symlink(made_.path(), link);
  made_.close();
  auto file = trace::file_writer::create(link, {.rows_per_chunk = 50}).value();
  fs::permissions(made_.path(), fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  for (int i = 0; i < 3'000; ++i) {
    trace::marker_event row;
    row.time = i;
    file.add(row);
  }
  ASSERT_TRUE(finalize(file, summed()));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(fs::status(made_.path()).permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  EXPECT_FALSE(made_.open()->latest()->summaries().empty());
  fs::remove(link);
}

TEST(a_recording_in_a_scratch_file, is_summed_up_where_it_is) {
  const auto scratch = scratch_file::make().value();
  auto file = trace::file_writer::create(scratch, {.rows_per_chunk = 50}).value();
  for (int i = 0; i < 3'000; ++i) {
    trace::marker_event row;
    row.time = i;
    file.add(row);
  }
  ASSERT_TRUE(finalize(file, {.min_events = 1, .section_events = 500}));
  const auto output = trace::file::open(scratch.path()).value()->latest();
  EXPECT_TRUE(output->complete());
  EXPECT_FALSE(output->summaries().empty());
}

TEST(a_recording_of_many_processes, is_cut_into_longer_sections) {
  const auto sections_with = [](std::uint64_t processes) {
    recording recorded{50};
    recorded.standard_tables();
    for (std::uint64_t i = 2; i <= processes; ++i) {
      trace::process_row process;
      process.id = trace::process_id{i};
      recorded.writer().add(process);
    }
    for (int i = 0; i < 3'000; ++i) recorded.add_kernel(i * 100, i * 100 + 50);
    EXPECT_TRUE(finalize(recorded.writer(), {.min_events = 1, .section_events = 50}));
    const auto source = recorded.open()->latest();
    std::size_t sections = 0;
    for (const trace::chunk_info& chunk : source->summaries())
      if (chunk.type == trace::row_type::section) sections += chunk.rows;
    return sections;
  };
  const std::size_t few = sections_with(8);
  EXPECT_EQ(sections_with(1), few);
  EXPECT_LE(sections_with(64) * 4, few);
}

TEST_F(a_recording_that_ends, leaves_another_file_alone_that_has_its_name_by_now) {
  const std::string moved = made_.path() + ".moved";
  made_.flush();
  fs::rename(made_.path(), moved);
  std::ofstream(made_.path()) << "somebody's";
  ASSERT_TRUE(finalize(made_.writer(), summed()));
  EXPECT_EQ(fs::file_size(made_.path()), 10U);
  EXPECT_EQ(files(), 2U);
  const auto kept = trace::file::open(moved).value()->latest();
  EXPECT_TRUE(kept->complete());
  EXPECT_EQ(chunks_of_kernels(*kept), 300U);
  fs::remove(moved);
}

TEST_F(a_recording_that_ends, is_left_as_it_is_if_its_end_is_cancelled) {
  const auto followed = made_.open();
  const std::atomic<bool> cancel{true};
  auto options = summed();
  options.cancel = &cancel;
  ASSERT_TRUE(finalize(made_.writer(), options));
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(followed->successor().value(), nullptr);
  EXPECT_TRUE(followed->refresh().value());
  EXPECT_TRUE(followed->latest()->complete());
  EXPECT_EQ(chunks_of_kernels(*followed->latest()), 300U);
}

}  // namespace
}  // namespace sluice::summary
