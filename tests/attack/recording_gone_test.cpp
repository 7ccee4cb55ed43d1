// Others delete, replace, move or damage the file of a running recording: the recorder reports it, and saves the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;
using writer::recorded;

class recording_gone : public sluice_program {
 protected:
  /// Records an allocation, runs `what` once that allocation is in the file, then records another allocation.
  program_result record_and(const std::string& subject, const std::string& then = "true") {
    std::filesystem::create_directory(file("runs"));
    const std::string count =
        SLUICE_BINARY_DIR "/sluice query runs/t.sluice 'SELECT count(*) FROM allocations' --format csv";
    const std::string script = guest + " succeed; until [ \"$(" + count + " | tail -1)\" = 1 ]; do sleep 0.05; done; " +
                               subject + "; " + guest + " succeed; " + then;
    return run_sluice({"record", "-o", "runs/t.sluice", "--", "sh", "-c", script});
  }

  [[nodiscard]] std::size_t allocations_in(const std::string& name) const {
    const recorded found(file(name));
    EXPECT_TRUE(found.snapshot().complete());
    return found.all<trace::alloc_event>().size();
  }

  static void expect_one_line(const program_result& subject) {
    EXPECT_EQ(std::count(subject.err.begin(), subject.err.end(), '\n'), 1) << subject.err;
  }
};

// Tried: a clean-up that deletes the recording while it is written.
TEST_F(recording_gone, a_deleted_one_is_saved_under_its_name) {
  const program_result ended = record_and("rm runs/t.sluice");
  EXPECT_EQ(ended.status, 125);
  EXPECT_THAT(ended.err,
              HasSubstr("runs/t.sluice: was deleted while it was recorded; what was recorded is in runs/t.sluice"));
  expect_one_line(ended);
  EXPECT_EQ(allocations_in("runs/t.sluice"), 2U);
}

// Tried: deleting the recording while a command runs that fails. The command's own status takes precedence.
TEST_F(recording_gone, the_commands_own_failure_is_the_status) {
  EXPECT_EQ(record_and("rm runs/t.sluice", "exit 7").status, 7);
}

// Tried: deleting the whole folder.
TEST_F(recording_gone, with_its_folder_it_is_saved_in_the_current_one) {
  const program_result ended = record_and("rm -r runs");
  EXPECT_EQ(ended.status, 125);
  EXPECT_THAT(ended.err, HasSubstr("./t-recovered.sluice"));
  EXPECT_EQ(allocations_in("t-recovered.sluice"), 2U);
}

// Tried: replacing the recording by another file. Both must be kept.
TEST_F(recording_gone, a_replaced_one_is_saved_beside_the_other) {
  const program_result ended = record_and("echo precious >runs/new; mv runs/new runs/t.sluice");
  EXPECT_EQ(ended.status, 125);
  EXPECT_THAT(ended.err, HasSubstr("was replaced by another file while it was recorded"));
  EXPECT_EQ(make_content(file("runs/t.sluice")), "precious\n");
  EXPECT_EQ(allocations_in("runs/t-recovered.sluice"), 2U);
}

// Tried: renaming the file before the recording ends.
TEST_F(recording_gone, of_a_moved_one_it_is_said_where_it_is) {
  const program_result ended = record_and("mv runs/t.sluice runs/kept.sluice");
  EXPECT_EQ(ended.status, 125);
  EXPECT_THAT(ended.err, HasSubstr("was moved while it was recorded; what was recorded is in "));
  EXPECT_THAT(ended.err, HasSubstr("runs/kept.sluice"));
  EXPECT_EQ(allocations_in("runs/kept.sluice"), 2U);
  EXPECT_FALSE(exists("runs/t.sluice"));
}

// Tried: truncating the file to 0 bytes. Later writes leave a hole before them.
TEST_F(recording_gone, of_a_truncated_one_what_is_whole_is_saved) {
  const program_result ended = record_and(": >runs/t.sluice");
  EXPECT_EQ(ended.status, 125);
  EXPECT_THAT(ended.err, HasSubstr("was cut off or written over while it was recorded"));
  EXPECT_THAT(ended.err, HasSubstr("pieces that were lost"));
  expect_one_line(ended);
  EXPECT_EQ(allocations_in("runs/t-recovered.sluice"), 1U) << "the later allocation";
}

// Tried: truncating the file after its header. Later events make it as long as before.
TEST_F(recording_gone, of_one_that_was_cut_in_the_middle_both_ends_are_saved) {
  const program_result ended = record_and("truncate -s 100 runs/t.sluice");
  EXPECT_EQ(ended.status, 125);
  EXPECT_EQ(allocations_in("runs/t-recovered.sluice"), 1U);
}

// Tried: overwriting bytes at the start of the file.
TEST_F(recording_gone, one_that_was_written_over_is_saved_anew) {
  const program_result ended = record_and("printf nonsense | dd of=runs/t.sluice conv=notrunc 2>/dev/null");
  EXPECT_EQ(ended.status, 125);
  EXPECT_EQ(allocations_in("runs/t-recovered.sluice"), 2U) << "only the header was lost";
}

// Tried: a ring recording, which replaces its own file repeatedly. The recorder must not report that as interference.
TEST_F(recording_gone, a_ring_is_not_confused_by_itself) {
  EXPECT_EQ(run_sluice({"record", "-o", "t.sluice", "--ring", "1MiB", "--", guest, "churn"}).status, 0);
  EXPECT_GT(allocations_in("t.sluice"), 1000U);
}

}  // namespace
}  // namespace sluice
