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
#include "core/index/work/host_samples.hpp"
#include "core/index/work/steps.hpp"
#include "core/timeline/time_tree.hpp"
#include "core/trace/file/reader.hpp"

/// An index of a recording's events: memory blocks and their uses, device work, API calls. Metrics, curves and the
/// results of queries are computed from it. A `growing_index` covers a whole recording. A `section_index` covers only a
/// time span.
namespace sluice::index {

struct tensor_facts;

/// The base class of all indexes. A derived class reads the chunks; this class holds what was read and answers queries.
class event_store {
 public:
  using message = recorded_message;
  virtual ~event_store() = default;
  event_store(const event_store&) = delete;
  event_store& operator=(const event_store&) = delete;

  /// True for a `section_index`, which covers only a time span of the recording.
  [[nodiscard]] bool is_part() const { return known_ != nullptr; }
  /// The facts that a `section_index` knows about the time outside its section. Null in an index of the whole
  /// recording.
  [[nodiscard]] const section_facts* known_from_file() const { return known_.get(); }
  /// True if every chunk that had to be read could be read.
  [[nodiscard]] bool is_complete() const { return unreadable_.empty(); }
  /// The memory used by the index, in bytes; an estimate.
  [[nodiscard]] std::size_t memory_bytes() const;

  [[nodiscard]] const memory_use& memory() const { return memory_; }
  [[nodiscard]] const device_activity_index& devices() const { return devices_; }
  [[nodiscard]] const host_activity& host() const { return host_; }
  /// Samples of host threads. Empty in an index of a section with a scope less than `everything`.
  [[nodiscard]] const host_samples& samples() const { return samples_; }
  [[nodiscard]] const touch_index& touches() const { return touches_; }
  [[nodiscard]] const fault_index& faults() const { return faults_; }
  using import_owner = index::import_owner;
  [[nodiscard]] const index::import_owners& import_owners() const { return import_owners_; }
  [[nodiscard]] const index::step_marks& step_marks() const { return step_marks_; }
  /// The categories and names that the program assigned to its blocks, keyed by the id of the allocation event. Empty
  /// in an index of a section.
  [[nodiscard]] const std::unordered_map<std::uint64_t, trace::string_id>& category_tags() const { return categories_; }
  [[nodiscard]] const std::unordered_map<std::uint64_t, trace::string_id>& name_tags() const { return names_; }
  /// Returns the steps, and the category of each block, in the part of `recording` that has been read. The first caller
  /// after an `absorb` computes the result, O(blocks * log blocks), while other callers wait. While the recording is
  /// still being read, at most a twentieth of the time is spent on this, so the result may be slightly outdated.
  /// Thread-safe unless `absorb` runs at the same time.
  [[nodiscard]] std::shared_ptr<const tensor_facts> tensors(const trace::snapshot& recording) const;
  [[nodiscard]] const copy_calls& copies() const { return copies_; }
  [[nodiscard]] const index::driver_calls& driver_calls() const { return driver_calls_; }
  [[nodiscard]] const index::wait_stacks& wait_stacks() const { return wait_stacks_; }
  [[nodiscard]] const copy_contents& contents() const { return contents_; }
  /// Returns the contents of all copies in the recording. In an index of a section, the first call reads them from
  /// `recording`. Thread-safe.
  [[nodiscard]] const copy_contents& contents(const trace::snapshot& recording) const;
  [[nodiscard]] const std::map<trace::counter_id, timeline::sample_tree>& counters() const { return counters_; }
  [[nodiscard]] const std::vector<message>& messages() const { return messages_; }
  /// For each process, the time up to which all device work is known.
  [[nodiscard]] const std::map<trace::process_id, time_ns>& watermarks() const { return watermarks_; }
  /// The time and id ranges of all chunks of the whole recording, even in an index of a section. Used to find a row by
  /// its id.
  [[nodiscard]] const chunk_index& chunks() const { return known_ ? *known_->whole->chunks : chunks_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Returns one sentence for each chunk that could not be read, and one sentence about all rows with contradictory or
  /// impossible values.
  [[nodiscard]] std::vector<std::string> warnings() const;

 protected:
  event_store() = default;
  /// Reads one chunk. An index of a section uses only the rows in its time range and the rows of types for which
  /// `matters_everywhere` is true.
  void take(const trace::snapshot& recording, std::size_t chunk);
  /// Sorts and sums the rows read so far. Must be called before any query.
  void settle(const trace::snapshot& recording);

  std::unique_ptr<const section_facts> known_;  ///< Set by `section_index`.
  trace::process_id only_{};                    ///< Only rows of this process are used. None: rows of all processes are
                                                ///< used.
  std::size_t next_ = 0;                        ///< The number of the next chunk to read.

  memory_use memory_;
  device_activity_index devices_;
  host_activity host_;
  host_samples samples_;
  touch_index touches_;
  fault_index faults_;
  index::step_marks step_marks_;
  index::import_owners import_owners_;
  std::unordered_map<std::uint64_t, trace::string_id> categories_;
  std::unordered_map<std::uint64_t, trace::string_id> names_;
  mutable std::mutex tensors_mutex_;
  mutable std::shared_ptr<const tensor_facts> tensors_;
  mutable bool tensors_fresh_ = false;  ///< True if `tensors_` covers all rows read so far.
  mutable std::chrono::steady_clock::time_point tensors_found_;
  mutable std::chrono::steady_clock::duration tensors_cost_{};
  copy_calls copies_;
  index::driver_calls driver_calls_;
  index::wait_stacks wait_stacks_;
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
  void with_rows(const trace::snapshot& recording, std::size_t chunk, Use&& use);
  template <class Row, class Use>
  void with_each(const trace::snapshot& recording, std::size_t chunk, Use&& use);

  std::vector<std::string> unreadable_;
};

/// Returns a warning that `rows` rows have contradictory or impossible values.
[[nodiscard]] std::string words_of_malformed(std::uint64_t rows);

/// Returns the time range of the whole recording, [first time, last time + 1 ns); empty if there are no events.
[[nodiscard]] time_range recorded_range(const trace::snapshot& recording);

}  // namespace sluice::index
