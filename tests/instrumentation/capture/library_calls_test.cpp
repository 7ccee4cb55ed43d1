// Long calls of CUDA's libraries are ranges of their threads, however the program found the function.
#include <gtest/gtest.h>

#include "tests/instrumentation/capture/recording.hpp"

namespace sluice::test {
namespace {

using namespace trace;

run_options compiling(const char* mode) {
  run_options options;
  options.program = "compiling_program";
  options.preload = true;
  options.mode = mode;
  return options;
}

TEST(library_calls, compilations_are_ranges) {
  EXPECT_EQ(run_bare(compiling("timeline")), 0);
  const recording run = record(compiling("timeline"));
  EXPECT_EQ(run.status, 0);
  std::vector<const host_range_event*> compilations;
  for (const host_range_event& each : run.ranges)
    if (run.tables().text(each.name) == "nvrtcCompileProgram") compilations.push_back(&each);
  ASSERT_EQ(compilations.size(), 2U) << "linked, and by dlsym";
  for (const host_range_event* each : compilations) {
    EXPECT_GE(each->end - each->time, 20'000'000);
    EXPECT_EQ(each->thread, run.allocs.at(0).thread);
  }
}

TEST(library_calls, memory_mode_leaves_them_out) {
  const recording run = record(compiling("memory"));
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.ranges.empty());
}

}  // namespace
}  // namespace sluice::test
