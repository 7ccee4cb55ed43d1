#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/index/chunk_index.hpp"
#include "core/index/memory/faults.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/shared_memory.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/recorded_message.hpp"
#include "core/index/recording_facts.hpp"
#include "core/index/work/copy_calls.hpp"
#include "core/index/work/copy_contents.hpp"
#include "core/index/work/device_work.hpp"
#include "core/index/work/driver_calls.hpp"
#include "core/index/work/host_activity.hpp"
#include "core/index/work/steps.hpp"
#include "core/timeline/time_tree.hpp"
#include "core/trace/file/reader.hpp"

/// What is known of a recording's events once they are read: memory blocks and their uses, device work, API calls. All
/// figures are made from an index. `growing_index` reads a whole recording, `section_index` a time span of a recording.
namespace sluice::analysis {

struct tensor_facts;

class index {
 public:
  using message = recorded_message;
  virtual ~index() = default;
  index(const index&) = delete;
  index& operator=(const index&) = delete;

  /// True for a `section_index`, which knows only a time span of the recording.
  [[nodiscard]] bool is_part() const { return known_ != nullptr; }
  /// What a `section_index` knows about the time outside of its section. Null in an index of the whole recording.
  [[nodiscard]] const section_facts* known_from_file() const { return known_.get(); }
  /// True if every chunk that had to be read could be read.
  [[nodiscard]] bool is_complete() const { return unreadable_.empty(); }
  /// The memory that the index takes, in bytes; an estimate.
  [[nodiscard]] std::size_t memory_bytes() const;

  [[nodiscard]] const memory_use& memory() const { return memory_; }
  [[nodiscard]] const device_activity_index& devices() const { return devices_; }
  [[nodiscard]] const host_activity& host() const { return host_; }
  [[nodiscard]] const touch_index& touches() const { return touches_; }
  [[nodiscard]] const fault_index& faults() const { return faults_; }
  using import_owner = analysis::import_owner;
  [[nodiscard]] const analysis::import_owners& import_owners() const { return import_owners_; }
  [[nodiscard]] const analysis::step_marks& step_marks() const { return step_marks_; }
  /// The categories and names that the program gave to its blocks, by the allocation event's id. Empty in a section.
  [[nodiscard]] const std::unordered_map<std::uint64_t, trace::string_id>& category_tags() const { return categories_; }
  [[nodiscard]] const std::unordered_map<std::uint64_t, trace::string_id>& name_tags() const { return names_; }
  /// The steps, and the category of each block, in the part of `from` that has been read. The first caller after an
  /// `absorb` computes the result, O(blocks * log blocks), while others wait. While chunks are to come, this takes at
  /// most a twentieth of the time, so the result may be a little old. Thread-safe while nothing is absorbed.
  [[nodiscard]] std::shared_ptr<const tensor_facts> tensors(const trace::snapshot& from) const;
  [[nodiscard]] const copy_calls& copies() const { return copies_; }
  [[nodiscard]] const analysis::driver_calls& driver_calls() const { return driver_calls_; }
  [[nodiscard]] const analysis::wait_stacks& wait_stacks() const { return wait_stacks_; }
  [[nodiscard]] const copy_contents& contents() const { return contents_; }
  /// The contents of all copies in the recording; in a section, the first caller reads them from `from`. Thread-safe.
  [[nodiscard]] const copy_contents& contents(const trace::snapshot& from) const;
  [[nodiscard]] const std::map<trace::counter_id, timeline::sample_tree>& counters() const { return counters_; }
  [[nodiscard]] const std::vector<message>& messages() const { return messages_; }
  /// For each process, the time up to which device work is completely known.
  [[nodiscard]] const std::map<trace::process_id, time_ns>& watermarks() const { return watermarks_; }
  /// The time and id ranges of all chunks of the recording, to find a row by its id; in a section, too, of all chunks.
  [[nodiscard]] const chunk_index& chunks() const { return known_ ? *known_->whole->chunks : chunks_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// One sentence for each chunk that could not be read, and one for all rows with contradictory or impossible values.
  [[nodiscard]] std::vector<std::string> warnings() const;

 protected:
  index() = default;
  /// Reads one chunk. A section uses only rows in its time range, and rows of types that `matters_everywhere` names.
  void take(const trace::snapshot& from, std::size_t chunk);
  /// Sorts and sums what was read. Call before any query.
  void settle(const trace::snapshot& from);

  std::unique_ptr<const section_facts> known_;  ///< Set by `section_index`.
  trace::process_id only_{};                    ///< Rows of other processes are left out; none: of no process.
  std::size_t next_ = 0;                        ///< The number of the first chunk that was not read.

  memory_use memory_;
  device_activity_index devices_;
  host_activity host_;
  touch_index touches_;
  fault_index faults_;
  analysis::step_marks step_marks_;
  analysis::import_owners import_owners_;
  std::unordered_map<std::uint64_t, trace::string_id> categories_;
  std::unordered_map<std::uint64_t, trace::string_id> names_;
  mutable std::mutex tensors_mutex_;
  mutable std::shared_ptr<const tensor_facts> tensors_;
  mutable bool tensors_fresh_ = false;  ///< `tensors_` covers all that was read.
  mutable std::chrono::steady_clock::time_point tensors_found_;
  mutable std::chrono::steady_clock::duration tensors_cost_{};
  copy_calls copies_;
  analysis::driver_calls driver_calls_;
  analysis::wait_stacks wait_stacks_;
  mutable copy_contents contents_;
  mutable std::once_flag contents_read_;
  std::map<trace::counter_id, timeline::sample_tree> counters_;
  std::vector<message> messages_;
  std::map<trace::process_id, time_ns> watermarks_;
  chunk_index chunks_;
  std::uint64_t events_ = 0;

 private:
  void take_attribute(const trace::attribute_event& row, const trace::tables& tables);
  template <class Row, class Use>
  void with_rows(const trace::snapshot& from, std::size_t chunk, Use&& use);
  template <class Row, class Use>
  void with_each(const trace::snapshot& from, std::size_t chunk, Use&& use);

  std::vector<std::string> unreadable_;
};

/// Returns the warning that `rows` rows have contradictory or impossible values.
[[nodiscard]] std::string words_of_malformed(std::uint64_t rows);

/// Returns the time range of the whole recording, [first time, last time + 1 ns); empty if there are no events.
[[nodiscard]] time_range time_range_of(const trace::snapshot& from);

}  // namespace sluice::analysis
