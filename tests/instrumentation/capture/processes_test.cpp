// Records the child processes of every kind that Python programs create, each as its own process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/instrumentation/capture/recording.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::test {
namespace {

using namespace trace;

class children : public testing::TestWithParam<const char*> {
 protected:
  static recording run(const char* method) {
    return record({.arguments = {SLUICE_SOURCE_DIR "/tests/instrumentation/capture/fake/processes.py", method},
                   .program = SLUICE_PYTHON});
  }
};

TEST_P(children, are_each_a_process) {
  if (std::string(SLUICE_PYTHON).empty()) GTEST_SKIP() << "no python3 on this machine";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "Python cannot load libraries built with a sanitizer";
#endif
  const recording recorded = run(GetParam());
  EXPECT_EQ(recorded.status, 0);
  std::set<std::uint64_t> sizes;
  std::set<process_id> processes;
  std::set<device_id> devices;
  for (const alloc_event& a : recorded.allocs) {
    sizes.insert(a.bytes);
    processes.insert(a.process);
    devices.insert(a.device);
  }
  EXPECT_EQ(sizes, (std::set<std::uint64_t>{1 * mib, 2 * mib, 3 * mib}));
  EXPECT_EQ(processes.size(), 3U);
  EXPECT_EQ(devices.size(), 1U) << "they share one GPU";
  EXPECT_EQ(recorded.tables().devices.rows().size(), 1U);
  for (const alloc_event& a : recorded.allocs) {
    const process_row* process = recorded.tables().processes.find(a.process);
    ASSERT_NE(process, nullptr);
    const bool of_python = std::set<std::string>{"fork", "spawn", "forkserver"}.contains(GetParam());
    EXPECT_EQ(process->rank, of_python ? -1 : static_cast<std::int64_t>(a.bytes / mib) - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(of_python, children, testing::Values("fork", "spawn", "forkserver"),
                         [](const auto& p) { return std::string(p.param); });
INSTANTIATE_TEST_SUITE_P(of_launchers, children,
                         testing::Values("torchrun", "openmpi", "pmi", "slurm", "slurm-torchrun"), [](const auto& p) {
                           std::string name = p.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace sluice::test
