#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "core/trace/file/checksum.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer_inline.hpp"
#include "tests/core/base/named_files.hpp"
#include "tests/core/trace/random_rows.hpp"

namespace sluice::trace {
namespace {

class trace_file : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = (std::filesystem::temp_directory_path() /
             (std::string("sluice-") + info->name() + "-" + std::to_string(::getpid()) + ".sluice"))
                .string();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  /// Writes `count` kernels of 10 ns, one every 100 ns, in chunks of `per_chunk` rows.
  file_writer kernels(std::size_t count, std::size_t per_chunk) {
    writer_options options;
    options.rows_per_chunk = per_chunk;
    auto writer = std::move(file_writer::create(path_, options).value());
    for (std::size_t i = 0; i < count; ++i) writer.add(kernel(writer, i));
    return writer;
  }

  static kernel_event kernel(file_writer& writer, std::size_t i) {
    kernel_event row;
    row.time = static_cast<time_ns>(100 * i);
    row.end = row.time + 10;
    row.name = writer.intern(i % 2 == 0 ? "even" : "odd");
    return row;
  }

  static std::size_t count_kernels(const snapshot& recording) {
    std::size_t count = 0;
    EXPECT_TRUE(recording.for_each<kernel_event>([&](const kernel_event&) { ++count; }));
    return count;
  }

  std::vector<char> bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::vector<char>& content) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
  }

  std::string path_;
};

