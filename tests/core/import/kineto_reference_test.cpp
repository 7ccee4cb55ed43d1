// Real torch.profiler traces: imports have the totals that Python's json module computes (kineto_totals.py).
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/format.hpp"
#include "core/trace/model/names.hpp"
#include "tests/core/import/files.hpp"
#include "tests/core/import/metrics.hpp"
#include "tests/core/import/shared_traces.hpp"

namespace sluice::importing::kineto_reference {
namespace {

using testing::get_lines;
using testing::get_rows;
using testing::metrics;
using testing::to_signed;
using testing::without;

class totals {
 public:
  explicit totals(const trace::file& file) : file_(file), snapshot_(file.latest()) {}

  std::set<std::string> lines() {
    for (const auto& row : get_rows<trace::api_call_event>(file_)) {
      lasting("call", row);
      call_times_[row.id] = row.time;
    }
    for (const auto& row : get_rows<trace::kernel_event>(file_)) kernel(row);
    for (const auto& row : get_rows<trace::transfer_event>(file_)) {
      work("gpu_memcpy", row);
      all_["copied " + std::string(direction_names[static_cast<std::size_t>(row.direction)]) + " bytes"] +=
          to_signed(row.bytes);
    }
    for (const auto& row : get_rows<trace::memset_event>(file_)) {
      work("gpu_memset", row);
      all_["memset bytes"] += to_signed(row.bytes);
    }
    for (const auto& row : get_rows<trace::host_range_event>(file_)) range(row);
    for (const auto& mark : get_rows<trace::marker_event>(file_))
      if (get_name(mark.name) != "metadata of the trace") ++all_["instants"];
    all_["arrows"] = to_signed(get_rows<trace::link_event>(file_).size());
    memory();
    return all_.lines();
  }

 private:
  static constexpr std::string_view direction_names[] = {"unknown", "h2d", "d2h", "d2d", "p2p", "h2h"};

  [[nodiscard]] std::string get_name(trace::string_id id) const { return std::string(snapshot_->tables().text(id)); }

  template <class Row>
  void lasting(const std::string& kind, const Row& row) {
    ++all_[kind + " count"];
    all_[kind + " ns"] += row.end - row.time;
  }

  template <class Row>
  void work(const std::string& kind, const Row& row) {
    lasting(kind, row);
    auto& last = all_[kind + " last end"];
    last = std::max(last, snapshot_->realtime_origin() + row.end);
    if (const auto call = call_times_.find(row.call); call != call_times_.end()) {
      ++all_["work with its call"];
      all_["ns from call to work"] += row.time - call->second;
    }
  }

  void kernel(const trace::kernel_event& row) {
    work("kernel", row);
    ++all_["kernel '" + get_name(row.name) + "' count"];
    all_["kernel '" + get_name(row.name) + "' ns"] += row.end - row.time;
    all_["kernel threads"] +=
        std::int64_t{row.grid_x} * row.grid_y * row.grid_z * row.block_x * row.block_y * row.block_z;
    all_["kernel registers"] += row.registers;
    all_["kernel shared"] += to_signed(row.static_shared + row.dynamic_shared);
  }

  void range(const trace::host_range_event& row) {
    const std::string domain = get_name(row.domain);
    lasting(domain, row);
    if (domain == "cpu_op" || domain == "python_function" || domain == "user_annotation") {
      ++all_[domain + " '" + get_name(row.name) + "' count"];
    }
  }

  void memory() {
    std::map<trace::block_id, trace::alloc_event> blocks;
    for (const auto& row : get_rows<trace::alloc_event>(file_)) {
      const std::string where = row.kind == trace::memory_kind::device ? "device" : "host";
      blocks[row.block] = row;
      // The block was allocated before the recording and not freed: the totals include it, but no instant event names
      // it.
      if (row.source == trace::provenance::inferred) {
        before_ += to_signed(row.bytes);
        continue;
      }
      ++all_[where + " allocs"];
      all_[where + " bytes"] += to_signed(row.bytes);
      all_[where + " live bytes"] += to_signed(row.bytes);
    }
    for (const auto& row : get_rows<trace::free_event>(file_)) {
      const trace::alloc_event& block = blocks.at(row.block);
      const std::string where = block.kind == trace::memory_kind::device ? "device" : "host";
      EXPECT_LE(block.time, row.time);
      EXPECT_EQ(block.address, row.address);
      ++all_[where + " frees"];
      all_[where + " live bytes"] -= to_signed(block.bytes);
    }
    for (const auto& row : get_rows<trace::pool_event>(file_)) {
      all_["allocated at the end"] = to_signed(row.used);
      all_["reserved at the end"] = to_signed(row.reserved);
      all_["allocated at most"] = std::max(all_["allocated at most"], to_signed(row.used));
    }
    EXPECT_EQ(before_ + all_["device live bytes"], all_["allocated at the end"]);
  }

  const trace::file& file_;
  std::shared_ptr<const trace::snapshot> snapshot_;
  std::map<trace::event_id, trace::time_ns> call_times_;
  metrics all_;
  std::int64_t before_ = 0;
};

class kineto_reference : public ::testing::TestWithParam<const char*> {};

TEST_P(kineto_reference, has_the_totals_that_python_computes) {
  const auto path = testing::shared_trace(GetParam());
  if (!path) GTEST_SKIP() << GetParam() << " is not here: it lies in shared/traces beside the source tree";
  const testing::own_folder folder;
  const std::string out = folder.file("out.sluice");
  const auto done = import_file(*path, out);
  ASSERT_TRUE(done) << done.error().to_string();
  const auto opened = trace::file::open(out);
  ASSERT_TRUE(opened) << opened.error().to_string();
  const auto ours = totals(**opened).lines();
  const auto theirs = get_lines(testing::printed_by("kineto_totals.py", *path));
  EXPECT_GT(theirs.size(), 20U);
  EXPECT_THAT(without(ours, theirs), ::testing::IsEmpty());
  EXPECT_THAT(without(theirs, ours), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(real, kineto_reference, ::testing::Values("kineto-train1.json.gz", "kineto-infer1.json.gz"));

}  // namespace
}  // namespace sluice::importing::kineto_reference
