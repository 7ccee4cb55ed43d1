// The GPU faults: the program ends as without a recorder, and the file has every call, the fault, and the kernels that
// were running.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "core/index/growing_index.hpp"
#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "tests/instrumentation/capture/recording.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::test {
namespace {

using namespace trace;
using testing::HasSubstr;
using testing::Not;

recording record_fault(const std::vector<std::string>& strings, const std::string& mode, const std::string& after = "",
                       route by = route::callbacks) {
  run_options options{.arguments = strings, .mode = mode, .program = "fake_edge_program"};
  if (!after.empty()) options.variables["SLUICE_FAKE_AFTER_FAULT"] = after;
  recording run = record_by(by, options);
  EXPECT_EQ(run.status, 42) << "the same status as without a recorder";
  return run;
}

metrics::report build_report(const recording& run) {
  index::growing_index index;
  while (!index.absorb(*run.snapshot, 64)) {
  }
  return metrics::make_report(index, *run.snapshot);
}

std::vector<std::string> names_before(const recording& run, const index::gpu_fault& fault) {
  std::vector<std::string> names;
  for (const index::fault_launch& launch : fault.launches) names.emplace_back(run.tables().text(launch.kernel));
  return names;
}

struct way {
  const char* mode;
  const char* after;
  route by = route::callbacks;
};
std::string get_name(const way& options) {
  return std::string(options.mode) + (*options.after == '\0' ? "" : "_flush_") + options.after +
         (options.by == route::entry_points ? "_entry_points" : "");
}
class fault_test : public testing::TestWithParam<way> {
 protected:
  /// The recording for a mode and a flush behavior, made once for each combination. If flushes block, the program's end
  /// waits for them.
  static const recording& recorded(const way& options) {
    static std::map<std::string, recording> table;
    const auto [place, fresh] = table.try_emplace(get_name(options));
    if (fresh) place->second = record_fault({"fault", "faulting"}, options.mode, options.after, options.by);
    return place->second;
  }
  const recording& run_ = recorded(GetParam());
};

TEST_P(fault_test, leaves_a_file_that_holds_every_call) {
  ASSERT_NE(run_.snapshot, nullptr);
  EXPECT_TRUE(run_.snapshot->complete());
  EXPECT_EQ(run_.summary.lost_events, 0U);
  std::vector<std::uint64_t> sizes;
  for (const alloc_event& a : run_.allocs) sizes.push_back(a.bytes);
  EXPECT_THAT(sizes, testing::ElementsAre(3 * mib, 5 * mib));
  ASSERT_EQ(run_.failed.size(), 1U);
  EXPECT_EQ(run_.failed[0].error, 700);
  EXPECT_EQ(run_.failed[0].bytes, 1 * mib);
  std::vector<std::string> failed;
  for (const api_call_event& call : run_.calls) {
    if (call.status == 700) failed.emplace_back(run_.tables().text(call.name));
  }
  EXPECT_THAT(failed, testing::ElementsAre("cuStreamSynchronize", "cuMemcpyDtoH", "cuLaunchKernel", "cuMemFree",
                                           "cuMemFreeAsync", "cuCtxSynchronize"));
  ASSERT_EQ(run_.transfers.size(), 1U) << "work that ended before the flush has its times";
  EXPECT_GT(run_.transfers[0].end, run_.transfers[0].time);
}

TEST_P(fault_test, is_a_finding_that_names_who_saw_it_and_what_was_at_work) {
  const metrics::report whole_report = build_report(run_);
  ASSERT_EQ(whole_report.faults.size(), 1U);
  const index::gpu_fault& fault = whole_report.faults[0];
  EXPECT_EQ(fault.error, 700);
  EXPECT_EQ(run_.tables().text(fault.call), "cuStreamSynchronize");
  EXPECT_NE(fault.stream, stream_id::none);
  EXPECT_EQ(fault.calls_after, 7U);
  const std::vector<std::string> before = names_before(run_, fault);
  ASSERT_EQ(before.size(), 8U);
  EXPECT_EQ(before[0], "faulting") << "the last launch, although it names no block";
  EXPECT_EQ(before[1], "beside");
  EXPECT_EQ(before[2], "fine");
  EXPECT_EQ(fault.launches[0].stream, fault.stream);
  EXPECT_NE(fault.launches[1].stream, fault.stream);
  ASSERT_FALSE(whole_report.findings.empty());
  EXPECT_EQ(whole_report.findings[0].kind, metrics::finding_kind::gpu_fault);
  EXPECT_EQ(whole_report.findings[0].event, fault.event);
  EXPECT_THAT(whole_report.findings[0].text,
              HasSubstr("The GPU faulted: CUDA_ERROR_ILLEGAL_ADDRESS (700), first seen at "));
  EXPECT_THAT(whole_report.findings[0].text, HasSubstr(" by cuStreamSynchronize on Stream "));
  EXPECT_THAT(whole_report.findings[0].text, HasSubstr(": faulting (on Stream "));
  EXPECT_THAT(whole_report.findings[0].text, HasSubstr("In total 7 calls failed"));
  for (const metrics::finding& hint : whole_report.findings) {
    EXPECT_NE(hint.kind, metrics::finding_kind::failed_allocations) << "the allocation did not fail for lack of memory";
  }
  EXPECT_TRUE(run_.says("the GPU faulted: CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_FALSE(run_.says("another profiler"));
}

TEST_P(fault_test, device_times_are_complete_up_to_the_first_call_that_has_none) {
  if (std::string(GetParam().mode) == "memory") GTEST_SKIP() << "memory mode records no kernel times";
  ASSERT_FALSE(run_.watermarks.empty());
  time_ns stated = INT64_MIN;
  for (const watermark_event& w : run_.watermarks) stated = std::max(stated, w.complete_until);
  std::size_t before = 0;
  for (const api_call_event& call : run_.calls) {
    const bool launch = run_.tables().text(call.name) == "cuLaunchKernel";
    if (!launch || call.status != 0 || call.time >= stated) continue;
    ++before;
    EXPECT_TRUE(std::any_of(run_.kernels.begin(), run_.kernels.end(),
                            [&](const kernel_event& k) { return k.call == call.id; }));
  }
  EXPECT_GE(before, 20U);
  for (const kernel_event& k : run_.kernels) {
    EXPECT_GT(k.time, 0) << "kernels without times did not end";
    EXPECT_NE(run_.tables().text(k.name), "faulting");
  }
  const index::gpu_fault fault = build_report(run_).faults.at(0);
  EXPECT_LE(stated, fault.launches[0].time) << "the faulting kernel and later ones have no times";
}

INSTANTIATE_TEST_SUITE_P(modes, fault_test,
                         testing::Values(way{"timeline", ""}, way{"timeline", "errors"}, way{"timeline", "blocks"},
                                         way{"memory", ""}, way{"memory", "errors"}, way{"memory", "blocks"},
                                         way{"memory", "", route::entry_points}),
                         [](const auto& p) { return get_name(p.param); });

TEST(faults, have_the_names_of_their_errors) {
  for (const auto& [kernel, name] :
       {std::pair{"trapping", "CUDA_ERROR_LAUNCH_FAILED"}, {"asserting", "CUDA_ERROR_ASSERT"}}) {
    const recording run = record_fault({"fault", kernel}, "memory");
    ASSERT_FALSE(build_report(run).findings.empty());
    EXPECT_THAT(build_report(run).findings[0].text, HasSubstr(name));
  }
}

TEST(faults, that_no_call_shows_are_seen_by_the_recorder) {
  const recording run = record_fault({"silent-fault"}, "memory");
  const metrics::report whole_report = build_report(run);
  ASSERT_EQ(whole_report.faults.size(), 1U);
  EXPECT_THAT(run.tables().text(whole_report.faults[0].call), HasSubstr("the recorder"));
  EXPECT_THAT(names_before(run, whole_report.faults[0]), testing::ElementsAre("faulting"));
}

TEST(faults, do_not_hold_up_a_call_that_destroys_the_context) {
  const auto begin = std::chrono::steady_clock::now();
  const recording run = record_fault({"reset-after-fault"}, "memory", "blocks");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(run.allocs.size(), 1U);
}

TEST(faults, are_not_what_a_failed_allocation_is) {
  const recording run = record({.arguments = {"program"}});
  EXPECT_TRUE(build_report(run).faults.empty());
  const std::vector<metrics::finding> found = build_report(run).findings;
  const auto failed = std::find_if(found.begin(), found.end(), [](const metrics::finding& f) {
    return f.kind == metrics::finding_kind::failed_allocations;
  });
  ASSERT_NE(failed, found.end());
  EXPECT_THAT(failed->text, HasSubstr("requested 64.0 TiB"));
}

}  // namespace
}  // namespace sluice::test