TEST_F(trace_file, is_read_back_row_by_row) {
  auto writer = kernels(1000, 64);
  ASSERT_TRUE(writer.close());
  const auto opened = file::open(path_);
  ASSERT_TRUE(opened) << opened.error().to_string();
  const auto now = (*opened)->latest();
  EXPECT_TRUE(now->complete());
  EXPECT_FALSE(now->simulated());
  EXPECT_TRUE(now->warnings().empty());
  EXPECT_EQ(now->begin(), 0);
  EXPECT_EQ(now->end(), 99'910);
  std::size_t i = 0;
  ASSERT_TRUE(now->for_each<kernel_event>([&](const kernel_event& row) {
    EXPECT_EQ(row.time, static_cast<time_ns>(100 * i));
    EXPECT_EQ(now->tables().text(row.name), i % 2 == 0 ? "even" : "odd");
    EXPECT_EQ(raw(row.id), i + 1);
    ++i;
  }));
  EXPECT_EQ(i, 1000u);
}

TEST_F(trace_file, keeps_late_events_in_chunks_that_overlap) {
  auto writer = kernels(10, 1000);
  ASSERT_TRUE(writer.flush());
  kernel_event late;
  late.time = 5;
  late.end = 2'000;
  writer.add(late);
  ASSERT_TRUE(writer.close());
  const auto now = file::open(path_).value()->latest();
  std::vector<time_ns> seen;
  ASSERT_TRUE(now->for_each<kernel_event>([&](const kernel_event& row) { seen.push_back(row.time); }, 950, 960));
  EXPECT_EQ(seen, std::vector<time_ns>{5});
  EXPECT_EQ(now->end(), 2'000);
}

TEST_F(trace_file, takes_events_that_are_filled_in_where_they_wait) {
  auto writer = kernels(0, 5);
  kernel_event like;
  like.device = static_cast<device_id>(3);
  for (std::size_t i = 0; i < 103; ++i) {
    // Some rows are complete, some are filled in later: also across chunk boundaries, and with names added in between.
    if (i % 3 == 0) {
      writer.add(kernel(writer, i));
      continue;
    }
    kernel_event& row = writer.start(like);
    EXPECT_EQ(raw(row.id), i + 1);
    row.name = writer.intern("name " + std::to_string(i));
    row.time = static_cast<time_ns>(100 * i);
    row.end = row.time + 10;
  }
  ASSERT_TRUE(writer.close());
  const auto now = (*file::open(path_))->latest();
  std::size_t i = 0;
  ASSERT_TRUE(now->for_each<kernel_event>([&](const kernel_event& row) {
    EXPECT_EQ(raw(row.id), i + 1);
    EXPECT_EQ(row.time, static_cast<time_ns>(100 * i));
    EXPECT_EQ(row.end, row.time + 10);
    EXPECT_EQ(raw(row.device), i % 3 == 0 ? 0U : 3U);
    ++i;
  }));
  EXPECT_EQ(i, 103U);
  for (const chunk_info& chunk : now->chunks()) {
    if (chunk.type == row_type::kernel) {
      EXPECT_LE(chunk.rows, 5U);
    }
  }
}

TEST_F(trace_file, with_no_events_has_an_empty_span) {
  ASSERT_TRUE(file_writer::create(path_).value().close());
  const auto now = file::open(path_).value()->latest();
  EXPECT_TRUE(now->complete());
  EXPECT_GT(now->begin(), now->end());
}

TEST_F(trace_file, says_that_it_is_simulated_and_when_it_began) {
  writer_options options;
  options.simulated = true;
  options.realtime_origin = 1'700'000'000'000'000'000;
  ASSERT_TRUE(file_writer::create(path_, options).value().close());
  const auto now = file::open(path_).value()->latest();
  EXPECT_TRUE(now->simulated());
  EXPECT_EQ(now->realtime_origin(), options.realtime_origin);
}

TEST_F(trace_file, is_closed_when_its_last_snapshot_goes) {
  ASSERT_TRUE(kernels(10, 4).close());
  auto opened = file::open(path_).value();
  const std::weak_ptr<file> watched = opened;
  auto snapshot = opened->latest();
  EXPECT_EQ(snapshot, opened->latest());
  opened.reset();
  EXPECT_EQ(count_kernels(*snapshot), 10U);
  snapshot.reset();
  EXPECT_TRUE(watched.expired());
}

TEST_F(trace_file, grows_under_a_reader) {
  auto writer = kernels(10, 1000);
  ASSERT_TRUE(writer.flush());
  const auto opened = file::open(path_).value();
  const auto before = opened->latest();
  EXPECT_EQ(count_kernels(*before), 10u);
  EXPECT_FALSE(before->complete());
  EXPECT_FALSE(opened->refresh().value()) << "nothing was appended";

  writer.add(kernel(writer, 10));
  ASSERT_TRUE(writer.flush());
  EXPECT_TRUE(opened->refresh().value());
  EXPECT_EQ(count_kernels(*opened->latest()), 11u);
  EXPECT_EQ(count_kernels(*before), 10u) << "a snapshot never changes";

  ASSERT_TRUE(writer.close());
  EXPECT_TRUE(opened->refresh().value());
  EXPECT_TRUE(opened->latest()->complete());
  EXPECT_FALSE(opened->refresh().value());
}

TEST_F(trace_file, that_grows_is_shown_up_to_its_last_flush) {
  auto writer = std::make_optional(file_writer::create(path_, {.rows_per_chunk = 8}).value());
  const auto add = [&](int allocations, int frees) {
    for (int i = 0; i < allocations; ++i) writer->add(alloc_event{});
    for (int i = 0; i < frees; ++i) writer->add(free_event{});
  };
  using counts = std::pair<std::size_t, std::size_t>;
  const auto shown = [](const file& subject) {
    std::size_t allocations = 0, frees = 0;
    for (const chunk_info& chunk : subject.latest()->chunks()) {
      if (chunk.type == row_type::alloc) allocations += chunk.rows;
      if (chunk.type == row_type::free) frees += chunk.rows;
    }
    return counts(allocations, frees);
  };
  add(10, 7);  // A chunk of allocations is written when it is full; the frees of its blocks wait.
  const auto opened = file::open(path_).value();
  EXPECT_EQ(shown(*opened), counts(0, 0)) << "a block whose free is still pending is not shown";
  const auto own = file::open(path_, {.for_its_writer = true}).value();
  EXPECT_EQ(shown(*own), counts(8, 0));
  ASSERT_TRUE(writer->flush());
  EXPECT_TRUE(opened->refresh().value());
  EXPECT_EQ(shown(*opened), counts(10, 7));
  add(8, 5);
  EXPECT_FALSE(opened->refresh().value());
  EXPECT_EQ(shown(*opened), counts(10, 7));
  ASSERT_TRUE(writer->close());
  EXPECT_TRUE(opened->refresh().value());
  EXPECT_EQ(shown(*opened), counts(18, 12));
}

TEST_F(trace_file, knows_whether_a_writer_still_has_it) {
  auto writer = std::make_optional(kernels(10, 1000));
  ASSERT_TRUE(writer->flush());
  const auto opened = file::open(path_).value();
  EXPECT_TRUE(opened->latest()->growing());
  EXPECT_FALSE(opened->refresh().value());
  EXPECT_FALSE(file_writer::create(path_)) << "one file, one writer";

  // A killed writer releases the lock and leaves no index: the child holds the last copy of the descriptor.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(opened->latest()->growing()) << "the end of a child changes nothing";

  ASSERT_TRUE(writer->close());
  EXPECT_TRUE(opened->refresh().value());
  EXPECT_FALSE(opened->latest()->growing());
  EXPECT_TRUE(opened->latest()->complete());
}

TEST_F(trace_file, of_a_killed_writer_neither_grows_nor_is_complete) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto writer = kernels(10, 4);
    const bool flushed = writer.flush().has_value();
    for (int i = 0; i < 4; ++i) writer.add(kernel(writer, 10 + i));  // A whole chunk.
    static_cast<void>(!::write(ready[1], flushed ? "y" : "n", 1));
    for (;;) ::pause();
  }
  char result = 0;
  ASSERT_EQ(::read(ready[0], &result, 1), 1);
  ASSERT_EQ(result, 'y');
  const auto opened = file::open(path_).value();
  EXPECT_TRUE(opened->latest()->growing());
  EXPECT_EQ(count_kernels(*opened->latest()), 10u);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(opened->refresh().value()) << "the writer's death is a change";
  EXPECT_FALSE(opened->latest()->growing());
  EXPECT_FALSE(opened->latest()->complete());
  EXPECT_EQ(count_kernels(*opened->latest()), 14u) << "includes rows after its last flush";
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(trace_file, opens_wherever_its_writer_died) {
  auto writer = kernels(200, 20);
  ASSERT_TRUE(writer.close());
  const auto whole = bytes();
  std::size_t most = 0;
  for (std::size_t length = sizeof(file_header); length < whole.size(); ++length) {
    put({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
    const auto opened = file::open(path_);
    ASSERT_TRUE(opened) << length << ": " << opened.error().to_string();
    const auto now = (*opened)->latest();
    EXPECT_FALSE(now->complete()) << length;
    const std::size_t count = count_kernels(*now);
    EXPECT_GE(count, most) << "a longer file never holds less";
    EXPECT_EQ(count % 20, 0u);
    most = count;
  }
  EXPECT_EQ(most, 200u);
}

TEST_F(trace_file, survives_damage_anywhere) {
  auto writer = kernels(300, 30);
  ASSERT_TRUE(writer.close());
  const auto whole = bytes();
  std::mt19937_64 random(3);
  for (int round = 0; round < 2'000; ++round) {
    auto damaged = whole;
    for (std::uint64_t hit = 0; hit <= random() % 4; ++hit)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    put(damaged);
    const auto opened = file::open(path_);
    if (!opened) {
      EXPECT_NE(opened.error().to_string().find(path_), std::string::npos);
      continue;
    }
    const auto now = (*opened)->latest();
    for (std::size_t i = 0; i < now->chunks().size(); ++i) {
      const auto rows = now->read<kernel_event>(i);
      if (rows) {
        EXPECT_EQ((*rows)->size(), now->chunks()[i].rows);
      }
    }
  }
}

TEST_F(trace_file, skips_a_damaged_chunk_and_says_how_much_was_lost) {
  auto writer = kernels(100, 20);
  ASSERT_TRUE(writer.flush());
  const auto second = file::open(path_).value()->latest()->chunks()[2].offset;
  auto content = bytes();
  std::memset(content.data() + second, 0, sizeof(chunk_header));
  put(content);
  const auto now = file::open(path_).value()->latest();
  EXPECT_EQ(count_kernels(*now), 80u);
  ASSERT_EQ(now->warnings().size(), 1u);
  EXPECT_NE(now->warnings()[0].find("damaged bytes at byte " + std::to_string(second)), std::string::npos);
}

TEST_F(trace_file, names_what_is_wrong_with_a_file_it_cannot_open) {
  const auto open_error = [&] { return file::open(path_).error(); };
  EXPECT_EQ(open_error().code, error_code::not_found);
  put({});
  EXPECT_EQ(open_error().code, error_code::foreign);
  put(std::vector<char>(1000, 'x'));
  EXPECT_EQ(open_error().code, error_code::foreign);
  EXPECT_NE(open_error().to_string().find("not a Sluice recording"), std::string::npos);
  put({'s', 'h', 'o', 'r', 't'});
  EXPECT_EQ(open_error().code, error_code::foreign);
  file_header header;
  header.major = format_major + 1;
  header.checksum = header_checksum(header);
  put({reinterpret_cast<const char*>(&header), reinterpret_cast<const char*>(&header) + sizeof header});
  EXPECT_EQ(open_error().code, error_code::newer_version);
  header.major = format_major;
  put({reinterpret_cast<const char*>(&header), reinterpret_cast<const char*>(&header) + sizeof header});
  EXPECT_EQ(open_error().code, error_code::corrupt);
  EXPECT_EQ(file::open("/").error().code, error_code::foreign);
}

TEST_F(trace_file, is_kept_up_to_the_last_whole_chunk_when_the_disk_is_full) {
  // /dev/full is no substitute: rows written before must stay. A file size limit fails the same way, with EFBIG.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2'000, 2'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto writer = kernels(100'000, 100);
    const auto closed = writer.close();
    ::_exit(!closed && closed.error().code == error_code::no_space ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the writer reports a full disk";
  const auto opened = file::open(path_);
  ASSERT_TRUE(opened) << opened.error().to_string();
  const auto now = (*opened)->latest();
  EXPECT_FALSE(now->complete());
  const std::size_t count = count_kernels(*now);
  EXPECT_GT(count, 0u);
  EXPECT_LT(count, 100'000u);
  EXPECT_EQ(count % 100, 0u);
}

TEST_F(trace_file, forgets_what_lies_before_a_mark_in_a_file_that_takes_its_place) {
  file_writer writer = kernels(100, 10);
  const auto mark = writer.mark();
  ASSERT_TRUE(mark);
  for (std::size_t i = 100; i < 130; ++i) writer.add(kernel(writer, i));
  ASSERT_TRUE(writer.flush());
  const auto before = file::open(path_).value();
  ASSERT_TRUE(writer.drop_before(*mark));
  EXPECT_EQ(count_kernels(*before->latest()), 130U) << "a reader that has it open keeps it";
  const auto next = before->successor().value();
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(count_kernels(*next->latest()), 30U);
  writer.add(kernel(writer, 130));
  ASSERT_TRUE(writer.close());
  EXPECT_EQ(count_kernels(*file::open(path_).value()->latest()), 31U);
}

TEST_F(trace_file, takes_no_place_that_another_file_has_by_now) {
  const std::string moved = path_ + ".moved";
  file_writer writer = kernels(100, 10);
  const auto mark = writer.mark();
  ASSERT_TRUE(mark);
  std::filesystem::rename(path_, moved);
  put({'m', 'i', 'n', 'e'});
  const auto dropped = writer.drop_before(*mark);
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().code, error_code::io);
  EXPECT_EQ(bytes().size(), 4U);
  EXPECT_EQ(::sluice::testing::files_named_after(path_), 2U) << "the two complete files";
  ASSERT_TRUE(writer.close());
  EXPECT_EQ(count_kernels(*file::open(moved).value()->latest()), 100U);
  std::filesystem::remove(moved);
}

TEST_F(trace_file, reads_only_rows_of_the_kind_a_chunk_holds) {
  auto writer = kernels(5, 5);
  ASSERT_TRUE(writer.close());
  const auto now = file::open(path_).value()->latest();
  for (std::size_t i = 0; i < now->chunks().size() + 1; ++i) {
    const auto rows = now->read<alloc_event>(i);
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().code, error_code::invalid_argument);
  }
}

TEST_F(trace_file, a_table_row_written_again_replaces_the_earlier) {
  auto writer = std::move(file_writer::create(path_).value());
  thread_row row;
  row.id = static_cast<thread_id>(1);
  row.tid = 77;
  writer.add(row);
  ASSERT_TRUE(writer.flush());
  row.name = writer.intern("worker");
  writer.add(row);
  ASSERT_TRUE(writer.close());
  const auto now = file::open(path_).value()->latest();
  ASSERT_EQ(now->tables().threads.rows().size(), 1u);
  EXPECT_EQ(now->tables().text(now->tables().threads.find(row.id)->name), "worker");
}

// --- summaries ------------------------------------------------------------------------------------------------------

TEST_F(trace_file, keeps_summaries_apart_from_what_they_sum_up) {
  auto writer = kernels(100, 10);
  const std::vector<section_row> sections = {{0, 4096, 40}, {4096, 16384, 60}};
  writer.add_summary<section_row>(sections);
  const std::vector<curve_bin_row> bins(3, curve_bin_row{8192, 1, 2, 3, 2.5, 3});
  writer.add_summary<curve_bin_row>(bins, std::pair<time_ns, time_ns>{4096, 16383});
  ASSERT_TRUE(writer.close());

  const auto now = file::open(path_).value()->latest();
  EXPECT_EQ(count_kernels(*now), 100u);
  for (const chunk_info& chunk : now->chunks()) EXPECT_FALSE(is_summary(chunk.type));
  ASSERT_EQ(now->summaries().size(), 2u);
  EXPECT_EQ(now->end(), 9910) << "a summary is not an event";
  std::vector<section_row> read_sections;
  ASSERT_TRUE(now->read_summary(now->summaries()[0], read_sections));
  ASSERT_EQ(read_sections.size(), 2u);
  EXPECT_EQ(read_sections[1].events, 60u);
  EXPECT_EQ(now->summaries()[1].min_time, 4096);
  EXPECT_EQ(now->summaries()[1].max_time, 16383);
  EXPECT_FALSE(now->read_summary(now->summaries()[1], read_sections)) << "rows of another kind";
}

TEST_F(trace_file, gives_who_wants_some_columns_of_summaries_those_and_others_all) {
  auto writer = kernels(100, 10);
  std::vector<boundary_block_row> blocks(50);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i);
    blocks[i].time = 100 * n;
    blocks[i].end = 100 * n + 7 * (n % 5);
    blocks[i].address = 4096 * i;
    blocks[i].bytes = 512 * i;
  }
  writer.add_summary<boundary_block_row>(blocks);
  ASSERT_TRUE(writer.close());

  const auto now = file::open(path_).value()->latest();
  const chunk_info& chunk = now->summaries()[0];
  const auto some = column_set<boundary_block_row>::of(&boundary_block_row::time, &boundary_block_row::bytes);
  for (int again = 0; again < 2; ++again) {
    const auto times = now->read_spans<boundary_block_row>(chunk).value();
    const auto few = now->read_summary<boundary_block_row>(chunk, some).value();
    const auto whole = now->read_summary<boundary_block_row>(chunk).value();
    ASSERT_EQ(times->size(), blocks.size());
    ASSERT_EQ(few->size(), blocks.size());
    ASSERT_EQ(whole->size(), blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ((*times)[i].time, blocks[i].time);
      EXPECT_EQ((*times)[i].end, blocks[i].end);
      EXPECT_EQ((*few)[i].bytes, blocks[i].bytes);
      EXPECT_EQ((*few)[i].address, 0U) << "not requested";
      EXPECT_EQ((*whole)[i].bytes, blocks[i].bytes);
      EXPECT_EQ((*whole)[i].address, blocks[i].address);
    }
  }
  EXPECT_FALSE(now->read_spans<block_uses_row>(chunk)) << "rows of another kind";
}

TEST_F(trace_file, leaves_summaries_out_of_a_file_that_was_not_closed) {
  auto writer = kernels(100, 10);
  writer.add_summary<section_row>(std::vector<section_row>{{0, 4096, 40}});
  ASSERT_TRUE(writer.flush());
  const auto now = file::open(path_).value()->latest();
  EXPECT_EQ(count_kernels(*now), 100u);
  EXPECT_TRUE(now->summaries().empty());
  EXPECT_TRUE(now->warnings().empty());
}

TEST_F(trace_file, takes_the_summaries_of_another_file_for_the_events_that_they_were_made_from_only) {
  ASSERT_TRUE(kernels(100, 10).close());
  const auto whole = bytes();
  put({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2)});
  const std::string beside = path_ + ".summaries";
  {
    auto writer = file_writer::create(beside).value();
    writer.add_summary<section_row>(std::vector<section_row>{{0, 4096, 40}});
    ASSERT_TRUE(writer.close());
  }
  const auto opened = file::open(path_).value();
  const auto first = opened->latest();
  const auto summed = first->with_summaries(*file::open(beside).value()->latest());
  std::filesystem::remove(beside);
  EXPECT_FALSE(file::open(path_).value()->adopt(summed)) << "it belongs to another file";
  ASSERT_TRUE(opened->adopt(summed));
  EXPECT_EQ(opened->latest(), summed);
  EXPECT_TRUE(first->summaries().empty());
  EXPECT_FALSE(summed->complete());
  EXPECT_EQ(count_kernels(*summed), count_kernels(*first));
  ASSERT_EQ(summed->summaries().size(), 1u);
  std::vector<section_row> sections;
  ASSERT_TRUE(summed->read_summary(summed->summaries()[0], sections));
  EXPECT_EQ(sections.at(0).events, 40u);

  put(whole);
  ASSERT_TRUE(opened->refresh().value());
  EXPECT_TRUE(opened->latest()->summaries().empty()) << "they cover fewer events";
  EXPECT_FALSE(opened->adopt(summed));
  EXPECT_EQ(count_kernels(*opened->latest()), 100u);
}

