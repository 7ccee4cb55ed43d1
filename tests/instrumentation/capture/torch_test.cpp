// PyTorch's allocator, recorded in an unchanged program: each block appears once, inside its segment, and the totals
// match PyTorch's.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/index/growing_index.hpp"
#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "tests/instrumentation/capture/recording.hpp"

namespace sluice::test {
namespace {

using namespace trace;
namespace fs = std::filesystem;

/// The ledger that fake_torch_program writes.
struct torch_ledger {
  struct block {
    std::uint64_t address = 0, bytes = 0;
    bool freed = false;
  };
  std::vector<block> blocks;
  std::uint64_t allocated = 0, reserved = 0;
  std::int64_t reported_usage = 0, reported_failures = 0;
  std::size_t frees = 0;
};

torch_ledger read(const fs::path& path) {
  torch_ledger l;
  std::ifstream in(path);
  for (std::string subject; in >> subject;) {
    if (subject == "alloc") {
      torch_ledger::block b;
      in >> b.address >> b.bytes;
      l.blocks.push_back(b);
    } else if (subject == "free") {
      std::uint64_t address = 0;
      in >> address;
      const auto found = std::find_if(l.blocks.rbegin(), l.blocks.rend(),
                                      [=](const auto& b) { return b.address == address && !b.freed; });
      if (found != l.blocks.rend()) found->freed = true;
      ++l.frees;
    } else if (subject == "totals") {
      in >> l.allocated >> l.reserved;
    } else if (subject == "real") {
      in >> l.reported_usage >> l.reported_failures;
    }
  }
  return l;
}

struct torch_run {
  recording recorded;
  torch_ledger said;
};

torch_run record_torch(const std::string& mode, bool preload = true) {
  const fs::path ledger = fs::path(testing::TempDir()) / ("torch-" + mode + "-" + std::to_string(getpid()) + ".ledger");
  torch_run run{record({.arguments = {mode, ledger.string()}, .program = "fake_torch_program", .preload = preload}),
                {}};
  run.said = read(ledger);
  fs::remove(ledger);
  EXPECT_EQ(run.recorded.status, mode == "killed" ? 128 + SIGKILL : 0);
  EXPECT_EQ(run.recorded.summary.lost_events, 0U);
  return run;
}

std::vector<alloc_event> select_blocks(const recording& run, layer layer) {
  std::vector<alloc_event> blocks;
  std::copy_if(run.allocs.begin(), run.allocs.end(), std::back_inserter(blocks),
               [=](const alloc_event& a) { return a.layer == layer; });
  return blocks;
}
std::vector<free_event> list_frees(const recording& run, layer layer) {
  std::vector<free_event> frees;
  std::copy_if(run.frees.begin(), run.frees.end(), std::back_inserter(frees),
               [=](const free_event& f) { return f.layer == layer; });
  return frees;
}

std::multiset<std::pair<std::uint64_t, std::uint64_t>> places(const std::vector<alloc_event>& blocks) {
  std::multiset<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (const alloc_event& a : blocks) pairs.emplace(a.address, a.bytes);
  return pairs;
}
std::multiset<std::pair<std::uint64_t, std::uint64_t>> places(const torch_ledger& said) {
  std::multiset<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (const auto& b : said.blocks) pairs.emplace(b.address, b.bytes);
  return pairs;
}

/// Bytes of the framework layer that are live at the end.
std::uint64_t held_at_end(const recording& run) {
  std::map<block_id, std::uint64_t> live;
  for (const alloc_event& a : select_blocks(run, layer::framework)) live[a.block] = a.bytes;
  for (const free_event& f : list_frees(run, layer::framework)) live.erase(f.block);
  std::uint64_t bytes = 0;
  for (const auto& [block, size] : live) bytes += size;
  return bytes;
}

double compute_last(const recording& run, const std::string& name) {
  const counter_event* last = nullptr;
  for (const counter_event& c : run.counters) {
    const counter_row* row = run.tables().counters.find(c.counter);
    const bool named = row != nullptr && run.tables().text(row->name) == name;
    if (named && (last == nullptr || c.time >= last->time)) last = &c;
  }
  return last == nullptr ? -1 : last->value;
}

class torch_test : public testing::TestWithParam<std::string> {};

TEST_P(torch_test, each_block_is_recorded_once_and_freed_once) {
  const auto [run, said] = record_torch(GetParam());
  const auto blocks = select_blocks(run, layer::framework);
  EXPECT_GE(said.blocks.size(), 300U);
  EXPECT_EQ(places(blocks), places(said));
  EXPECT_EQ(list_frees(run, layer::framework).size(), said.frees);
  for (const alloc_event& a : blocks) {
    EXPECT_EQ(a.kind, memory_kind::device);
    EXPECT_EQ(run.tables().text(a.name), "PyTorch");
    EXPECT_NE(a.device, device_id::none);
    EXPECT_NE(a.thread, thread_id::none);
  }
}

TEST_P(torch_test, a_block_lies_in_a_segment_of_the_driver) {
  const auto [run, said] = record_torch(GetParam());
  std::map<block_id, alloc_event> segments;
  for (const alloc_event& a : select_blocks(run, layer::driver)) segments[a.block] = a;
  for (const alloc_event& a : select_blocks(run, layer::framework)) {
    ASSERT_TRUE(segments.contains(a.parent)) << a.address;
    const alloc_event& segment = segments[a.parent];
    EXPECT_EQ(segment.kind, GetParam() == "expandable" ? memory_kind::mapping : memory_kind::device);
    EXPECT_GE(a.address, segment.address);
    EXPECT_LT(a.address, segment.address + segment.bytes);
    if (segment.kind == memory_kind::device) {
      EXPECT_LE(a.address + a.bytes, segment.address + segment.bytes);
    }
  }
}

TEST_P(torch_test, totals_are_those_that_py_torch_keeps) {
  const auto [run, said] = record_torch(GetParam());
  EXPECT_GT(said.allocated, 0U);
  EXPECT_EQ(held_at_end(run), said.allocated);
  std::uint64_t segments = 0;
  for (const alloc_event& a : select_blocks(run, layer::driver)) {
    if (a.kind == memory_kind::device || a.kind == memory_kind::mapping) segments += a.bytes;
  }
  EXPECT_EQ(segments, said.reserved);
  EXPECT_EQ(compute_last(run, "PyTorch allocated"), static_cast<double>(said.allocated));
  EXPECT_EQ(compute_last(run, "PyTorch reserved"), static_cast<double>(said.reserved));
}

// Each total that PyTorch reports is the sum of the blocks that are live at that moment.
TEST_P(torch_test, its_own_counter_agrees_with_the_blocks_at_each_of_its_values) {
  const auto [run, said] = record_torch(GetParam());
  std::size_t compared = 0;
  for (const counter_event& c : run.counters) {
    if (run.tables().text(run.tables().counters.find(c.counter)->name) != "PyTorch allocated") continue;
    std::uint64_t bytes = 0;
    std::map<block_id, std::uint64_t> size;
    for (const alloc_event& a : select_blocks(run, layer::framework)) {
      size[a.block] = a.bytes;
      if (a.time <= c.time) bytes += a.bytes;
    }
    for (const free_event& f : list_frees(run, layer::framework)) {
      if (f.time <= c.time) bytes -= size[f.block];
    }
    EXPECT_EQ(c.value, static_cast<double>(bytes)) << "at " << c.time;
    ++compared;
  }
  EXPECT_GT(compared, 0U);
}

TEST_P(torch_test, its_own_function_is_called_exactly_as_often_as_without_us) {
  const auto [run, said] = record_torch(GetParam());
  const auto reported = static_cast<std::int64_t>(said.blocks.size() + said.frees);
  EXPECT_EQ(said.reported_usage, reported);
  EXPECT_EQ(said.reported_failures, 0);
}

INSTANTIATE_TEST_SUITE_P(allocator, torch_test, testing::Values("native", "expandable", "threads", "fork"),
                         [](const auto& p) { return p.param; });

// Every block is in the ring before the program continues.
TEST(torch_killed, all_blocks_are_there) {
  const auto [run, said] = record_torch("killed");
  EXPECT_EQ(places(select_blocks(run, layer::framework)), places(said));
  EXPECT_EQ(list_frees(run, layer::framework).size(), said.frees);
  EXPECT_EQ(held_at_end(run), said.allocated);
}

TEST(torch_at_exit, what_destructors_free_is_freed) {
  const auto [run, said] = record_torch("late");
  EXPECT_EQ(list_frees(run, layer::framework).size(), said.frees + 1);
  EXPECT_EQ(held_at_end(run), said.allocated - 512);
}

TEST(torch_backend_cuda_malloc_async, tensors_are_the_pools_blocks) {
  const auto [run, said] = record_torch("async");
  EXPECT_EQ(places(select_blocks(run, layer::pool)), places(said));
  EXPECT_TRUE(select_blocks(run, layer::framework).empty());
}

TEST(torch_out_of_memory, is_a_failed_allocation_of_the_framework) {
  const auto [run, said] = record_torch("out-of-memory");
  const auto failed = std::count_if(run.failed.begin(), run.failed.end(), [](const alloc_failed_event& f) {
    return f.layer == layer::framework && f.bytes == std::uint64_t{1} << 50;
  });
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(said.reported_failures, 1);
}

/// The report on a recording, for its findings about failed allocations.
metrics::report build_report(const recording& run) {
  index::growing_index growing_index;
  while (!growing_index.absorb(*run.snapshot, 1)) {
  }
  return metrics::make_report(growing_index, *run.snapshot);
}

TEST(torch_out_of_memory, counts_once_and_is_no_retry) {
  const auto [run, said] = record_torch("out-of-memory");
  ASSERT_EQ(run.failed.size(), 3U) << "two by the driver, one by PyTorch";
  const metrics::report whole_report = build_report(run);
  EXPECT_EQ(whole_report.whole.failed_allocations, 1U);
  EXPECT_EQ(whole_report.retries.count, 0U);
  EXPECT_EQ(whole_report.retries.reported_again, 2U);
}

TEST(torch_retry, is_no_failed_allocation) {
  const auto [run, said] = record_torch("retry");
  ASSERT_EQ(run.failed.size(), 1U);
  const metrics::report whole_report = build_report(run);
  EXPECT_EQ(whole_report.whole.failed_allocations, 0U);
  EXPECT_EQ(whole_report.retries.count, 1U);
  EXPECT_GT(whole_report.retries.total, 0);
  ASSERT_EQ(whole_report.retries.first.size(), 1U);
  EXPECT_EQ(whole_report.retries.first[0].bytes, std::uint64_t{6} << 30);
}

TEST(torch_without_preload, records_what_the_driver_sees) {
  const auto [run, said] = record_torch("native", false);
  EXPECT_TRUE(select_blocks(run, layer::framework).empty());
  EXPECT_FALSE(select_blocks(run, layer::driver).empty());
  EXPECT_EQ(said.reported_usage, static_cast<std::int64_t>(said.blocks.size() + said.frees));
}

// Processes that report nothing are not in the recording: a loader's worker, a program with host tensors only.
TEST(preloaded, a_process_with_nothing_to_say_is_in_no_recording) {
  const auto [run, said] = record_torch("host");
  EXPECT_EQ(said.reported_usage, 1) << "the host tensor's report was forwarded to PyTorch";
  EXPECT_EQ(run.tables().processes.rows().size(), 0U);
  const auto [forked, none] = record_torch("fork");
  EXPECT_EQ(forked.tables().processes.rows().size(), 1U);
}

TEST(preloaded, without_py_torch_and_cuda_is_left_alone) {
  const recording run = record({.arguments = {"--nothing", "--status", "9"}, .preload = true});
  EXPECT_EQ(run.status, 9);
  EXPECT_EQ(run.tables().processes.rows().size(), 0U);
}

TEST(preloaded, a_cuda_program_is_recorded_as_before) {
  const recording with = record({.arguments = {"program"}, .preload = true});
  const recording without = record({.arguments = {"program"}});
  EXPECT_EQ(with.status, 0);
  EXPECT_EQ(with.allocs.size(), without.allocs.size());
  EXPECT_EQ(with.kernels.size(), without.kernels.size());
}

}  // namespace
}  // namespace sluice::test
