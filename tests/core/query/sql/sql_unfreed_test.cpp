// Blocks that were never freed, in SQL and in the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/query/engine/engine.hpp"
#include "tests/core/query/sql/sql_fixture.hpp"

namespace sluice::query {
namespace {

using ::testing::ElementsAre;
using testing::mib;
using testing::ms;

class sql_unfreed : public sql_test {
 protected:
  /// Records a process that ends with `exit_status` after 10 s: a leak, a freed block, a block from before the
  /// recording, a block of another process, and a block allocated just before the end.
  void record(std::int32_t exit_status) {
    made_.standard_tables(false);
    trace::process_row process;
    process.id = trace::process_id{1};
    process.mode = trace::recording_mode::memory;
    process.end = 10'000 * ms;
    process.exit_status = exit_status;
    made_.writer().add(process);
    made_.add_alloc(1 * ms, 1, 7 * mib);
    made_.add_alloc(2 * ms, 2, 1 * mib);
    made_.add_free(3 * ms, 2);
    add(4 * ms, 3, trace::born_before);
    add(5 * ms, 4, trace::ipc_import);
    made_.add_alloc(9'900 * ms, 5, 3 * mib);
    made_.add_kernel(9'990 * ms, 10'000 * ms);
    open();
  }
  void add(time_ns time, std::uint64_t block, std::uint64_t flags) {
    auto row = made_.event<trace::alloc_event>(time);
    row.block = trace::block_id{block};
    row.bytes = 1 * mib;
    row.device = trace::device_id{1};
    row.kind = trace::memory_kind::device;
    row.flags = flags;
    made_.writer().add(row);
  }
  /// The same blocks, from the report.
  std::string reported() {
    engine asked(file_);
    const auto now = asked.ask_now(report_query{}).value();
    std::uint64_t count = 0, bytes = 0;
    for (const auto& each : now->unfreed) count += each.count, bytes += each.bytes;
    return std::to_string(count) + "|" + std::to_string(bytes);
  }
};

constexpr const char* never_freed = "SELECT count(*), coalesce(sum(bytes), 0) FROM blocks WHERE unfreed";

TEST_F(sql_unfreed, are_those_of_the_report) {
  record(0);
  EXPECT_THAT(ask(never_freed), ElementsAre(reported()));
  EXPECT_THAT(ask("SELECT id, unfreed FROM blocks ORDER BY id"), ElementsAre("1|1", "2|0", "3|0", "4|0", "5|1"));
}

// A block allocated just before a signal ended the process must not count as a leak.
TEST_F(sql_unfreed, leave_out_the_last_half_second_of_a_process_that_was_killed) {
  record(137);
  EXPECT_THAT(ask(never_freed), ElementsAre(reported()));
  EXPECT_THAT(ask("SELECT id FROM block WHERE unfreed"), ElementsAre("1"));
  EXPECT_THAT(ask("SELECT id FROM block WHERE died IS NULL AND NOT unfreed AND id = 5"), ElementsAre("5"));
}

}  // namespace
}  // namespace sluice::query
