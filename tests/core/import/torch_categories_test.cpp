// Memory categories inferred from PyTorch's own files: snapshots, which have stacks but no uses and no threads, and
// torch.profiler traces, which have threads and ranges but no stacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tests/core/import/brought_case.hpp"

namespace sluice::importing::torch_categories {
namespace {

using index::category;
using testing::brought_file;

constexpr std::uint64_t mib = 1 << 20;

/// Categories of a device's memory at its peak; empty if they are not known.
metrics::peak_composition on_device(const brought_file& file) {
  for (const metrics::peak_composition& each : file.report().compositions)
    if (each.kind == trace::memory_kind::device) return each;
  return {};
}

std::size_t get_steps(const brought_file& file) {
  return file.report().steps.empty() ? 0 : file.report().steps[0].count;
}

// --- snapshots ------------------------------------------------------------------------------------------------------

TEST(torch_categories, of_a_forward_pass_with_native_frames) {
  SLUICE_BRING_CASE("r01-default-stacks-forward.pickle");
  EXPECT_EQ(on_device(file).get_bytes(category::activation), 132120576U);
  EXPECT_EQ(on_device(file).get_bytes(category::weight), 104857600U);
  EXPECT_EQ(on_device(file).bytes, 132120576U + 104857600U);
  EXPECT_FALSE(file.finds(metrics::finding_kind::memory_grows));
}

TEST(torch_categories, of_a_training_with_native_frames) {
  SLUICE_BRING_CASE("r02-default-stacks-train.pickle");
  EXPECT_EQ(on_device(file).get_bytes(category::activation), 167772160U);
  EXPECT_EQ(on_device(file).get_bytes(category::gradient), 4194304U);
  EXPECT_EQ(on_device(file).get_bytes(category::weight), 33554432U);
}

TEST(torch_categories, of_a_forward_pass_that_is_all_there_is) {
  SLUICE_BRING_CASE("r03-forward-only.pickle");
  EXPECT_EQ(on_device(file).get_bytes(category::activation), 132120576U);
  EXPECT_EQ(on_device(file).get_bytes(category::workspace), 0U);
  EXPECT_FALSE(file.finds(metrics::finding_kind::memory_grows)) << "use returns to its first value";
}

TEST(torch_categories, of_activations_that_live_long) {
  SLUICE_BRING_CASE("r05-activations-kept-half.pickle");
  EXPECT_EQ(on_device(file).get_bytes(category::activation), 167772160U);
}

// --- steps ----------------------------------------------------------------------------------------------------------

TEST(torch_categories, one_step_of_the_profiler_is_a_step) {
  SLUICE_BRING_CASE("r19-one-step.json");
  ASSERT_EQ(get_steps(file), 1U);
  EXPECT_EQ(file.report().steps[0].median_duration, 1'000'000);
}

TEST(torch_categories, layers_of_a_step_are_no_steps) {
  SLUICE_BRING_CASE("r04-one-step-24-layers.json.gz");
  ASSERT_EQ(get_steps(file), 1U);
  EXPECT_EQ(file.report().steps[0].source, index::step_source::profiler_ranges);
  EXPECT_FALSE(file.finds(metrics::finding_kind::memory_grows));
}

// --- traces of torch.profiler ---------------------------------------------------------------------------------------

/// A trace with memory events: a model is moved to the device, a module allocates the output, the backward pass a
/// gradient, and the optimizer its state.
std::string trace_with_phases() {
  std::string events;
  const auto add = [&](const std::string& event) { events += (events.empty() ? "" : ",") + event; };
  const auto range = [&](const char* category, const char* name, int thread, int begin, int duration) {
    add(R"({"ph":"X","cat":")" + std::string(category) + R"(","name":")" + name + R"(","pid":5,"tid":)" +
        std::to_string(thread) + R"(,"ts":)" + std::to_string(begin) + R"(,"dur":)" + std::to_string(duration) +
        R"(,"args":{}})");
  };
  std::uint64_t total = 0;
  const auto allocate = [&](int thread, int time, std::uint64_t bytes) {
    total += bytes;
    add(R"({"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":5,"tid":)" + std::to_string(thread) +
        R"(,"ts":)" + std::to_string(time) + R"(,"args":{"Device Type":1,"Device Id":0,"Addr":)" +
        std::to_string(4096 + total) + R"(,"Bytes":)" + std::to_string(bytes) + R"(,"Total Allocated":)" +
        std::to_string(total) + R"(,"Total Reserved":0}})");
  };
  range("python_function", "torch/nn/modules/module.py(930): _apply", 1, 1000, 50);
  allocate(1, 1010, mib);
  range("user_annotation", "ProfilerStep#0", 1, 1100, 900);
  range("python_function", "nn.Module: Linear_0", 1, 1200, 100);
  range("cpu_op", "aten::linear", 1, 1210, 80);
  allocate(1, 1220, 2 * mib);
  range("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 2, 1400, 100);
  range("cpu_op", "AddmmBackward0", 2, 1410, 80);
  allocate(2, 1420, 4 * mib);
  range("user_annotation", "Optimizer.step#Adam.step", 1, 1600, 100);
  range("cpu_op", "aten::zeros_like", 1, 1610, 80);
  allocate(1, 1620, 8 * mib);
  allocate(1, 1800, 16 * mib);
  return R"({"schemaVersion":1,"traceEvents":[)" + events + "]}";
}

TEST(torch_categories, of_a_trace_follow_from_the_ranges_around_the_allocations) {
  const brought_file file("trace.json", trace_with_phases());
  ASSERT_TRUE(file.is_read()) << file.refusal();
  const metrics::peak_composition peak = on_device(file);
  EXPECT_EQ(peak.bytes, 31 * mib);
  EXPECT_EQ(peak.get_bytes(category::weight), mib);
  EXPECT_EQ(peak.get_bytes(category::activation), 18 * mib) << "of a module, and of nobody knows what";
  EXPECT_EQ(peak.get_bytes(category::gradient), 4 * mib);
  EXPECT_EQ(peak.get_bytes(category::optimizer_state), 8 * mib);
}

// --- both files of one program --------------------------------------------------------------------------------------

/// The share of the peak to which both files give the same category. One file counts requested bytes, the other whole
/// blocks, so the test compares shares instead of bytes.
double agreement(const metrics::peak_composition& a, const metrics::peak_composition& b) {
  double same = 0;
  for (std::size_t i = 0; i < index::category_count; ++i) {
    const auto share = [&](const metrics::peak_composition& composition) {
      return static_cast<double>(composition.get_bytes(static_cast<category>(i))) /
             static_cast<double>(composition.bytes);
    };
    same += std::min(share(a), share(b));
  }
  return same;
}

TEST(torch_categories, of_a_trace_and_a_snapshot_of_one_program_agree) {
  for (const std::string program : {"train1", "infer1"}) {
    const auto snapshot = testing::shared_trace("torch-snapshot-" + program + ".pickle.gz");
    const auto trace = testing::shared_trace("kineto-" + program + ".json.gz");
    if (!snapshot || !trace) GTEST_SKIP() << "there is no shared/traces";
    EXPECT_GE(agreement(on_device(brought_file(*snapshot)), on_device(brought_file(*trace))), 0.98) << program;
  }
}

}  // namespace
}  // namespace sluice::importing::torch_categories