TEST_F(trace_file, takes_a_warning_that_a_refresh_keeps) {
  auto writer = kernels(10, 10);
  ASSERT_TRUE(writer.flush());
  const auto opened = file::open(path_).value();
  ASSERT_TRUE(opened->adopt(opened->latest()->with_warning("beware")));
  ASSERT_TRUE(writer.close());
  ASSERT_TRUE(opened->refresh().value());
  ASSERT_EQ(opened->latest()->warnings().size(), 1u);
  EXPECT_EQ(opened->latest()->warnings()[0], "beware");
}

TEST_F(trace_file, knows_which_chunk_holds_an_event) {
  auto writer = kernels(100, 10);
  attribute_event about;
  about.target = static_cast<event_id>(7);
  writer.add(about);
  ASSERT_TRUE(writer.close());
  const auto now = file::open(path_).value()->latest();
  std::uint64_t next = 1;
  for (const chunk_info& chunk : now->chunks()) {
    if (chunk.type == row_type::attribute) {
      EXPECT_EQ(chunk.lowest_event, 7u) << "the event that it describes";
      EXPECT_EQ(chunk.highest_event, 7u);
    }
    if (chunk.type != row_type::kernel) continue;
    EXPECT_EQ(chunk.lowest_event, next);
    EXPECT_EQ(chunk.highest_event, next + 9);
    next += 10;
  }
  EXPECT_EQ(next, 101u);
}

