// Real Nsight Systems exports of 2022 and 2025, and one from a test generator: imports have the totals that Python's
// sqlite3 module computes (nsys_totals.py).
#include <gmock/gmock.h>

#include "tests/core/import/files.hpp"
#include "tests/core/import/metrics.hpp"
#include "tests/core/import/shared_traces.hpp"
#include "tests/programs.hpp"

namespace sluice::importing::nsys_reference {
namespace {

using testing::get_rows;
using testing::to_signed;

class totals {
 public:
  explicit totals(const trace::file& file) : file_(file), snapshot_(file.latest()) {}

  std::set<std::string> lines() {
    for (const auto& row : get_rows<trace::api_call_event>(file_)) {
      lasting("call", row);
      call_times_[row.id] = row.time;
      ++all_["call '" + get_name(row.name) + "' count"];
      all_["call results"] += row.status;
    }
    for (const auto& row : get_rows<trace::kernel_event>(file_)) {
      work("kernel", row);
      ++all_["kernel '" + get_name(row.name) + "' count"];
      all_["kernel threads"] +=
          std::int64_t{row.grid_x} * row.grid_y * row.grid_z * row.block_x * row.block_y * row.block_z;
      all_["kernel registers"] += row.registers;
      all_["kernel shared"] += to_signed(row.static_shared + row.dynamic_shared);
    }
    for (const auto& row : get_rows<trace::transfer_event>(file_)) {
      static constexpr const char* ways[] = {"unknown", "h2d", "d2h", "d2d", "p2p", "h2h"};
      work("copy", row);
      all_[std::string("copied ") + ways[static_cast<std::size_t>(row.direction)] + " bytes"] += to_signed(row.bytes);
    }
    for (const auto& row : get_rows<trace::migration_event>(file_)) {
      lasting("migration", row);
      all_["migrated bytes"] += to_signed(row.bytes);
    }
    for (const auto& row : get_rows<trace::memset_event>(file_)) {
      work("memset", row);
      all_["memset bytes"] += to_signed(row.bytes);
    }
    for (const auto& row : get_rows<trace::sync_event>(file_)) lasting("sync", row);
    for (const auto& row : get_rows<trace::host_range_event>(file_)) {
      lasting("range", row);
      ++all_["range '" + get_name(row.name) + "' count"];
    }
    all_["marks"] = to_signed(get_rows<trace::marker_event>(file_).size());
    memory();
    all_["devices"] = to_signed(snapshot_->tables().devices.rows().size());
    return all_.lines();
  }

 private:
  [[nodiscard]] std::string get_name(trace::string_id id) const { return std::string(snapshot_->tables().text(id)); }

  template <class Row>
  void lasting(const std::string& kind, const Row& row) {
    ++all_[kind + " count"];
    if (row.end != trace::unknown_time) all_[kind + " ns"] += row.end - row.time;
  }

  template <class Row>
  void work(const std::string& kind, const Row& row) {
    lasting(kind, row);
    const auto* stream = snapshot_->tables().streams.find(row.stream);
    const auto* process = snapshot_->tables().processes.find(row.process);
    ASSERT_TRUE(stream != nullptr && process != nullptr);
    ++all_[kind + " on stream " + std::to_string(stream->handle) + " of " + std::to_string(process->pid)];
    if (const auto call = call_times_.find(row.call); call != call_times_.end()) {
      if constexpr (requires { row.enqueued; }) {
        EXPECT_EQ(row.enqueued, call->second);
      }
      ++all_["work with its call"];
      all_["ns from call to work"] += row.time - call->second;
    }
  }

  void memory() {
    std::map<trace::block_id, std::uint64_t> bytes;
    for (const auto& row : get_rows<trace::alloc_event>(file_)) {
      bytes[row.block] = row.bytes;
      if (row.flags == trace::born_before) continue;
      ++all_["allocs"];
      all_["allocated bytes"] += to_signed(row.bytes);
    }
    for (const auto& row : get_rows<trace::free_event>(file_)) {
      if (row.source == trace::provenance::inferred) continue;
      ++all_["frees"];
      all_["freed bytes"] += to_signed(bytes.at(row.block));
    }
  }

  const trace::file& file_;
  std::shared_ptr<const trace::snapshot> snapshot_;
  std::map<trace::event_id, trace::time_ns> call_times_;
  testing::metrics all_;
};

void expect_python_agrees(const std::string& path) {
  const testing::own_folder folder;
  const std::string out = folder.file("out.sluice");
  const auto done = import_file(path, out);
  ASSERT_TRUE(done) << done.error().to_string();
  const auto opened = trace::file::open(out);
  ASSERT_TRUE(opened) << opened.error().to_string();
  const auto ours = totals(**opened).lines();
  const auto theirs = testing::get_lines(testing::printed_by("nsys_totals.py", path));
  EXPECT_GT(theirs.size(), 15U);
  EXPECT_THAT(testing::without(ours, theirs), ::testing::IsEmpty());
  EXPECT_THAT(testing::without(theirs, ours), ::testing::IsEmpty());
}

class nsys_reference : public ::testing::TestWithParam<const char*> {};

TEST_P(nsys_reference, has_the_totals_that_python_computes) {
  const auto path = testing::shared_trace(GetParam());
  if (!path) GTEST_SKIP() << GetParam() << " is not here: it lies in shared/traces beside the source tree";
  expect_python_agrees(*path);
}

INSTANTIATE_TEST_SUITE_P(real, nsys_reference,
                         ::testing::Values("nsys-2022.2-saxpy-mpi.sqlite", "nsys-2025.3-power-iteration.sqlite"));

TEST(nsys_reference, a_generated_export_with_memory_has_them_too) {
  const testing::own_folder folder;
  const std::string text = folder.file("generated.sqlite");
  const program_result made =
      run_program({.words = {"python3", SLUICE_SOURCE_DIR "/tests/bench/make-nsys-sqlite", "20000", text}});
  ASSERT_EQ(made.status, 0) << made.err;
  expect_python_agrees(text);
}

}  // namespace
}  // namespace sluice::importing::nsys_reference
