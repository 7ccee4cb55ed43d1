// Environments in which a program's events cannot be recorded: the recorder must report the loss and its reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <string>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;
using writer::recorded;

class losses_test : public sluice_program {
 protected:
  /// Records a shell that runs `before`, then the guest. By default the guest allocates once and succeeds.
  program_result record_guest(const std::string& before, const std::string& method = "succeed") {
    return run_sluice(
        {"record", "-o", "t.sluice", "--linger", "0", "--", "/bin/sh", "-c", before + " " + guest + " " + method});
  }
};

// Tried: a program that cannot open any file besides the standard ones.
TEST_F(losses_test, a_program_without_descriptors_is_not_silent) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "skipped: the search for leaks needs descriptors and ends the program without them";
#endif
  const program_result ended = record_guest("exec", "no-descriptors");
  EXPECT_EQ(ended.status, 125) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("no descriptor left"));
  EXPECT_THAT(ended.err, HasSubstr("5 lost (5 allocations and frees)"));
  EXPECT_THAT(ended.err, Not(HasSubstr("does CMD itself")));
}

// Tried: a file size limit that is smaller than a ring.
TEST_F(losses_test, a_small_file_limit_is_not_silent) {
  const program_result ended = record_guest("ulimit -f 8;");
  EXPECT_EQ(ended.status, 125) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("ulimit -f"));
  EXPECT_THAT(ended.err, Not(HasSubstr("does CMD itself")));
}

/// Fixture for programs that count their events while the recorder's writes fail.
class counted_losses : public sluice_program {
 protected:
  static constexpr const char* program_that_counts = SLUICE_BINARY_DIR "/tests/attack/counting_guest";
  static constexpr std::uint64_t pairs = 100'000;

  void SetUp() override { write("counts", std::string(4096, '\0')); }

  /// Expects that each event of the program is in the file, or in the loss counts of the file or of the recorder.
  void expect_all_accounted(const program_result& ended) const {
    const recorded found(file("t.sluice"));
    std::uint64_t sum = found.all<trace::alloc_event>().size();
    for (const trace::free_event& row : found.all<trace::free_event>())
      sum += row.source == trace::provenance::exact ? 1 : 0;
    for (const trace::loss_event& row : found.all<trace::loss_event>()) {
      sum += row.events;
      EXPECT_EQ(row.events, row.memory_events) << "the program has no other events";
    }
    EXPECT_EQ(sum + untold(ended.err), 2 * pairs) << ended.err;
  }

 private:
  static std::uint64_t untold(const std::string& said) {
    const std::string before = "the file could not be made to say that ";
    const auto at = said.find(before);
    if (at == std::string::npos) return 0;
    std::string digits = said.substr(at + before.size(), said.find(" event", at) - at - before.size());
    digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
    return std::stoull(digits);
  }
};

// Tried: file size limits for program and recorder, with and without SIGXFSZ: less than a ring, a small ring,
// less than the recording.
TEST_F(counted_losses, add_up_under_a_limit_on_the_size_of_files) {
  for (const char* signal : {"", "trap '' XFSZ; "}) {
    for (const char* limit : {"1", "4", "16", "24", "40", "128", "2048"}) {
      SCOPED_TRACE(std::string(signal) + limit);
      write("script", std::string(signal) + "ulimit -f " + limit +
                          "\nexec " SLUICE_BINARY_DIR "/sluice record --force -o t.sluice --linger 0 -- " +
                          program_that_counts + " counts 0 " + std::to_string(pairs) + " 400\n");
      expect_all_accounted(run_program({.words = {"bash", "./script"}, .folder = file(".")}));
      if (HasFailure()) break;
    }
  }
}

// Tried: a disk that fails at any byte, with each kind of error, temporarily or permanently.
TEST_F(counted_losses, add_up_however_writes_fail) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "skipped: LD_PRELOAD does not work with sanitizers";
#endif
  std::mt19937 random(1);
  for (int round = 0; round < 16 && !HasFailure(); ++round) {
    const int why = std::array{ENOSPC, EFBIG, EDQUOT, EIO}[static_cast<std::size_t>(round) % 4];
    const bool by_length = random() % 2 == 0;
    const std::string room = by_length ? std::to_string(UINT64_MAX) : std::to_string(64 + random() % 60'000);
    const std::string longest = by_length ? std::to_string(64 + random() % 60'000) : std::to_string(UINT64_MAX);
    const std::string failures = random() % 2 == 0 ? std::to_string(UINT64_MAX) : std::to_string(1 + random() % 8);
    const std::string at_once = std::to_string(random() % 2 == 0 ? UINT64_MAX : 1 + random() % 5000);
    const std::string disk = room + " " + longest + " " + failures + " " + std::to_string(why) + " " + at_once;
    SCOPED_TRACE("FAILING_DISK=" + disk);
    const program_result ended =
        run_sluice({"record", "--force", "-o", "t.sluice", "--linger", "0", "--", program_that_counts, "counts", "0",
                    std::to_string(pairs), "400"},
                   {{"LD_PRELOAD", SLUICE_BINARY_DIR "/tests/attack/libfailing_disk.so"}, {"FAILING_DISK", disk}});
    EXPECT_TRUE(ended.status == 0 || ended.status == 125) << ended.status << ended.err;
    expect_all_accounted(ended);
  }
}

// Tried: a command in its own network namespace, where the abstract socket does not exist.
TEST_F(losses_test, another_network_namespace_loses_nothing) {
  if (run_shell("unshare -n true").status != 0) GTEST_SKIP() << "no network namespace can be made here";
  const program_result ended = record_guest("exec unshare -n");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("0 lost"));
  EXPECT_THAT(ended.err, Not(HasSubstr("does CMD itself")));
}

// Tried: a soft limit on descriptors, which the recorder raises only for itself.
TEST_F(losses_test, the_command_keeps_its_limit_on_descriptors) {
  const program_result ended = run_sluice({"record", "-o", "t.sluice", "--", "/bin/sh", "-c", "ulimit -S -n"});
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(std::atoll(ended.out.c_str()), static_cast<long long>(limit.rlim_cur)) << ended.err;
}

}  // namespace
}  // namespace sluice