TEST_F(trace_file, reads_one_column_of_many) {
  auto writer = kernels(100, 30);
  ASSERT_TRUE(writer.close());
  const auto now = file::open(path_).value()->latest();
  for (std::size_t i = 0; i < now->chunks().size(); ++i) {
    if (now->chunks()[i].type != row_type::kernel) continue;
    std::vector<kernel_event> rows;
    ASSERT_TRUE(now->read_into<kernel_event>(i, rows));
    std::vector<string_id> names;
    std::vector<time_ns> ends;
    std::vector<event_id> ids;
    std::vector<std::uint64_t> absent;
    ASSERT_TRUE(now->read_column<kernel_event>(i, &kernel_event::name, names));
    ASSERT_TRUE(now->read_column<kernel_event>(i, &kernel_event::end, ends));
    ASSERT_TRUE(now->read_column<kernel_event>(i, &kernel_event::id, ids));
    ASSERT_TRUE(now->read_column<kernel_event>(i, &kernel_event::correlation, absent));
    ASSERT_EQ(names.size(), rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      EXPECT_EQ(names[k], rows[k].name);
      EXPECT_EQ(ends[k], rows[k].end);
      EXPECT_EQ(ids[k], rows[k].id);
      EXPECT_EQ(absent[k], rows[k].correlation);
    }
  }
  std::vector<string_id> names;
  EXPECT_FALSE(now->read_column<alloc_event>(now->chunks().size() - 1, &alloc_event::name, names))
      << "a different kind";
}

}  // namespace
}  // namespace sluice::trace
