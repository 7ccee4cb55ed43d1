// Imports logs of RMM's logging_resource_adaptor.
#include <gmock/gmock.h>

#include "tests/core/import/files.hpp"

namespace sluice::importing::rmm_csv {
namespace {

using testing::get_rows;
using testing::own_folder;
using testing::to_number;

struct imported {
  explicit imported(std::string_view lines, std::string_view name = "rmm.csv") {
    const std::string log = "Thread,Time,Action,Pointer,Size,Stream\n" + std::string(lines);
    auto done = import_file(folder.write(name, log), folder.file("out.sluice"));
    EXPECT_TRUE(done) << done.error().to_string();
    report = std::move(*done);
    file = trace::file::open(folder.file("out.sluice")).value();
    allocations = get_rows<trace::alloc_event>(*file);
    frees = get_rows<trace::free_event>(*file);
  }
  own_folder folder;
  importing::report report;
  std::shared_ptr<trace::file> file;
  std::vector<trace::alloc_event> allocations;
  std::vector<trace::free_event> frees;
};

TEST(rmm_log, pairs_frees_with_what_they_free) {
  const imported log(
      "31,10:00:00.000000,allocate,0x7f0000000000,1024,0x0\n"
      "31,10:00:00.000250,allocate,0x7f0000000400,2048,0x55d0\n"
      "32,10:00:01.000000,free,0x7f0000000000,1024,0x0\n"
      "31,10:00:01.500000,allocate,0x7f0000000000,512,0x0\n");
  ASSERT_EQ(log.allocations.size(), 3U);
  ASSERT_EQ(log.frees.size(), 1U);
  EXPECT_EQ(log.frees[0].block, log.allocations[0].block);
  EXPECT_NE(log.allocations[2].block, log.allocations[0].block);
  EXPECT_EQ(log.allocations[0].time, 0);
  EXPECT_EQ(log.allocations[1].time, 250'000);
  EXPECT_EQ(log.frees[0].time, 1'000'000'000);
  EXPECT_EQ(log.allocations[1].bytes, 2048U);
  EXPECT_EQ(log.allocations[1].layer, trace::layer::framework);
  EXPECT_EQ(log.allocations[1].kind, trace::memory_kind::device);
  EXPECT_NE(log.allocations[1].stream, log.allocations[0].stream);
  EXPECT_NE(log.frees[0].thread, log.allocations[0].thread);
  EXPECT_TRUE(log.report.not_understood.empty());
}

TEST(rmm_log, goes_on_past_midnight) {
  const imported log(
      "1,23:59:59.900000,allocate,0x100,1,0x0\n"
      "1,00:00:00.100000,allocate,0x200,1,0x0\n"
      "2,23:59:59.999000,allocate,0x300,1,0x0\n"  // another thread's line, a little late
      "1,00:00:00.200000,allocate,0x400,1,0x0\n"
      "1,23:59:59.000000,allocate,0x500,1,0x0\n"
      "1,00:30:00.000000,allocate,0x600,1,0x0\n");
  ASSERT_EQ(log.allocations.size(), 6U);
  constexpr trace::time_ns ms = 1'000'000;
  EXPECT_EQ(log.allocations[1].time, 200 * ms);
  EXPECT_EQ(log.allocations[2].time, 99 * ms);
  EXPECT_EQ(log.allocations[3].time, 300 * ms);
  EXPECT_EQ(log.allocations[5].time, 1'800'100 * ms);
}

TEST(rmm_log, reads_the_times_of_every_version) {
  const imported colons("1,10:00:00:000001,allocate,0x100,1,0x0\n1,10:00:00:000003,free,0x100,1,0x0\n");
  EXPECT_EQ(colons.frees.at(0).time, 2'000);
  const imported epoch("1,1634567890.123456,allocate,0x100,1,0x0\n1,1634567890.5,deallocate,0x100,1,0x0\n");
  EXPECT_EQ(epoch.frees.at(0).time, 376'544'000);
  EXPECT_EQ(epoch.file->latest()->realtime_origin(), 1'634'567'890'123'456'000);
}

TEST(rmm_log, shows_failed_attempts) {
  const imported log("1,10:00:00.000000,allocate failure,(nil),99000000000,0x2\n");
  const auto failed = get_rows<trace::alloc_failed_event>(*log.file);
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].bytes, 99'000'000'000U);
  EXPECT_EQ(failed[0].error, 2);
}

TEST(rmm_log, knows_the_size_of_blocks_from_before_by_their_free) {
  const imported log(
      "1,10:00:00.000000,allocate,0x100,8,0x0\n"
      "1,10:00:05.000000,free,0x900,77,0x0\n");
  ASSERT_EQ(log.allocations.size(), 2U);
  EXPECT_EQ(log.allocations[1].bytes, 77U);
  EXPECT_EQ(log.allocations[1].time, 0);
  EXPECT_EQ(log.allocations[1].flags, trace::born_before);
  EXPECT_EQ(log.allocations[1].source, trace::provenance::inferred);
  EXPECT_EQ(log.frees.at(0).block, log.allocations[1].block);
}

TEST(rmm_log, pairs_a_free_that_is_logged_late_with_its_own_block) {
  const imported log(
      "1,10:00:00.000010,allocate,0x100,8,0x0\n"
      "2,10:00:00.000020,allocate,0x100,9,0x0\n"
      "3,10:00:00.000025,allocate,0x100,7,0x0\n"
      "2,10:00:00.000024,free,0x100,9,0x0\n"  // frees the second block at this address
      "3,10:00:00.000030,free,0x100,7,0x0\n");
  EXPECT_EQ(to_number(log.report.not_understood, "missing frees of blocks whose address was allocated again"), 1U);
  EXPECT_EQ(to_number(log.report.not_understood, "frees with a size other than the allocation's"), 0U);
  std::map<trace::block_id, trace::time_ns> freed;
  for (const auto& row : log.frees) freed[row.block] = row.time;
  ASSERT_EQ(freed.size(), 3U);
  EXPECT_EQ(freed[log.allocations[0].block], 10'000);
  EXPECT_EQ(freed[log.allocations[1].block], 14'000);
  EXPECT_EQ(freed[log.allocations[2].block], 20'000);
}

TEST(rmm_log, counts_what_cannot_be) {
  const imported log(
      "1,10:00:00.000000,allocate,0x100,8,0x0\n"
      "1,10:00:01.000000,allocate,0x100,9,0x0\n"  // its free is missing
      "1,10:00:02.000000,free,0x100,8,0x0\n"      // differs from the allocated size
      "1,10:00:03.000000,free,0x100,9,0x0\n"      // frees the block a second time
      "1,25:00:00.000000,free,0x100,9,0x0\n"
      "1,10:00:00.000000,free,0x100,-9,0x0\n"
      "1,10:00:00.000000,free,0x100,9223372036854775808,0x0\n"
      "1,99999999999999999999.0,free,0x100,9,0x0\n"
      "1,10:00:00.000000,resize,0x100,9,0x0\n"
      "1,10:00:00.000000,free,0x100,9\n"
      "1,10:00:00.000000,free,0x100,9,0x0,more\n"
      "a,10:00:00.000000,free,0x100,9,0x0\n");
  EXPECT_EQ(to_number(log.report.not_understood, "lines"), 7U);
  EXPECT_EQ(to_number(log.report.not_understood, "lines with the action 'resize'"), 1U);
  EXPECT_EQ(to_number(log.report.not_understood, "frees of memory that is already free"), 1U);
  EXPECT_EQ(to_number(log.report.not_understood, "frees with a size other than the allocation's"), 1U);
  EXPECT_EQ(to_number(log.report.not_understood, "missing frees of blocks whose address was allocated again"), 1U);
  EXPECT_EQ(log.frees.size(), 2U);
}

TEST(rmm_log, survives_lines_without_end) {
  const std::string endless(3'000'000, 'x');
  const imported log(endless + "\n1,10:00:00.000000,allocate,0x100,8,0x0\r\n1,10:00:00.000001,free,0x100,8,0x0");
  EXPECT_EQ(to_number(log.report.not_understood, "lines"), 1U);
  EXPECT_EQ(log.allocations.size(), 1U);
  EXPECT_EQ(log.frees.size(), 1U);
}

TEST(rmm_log, takes_the_device_from_the_name_that_rmm_gives) {
  const imported log("1,10:00:00.000000,allocate,0x100,8,0x0\n", "log.dev3.csv");
  EXPECT_EQ(log.file->latest()->tables().devices.rows().at(0).ordinal, 3);
}

TEST(rmm_log, reads_what_rmm_wrote) {  // RMM writes streams as "0", and a failure's pointer as "(nil)"
  const own_folder folder;
  const auto done = import_file(SLUICE_SOURCE_DIR "/tests/core/import/samples/rmm.dev0.csv", folder.file("out.sluice"));
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(to_number(done->read, "allocations"), 60U);
  EXPECT_EQ(to_number(done->read, "frees"), 60U);
  EXPECT_EQ(to_number(done->read, "failed allocations"), 1U);
  EXPECT_TRUE(done->not_understood.empty());
}

}  // namespace
}  // namespace sluice::importing::rmm_csv
