#include "core/trace/model/system_calls.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstdint>
#include <set>
#include <string>

namespace sluice::trace {
namespace {

#ifdef __x86_64__
TEST(system_calls, have_the_names_of_their_numbers) {
  EXPECT_EQ(name_of_system_call(SYS_read), "read");
  EXPECT_EQ(name_of_system_call(SYS_ioctl), "ioctl");
  EXPECT_EQ(name_of_system_call(SYS_clock_nanosleep), "clock_nanosleep");
  EXPECT_EQ(name_of_system_call(SYS_epoll_pwait), "epoll_pwait");
  EXPECT_EQ(name_of_system_call(SYS_rseq), "rseq");
  EXPECT_EQ(name_of_system_call(SYS_io_uring_enter), "io_uring_enter");
  EXPECT_EQ(name_of_system_call(SYS_clone3), "clone3");
}
#endif

TEST(system_calls, of_unknown_numbers_have_no_name) {
  for (const std::int64_t number : {std::int64_t{-1}, INT64_MIN, std::int64_t{335}, std::int64_t{423},
                                    std::int64_t{451}, std::int64_t{512}, INT64_MAX})
    EXPECT_EQ(name_of_system_call(number), "") << number;
}

TEST(system_calls, have_different_names) {
  std::set<std::string> names;
  std::size_t known = 0;
  for (std::int64_t number = 0; number < 1000; ++number) {
    const std::string name(name_of_system_call(number));
    if (name.empty()) continue;
    ++known;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), known);
  EXPECT_EQ(known, 362U);
}

}  // namespace
}  // namespace sluice::trace
