#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/export/export.hpp"
#include "core/index/growing_index.hpp"
#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "tests/core/import/files.hpp"

/// Imports a file and gives access to the results that a user sees: the report's metrics, or the error.
namespace sluice::testing {

class brought_file {
 public:
  /// Imports the existing file at `path`.
  explicit brought_file(const std::string& path) { open(path); }
  /// Writes a file with this content and imports it.
  brought_file(std::string_view name, std::string_view content) { open(folder_.write(name, content)); }

  [[nodiscard]] bool is_read() const { return outcome_.has_value(); }
  /// The error, in one line; empty if the import succeeded.
  [[nodiscard]] std::string refusal() const { return outcome_ ? std::string() : outcome_.error().to_string(); }
  [[nodiscard]] const importing::report& imported() const { return *outcome_; }
  [[nodiscard]] const metrics::report& report() const { return report_; }
  [[nodiscard]] const trace::file& file() const { return *file_; }
  [[nodiscard]] std::shared_ptr<trace::file> shared_file() const { return file_; }
  [[nodiscard]] std::string text(trace::string_id id) const { return std::string(file_->latest()->tables().text(id)); }

  /// Memory statistics of a layer; all zero if the recording has none.
  [[nodiscard]] metrics::memory_statistics memory(trace::layer layer) const {
    for (const auto& each : report_.whole.memory)
      if (each.layer == layer) return each;
    return {};
  }
  [[nodiscard]] metrics::memory_statistics framework() const { return memory(trace::layer::framework); }
  [[nodiscard]] metrics::memory_statistics driver() const { return memory(trace::layer::driver); }

  [[nodiscard]] metrics::transfer_statistics copies(trace::direction way) const {
    for (const auto& each : report_.whole.transfers)
      if (each.direction == way) return each;
    return {};
  }
  /// The number of kernels on all devices.
  [[nodiscard]] std::uint64_t kernels() const {
    std::uint64_t total = 0;
    for (const auto& each : report_.whole.devices) total += each.kernels;
    return total;
  }
  [[nodiscard]] std::uint64_t calls() const {
    std::uint64_t total = 0;
    for (const auto& each : report_.whole.threads) total += each.calls;
    return total;
  }
  /// Statistics of the ranges with this name; all zero if there are no such ranges.
  [[nodiscard]] metrics::named_time range(std::string_view name) const {
    for (const auto& each : report_.whole.ranges)
      if (text(each.name) == name) return each;
    return {};
  }
  [[nodiscard]] bool finds(metrics::finding_kind kind) const {
    for (const auto& each : report_.findings)
      if (each.kind == kind) return true;
    return false;
  }
  template <class Row>
  [[nodiscard]] std::vector<Row> rows() const {
    return get_rows<Row>(*file_);
  }
  [[nodiscard]] std::size_t ranges() const { return rows<trace::host_range_event>().size(); }
  /// All messages about the import that the user sees.
  [[nodiscard]] std::string messages() const {
    std::string content;
    for (const std::string& each : get_messages(*file_)) content += each + "\n";
    return content;
  }

  /// Exports the recording and imports the result.
  [[nodiscard]] brought_file exported_as(std::string_view format, std::vector<std::string>* notes = nullptr) const {
    const std::string path = folder_.file("exported");
    exports::options with;
    const auto done = exports::write(*file_->latest(), *exports::find_format(format), path, with);
    EXPECT_TRUE(done) << done.error().to_string();
    if (done && notes != nullptr) *notes = done->notes;
    return brought_file(path);
  }

 private:
  void open(const std::string& path) {
    outcome_ = importing::import_file(path, folder_.file("out.sluice"));
    if (!outcome_) return;
    file_ = trace::file::open(folder_.file("out.sluice")).value();
    const auto snapshot = file_->latest();
    while (!index_.absorb(*snapshot, 1000)) {
    }
    report_ = metrics::make_report(index_, *snapshot);
  }

  own_folder folder_;
  result<importing::report> outcome_;
  std::shared_ptr<trace::file> file_;
  index::growing_index index_;
  metrics::report report_;
};

}  // namespace sluice::testing
