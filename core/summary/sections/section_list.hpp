#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

namespace sluice::summary {

/// The sections of a recording: consecutive intervals in order of time. Each section ends where the next section
/// begins. A recording of a billion events has some 25,000 sections, so only their start times are read until event
/// counts are needed. Immutable and thread-safe.
class section_list {
 public:
  /// Returns the sections stored in a file. Returns null if there are none, if they are not in order, or if they cannot
  /// be read.
  [[nodiscard]] static std::shared_ptr<const section_list> of(std::shared_ptr<const trace::snapshot> recording);
  explicit section_list(std::span<const trace::section_row> sections);

  [[nodiscard]] std::size_t size() const { return begins_.size() - 1; }
  [[nodiscard]] time_range at(std::size_t section) const { return {begins_[section], begins_[section + 1]}; }
  [[nodiscard]] time_ns begin() const { return begins_.front(); }
  [[nodiscard]] time_ns end() const { return begins_.back(); }
  /// Returns the section that contains `time`. The first section also covers all earlier times, and the last section
  /// all later times. O(log sections).
  [[nodiscard]] std::size_t section_at(time_ns time) const;
  /// Returns the approximate number of events in a section; `max_events` if the number is larger or cannot be read. The
  /// first call reads the disk.
  [[nodiscard]] std::uint64_t events(std::size_t section) const;
  static constexpr std::uint64_t max_events = std::uint64_t{1} << 40;  ///< Small enough to sum without overflow.

 private:
  section_list() = default;
  [[nodiscard]] bool load();
  void load_events() const;

  std::shared_ptr<const trace::snapshot> from_;  ///< Null if the sections were passed to the constructor.
  /// The start of each section, followed by the end of the last section.
  std::vector<time_ns> begins_;
  mutable std::once_flag events_read_;
  mutable std::vector<std::uint64_t> events_;
};

}  // namespace sluice::summary
