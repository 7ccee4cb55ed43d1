#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/timeline/time_range.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

namespace sluice::analysis {

/// The sections of a recording: spans of time in order, each from its begin to the begin of the next. A billion events have
/// some 25,000, so no more is read of a section than its begin, until somebody asks for its events. Immutable; thread-safe.
class section_list {
 public:
  /// The sections that a file stores; null if it stores none, or they are not in order or cannot be read.
  [[nodiscard]] static std::shared_ptr<const section_list> of(std::shared_ptr<const trace::snapshot> from);
  explicit section_list(std::span<const trace::section_row> sections);

  [[nodiscard]] std::size_t size() const { return begins_.size() - 1; }
  [[nodiscard]] time_range at(std::size_t section) const { return {begins_[section], begins_[section + 1]}; }
  [[nodiscard]] time_ns begin() const { return begins_.front(); }
  [[nodiscard]] time_ns end() const { return begins_.back(); }
  /// The section that contains `time`. The first also has all earlier times, the last all later ones. O(log sections).
  [[nodiscard]] std::size_t section_at(time_ns time) const;
  /// About how many events a section has; `most_events` if it has more, or if that cannot be read. The first call reads
  /// the disk.
  [[nodiscard]] std::uint64_t events(std::size_t section) const;
  static constexpr std::uint64_t most_events = std::uint64_t{1} << 40;  ///< Small enough to add up.

 private:
  section_list() = default;
  [[nodiscard]] bool load();
  void load_events() const;

  std::shared_ptr<const trace::snapshot> from_;  ///< Null if all was given.
  std::vector<time_ns> begins_;                  ///< Of each section; behind them, the end of the last.
  mutable std::once_flag events_read_;
  mutable std::vector<std::uint64_t> events_;
};

}  // namespace sluice::analysis
