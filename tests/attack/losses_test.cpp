// Surroundings in which a program cannot be heard: that must be said, with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

class losses_test : public sluice_program {
 protected:
  /// The guest allocates once and succeeds, started by `before` in a shell.
  outcome record_guest(const std::string& before, const std::string& how = "succeed") {
    return run_sluice(
        {"record", "-o", "t.sluice", "--linger", "0", "--", "/bin/sh", "-c", before + " " + guest + " " + how});
  }
};

// Tried: a program that may open no file beside its standard ones.
TEST_F(losses_test, a_program_without_descriptors_is_not_silent) {
  const outcome ended = record_guest("exec", "no-descriptors");
  EXPECT_EQ(ended.status, 125) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("no descriptor left"));
  EXPECT_THAT(ended.err, HasSubstr("5 lost (5 allocations and frees)"));
  EXPECT_THAT(ended.err, Not(HasSubstr("is it CMD")));
}

// Tried: a limit on the size of files that is less than a ring.
TEST_F(losses_test, a_small_file_limit_is_not_silent) {
  const outcome ended = record_guest("ulimit -f 8;");
  EXPECT_EQ(ended.status, 125) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("ulimit -f"));
  EXPECT_THAT(ended.err, Not(HasSubstr("is it CMD")));
}

// Tried: a command in a network namespace of its own, where the abstract socket is not.
TEST_F(losses_test, another_network_namespace_loses_nothing) {
  if (std::system("unshare -n true 2>/dev/null") != 0) GTEST_SKIP() << "no network namespace can be made here";
  const outcome ended = record_guest("exec unshare -n");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("0 lost"));
  EXPECT_THAT(ended.err, Not(HasSubstr("is it CMD")));
}

// Tried: a soft limit on descriptors, which the recorder raises for itself and not for the command.
TEST_F(losses_test, the_command_keeps_its_limit_on_descriptors) {
  const outcome ended = run_sluice({"record", "-o", "t.sluice", "--", "/bin/sh", "-c", "ulimit -S -n"});
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(std::atoll(ended.out.c_str()), static_cast<long long>(limit.rlim_cur)) << ended.err;
}

}  // namespace
}  // namespace sluice
