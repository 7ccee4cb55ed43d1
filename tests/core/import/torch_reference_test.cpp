// Compares imported PyTorch snapshots with what Python's pickle reads from them, as text, byte for byte.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/trace/file/layout.hpp"
#include "core/trace/model/mapping_flags.hpp"
#include "tests/core/import/files.hpp"
#include "tests/programs.hpp"

namespace sluice::importing::torch_reference {
namespace {

using testing::get_rows;
using testing::own_folder;

/// The output of a command; nothing if the command failed.
std::string capture_output(const std::string& command) {
  const program_result done = run_shell(command);
  return done.status == 0 ? done.out : std::string();
}

/// The metrics that torch_totals.py prints, computed from a trace.
class totals {
 public:
  totals(const trace::file& file, const importing::report& report) : tables_(file.latest()->tables()) {
    std::map<trace::block_id, trace::alloc_event> blocks;
    for (const auto& row : get_rows<trace::alloc_event>(file)) {
      blocks[row.block] = row;
      if (row.source == trace::provenance::inferred) {
        // The row is the rest of a mapped segment of which a part was unmapped.
        if ((row.flags & trace::rest_of_block) != 0) bytes_[get_name(row.kind) + " segment_unmap"] -= row.bytes;
        continue;
      }
      const bool block = row.layer == trace::layer::framework;
      const bool mapped = tables_.text(row.name) == "cuMemMap";
      count(row.kind, block ? "alloc" : mapped ? "segment_map" : "segment_alloc", row.bytes);
      if (!block) continue;
      auto& [allocations, bytes] = stacks_[stack_text(row.stack)];
      ++allocations;
      bytes += row.bytes;
    }
    std::map<trace::block_id, trace::alloc_event> live = blocks;
    for (const auto& row : get_rows<trace::free_event>(file)) {
      const trace::alloc_event& allocation = blocks.at(row.block);
      live.erase(row.block);
      if (row.layer == trace::layer::driver) {
        if (tables_.text(allocation.name) == "cuMemMap") {
          bytes_[get_name(allocation.kind) + " segment_unmap"] += allocation.bytes;
        } else {
          count(allocation.kind, "segment_free", allocation.bytes);
        }
        continue;
      }
      if (row.source != trace::provenance::inferred) count(allocation.kind, "free_requested", allocation.bytes);
      if (row.completed != trace::unknown_time) count(allocation.kind, "free_completed", allocation.bytes);
    }
    for (const auto& row : get_rows<trace::alloc_failed_event>(file)) count(row.kind, "oom", row.bytes);
    for (const auto& row : get_rows<trace::marker_event>(file)) {
      if (tables_.text(row.name) == "snapshot") ++actions_["device snapshot"];
    }
    for (const char* kind : {"device", "host"}) {
      std::uint64_t reserved = 0, allocated = 0, number = 0;
      for (const auto& [id, row] : live) {
        if (get_name(row.kind) != kind) continue;
        (row.layer == trace::layer::driver ? reserved : allocated) += row.bytes;
        number += row.layer == trace::layer::framework ? 1 : 0;
      }
      json_[std::string(kind) + " reserved at the end"] = reserved;
      json_[std::string(kind) + " allocated at the end"] = allocated;
      json_[std::string(kind) + " blocks at the end"] = number;
    }
    json_["entries"] =
        testing::to_number(report.read, "trace entries") + testing::to_number(report.read, "entries of pinned memory");
    json_["actions"] = actions_;
    json_["bytes"] = bytes_;
    json_["stacks"] = stacks_.size();
    std::vector<std::tuple<std::uint64_t, std::uint64_t, std::string>> per_stack;
    for (const auto& [text, sums] : stacks_) per_stack.emplace_back(sums.first, sums.second, text);
    std::sort(per_stack.begin(), per_stack.end());
    json_["per stack"] = per_stack;
  }

  [[nodiscard]] const nlohmann::json& json() const { return json_; }
  [[nodiscard]] std::string text() const { return json_.dump(0, ' ', true) + "\n"; }

 private:
  static std::string get_name(trace::memory_kind kind) {
    return kind == trace::memory_kind::pinned ? "host" : "device";
  }

  void count(trace::memory_kind kind, const char* action, std::uint64_t bytes) {
    ++actions_[get_name(kind) + " " + action];
    bytes_[get_name(kind) + " " + action] += bytes;
  }

  [[nodiscard]] std::string stack_text(trace::stack_id id) const {
    std::string text;
    for (const auto* at = tables_.stacks.find(id); at != nullptr; at = tables_.stacks.find(at->parent)) {
      const trace::frame_row* frame = tables_.frames.find(at->frame);
      if (!text.empty()) text += '|';
      text += std::string(tables_.text(frame->function)) + '@' + std::string(tables_.text(frame->file)) + ':' +
              std::to_string(frame->line);
    }
    return text;
  }

  const trace::tables& tables_;
  nlohmann::json json_;
  std::map<std::string, std::uint64_t> actions_, bytes_;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> stacks_;
};

/// Samples beside the source tree, and those in the tests' folder.
std::vector<std::string> samples() {
  std::vector<std::string> found;
  const std::filesystem::path root = SLUICE_SOURCE_DIR;
  for (const auto& folder :
       {root / "../shared/traces", root / "../../shared/traces", root / "tests/core/import/samples"}) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("torch-") && name.ends_with(".pickle.gz")) found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(torch_reference, agrees_with_python_to_the_byte) {
  if (samples().empty()) GTEST_SKIP() << "there are no snapshots beside the source tree";
  for (const std::string& sample : samples()) {
    SCOPED_TRACE(sample);
    const std::string said =
        capture_output("python3 " SLUICE_SOURCE_DIR "/tests/core/import/torch_totals.py '" + sample + "'");
    if (said.empty()) GTEST_SKIP() << "there is no python3";
    const own_folder folder;
    const auto done = import_file(sample, folder.file("out.sluice"));
    ASSERT_TRUE(done) << done.error().to_string();
    for (const auto& each : done->not_understood) ADD_FAILURE() << each.number << " " << each.label;
    const totals ours(*trace::file::open(folder.file("out.sluice")).value(), *done);
    if (ours.text() == said) continue;
    const auto theirs = nlohmann::json::parse(said);
    for (const auto& [key, value] : theirs.items()) EXPECT_EQ(ours.json().at(key), value) << key;
    ADD_FAILURE() << "the texts differ";
  }
}

}  // namespace
}  // namespace sluice::importing::torch_reference
