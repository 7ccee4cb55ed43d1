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
#include "core/index/work/host_activity.hpp"
#include "core/index/work/steps.hpp"
#include "core/timeline/time_tree.hpp"
#include "core/trace/file/reader.hpp"

/// What all figures of a trace are read from. It grows with the trace, chunk by chunk, in any order of time.
namespace sluice::analysis {

struct tensor_facts;

class index {
 public:
  using message = recorded_message;
  /// Takes in at most `limit` more chunks of `from`, the oldest first. True once there are no more. Questions may be asked
  /// after any call. A chunk that cannot be read leaves a warning and is left out. `from` must be the snapshot of the
  /// calls before, or a later one of the same file.
  bool absorb(const trace::snapshot& from, std::size_t limit);

  /// Takes in what `from` says about a run of its time, once and instead of `absorb`; `about.whole` must be of the same file.
  /// What is asked about a time or a range inside the run is then answered as from an index of all of it. Three kinds of
  /// questions are not: who imported what, what faults there were, and what the program called or tagged its blocks are to
  /// be asked of rows (`is_part`). O(rows in the run + those of kinds that matter later).
  /// Calls `goes_on`, if there is one, after each chunk that it has read. Once that says no, it gives up and returns false: nothing is to
  /// be asked then.
  bool absorb_section(const trace::snapshot& from, section_facts about, const std::function<bool()>& goes_on = {});
  /// Leaves curves and slices of it, with what blocks are for, and lets its blocks go. Nothing can be taken in after.
  void keep_what_is_drawn(const trace::snapshot& from);
  /// What it holds is a part of a recording.
  [[nodiscard]] bool is_part() const { return told_ != nullptr; }
  [[nodiscard]] const section_facts* known_from_file() const { return told_.get(); }
  /// All chunks that were wanted could be read.
  [[nodiscard]] bool is_complete() const { return unreadable_.empty(); }
  /// Bytes of memory that it takes, about.
  [[nodiscard]] std::size_t memory_bytes() const;

  /// Share of `from` that has been taken in, 0..1.
  [[nodiscard]] float progress(const trace::snapshot& from) const;

  [[nodiscard]] const memory_use& memory() const { return memory_; }
  [[nodiscard]] const device_activity_index& devices() const { return devices_; }
  [[nodiscard]] const host_activity& host() const { return host_; }
  [[nodiscard]] const touch_index& touches() const { return touches_; }
  [[nodiscard]] const fault_index& faults() const { return faults_; }
  using import_owner = analysis::import_owner;
  [[nodiscard]] const analysis::import_owners& import_owners() const { return import_owners_; }
  [[nodiscard]] const analysis::step_marks& step_marks() const { return step_marks_; }
  /// What the program said its blocks are for and what they are called, by the event of their allocation.
  [[nodiscard]] const std::unordered_map<std::uint64_t, trace::string_id>& category_tags() const { return categories_; }
  [[nodiscard]] const std::unordered_map<std::uint64_t, trace::string_id>& name_tags() const { return names_; }
  /// The steps, and what each block is for, as far as `from` has been taken in. Worked out by the first caller after an
  /// `absorb`, O(blocks * log blocks), while others wait. While there is more to come at most a twentieth of the time goes
  /// into that: an answer may then be of a moment ago, and know fewer blocks. Thread-safe as long as nobody absorbs.
  [[nodiscard]] std::shared_ptr<const tensor_facts> tensors(const trace::snapshot& from) const;
  [[nodiscard]] const copy_calls& copies() const { return copies_; }
  [[nodiscard]] const copy_contents& contents() const { return contents_; }
  /// Of all copies, also where this is a part: then the first caller reads them, while others wait. Thread-safe.
  [[nodiscard]] const copy_contents& contents(const trace::snapshot& from) const;
  [[nodiscard]] const std::map<trace::counter_id, timeline::sample_tree>& counters() const { return counters_; }
  [[nodiscard]] const std::vector<message>& messages() const { return messages_; }
  /// Per process, up to when device times are complete.
  [[nodiscard]] const std::map<trace::process_id, time_ns>& watermarks() const { return watermarks_; }
  /// What each chunk is about, so that a row can be found by its id; of all chunks, also where this is a part.
  [[nodiscard]] const chunk_index& chunks() const { return told_ ? *told_->whole->chunks : chunks_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Chunks that could not be read, and rows that made no sense, in words.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  void take(const trace::snapshot& from, std::size_t chunk);
  void take_attribute(const trace::attribute_event& row, const trace::tables& tables);
  template <class Row, class Use>
  void with_rows(const trace::snapshot& from, std::size_t chunk, Use&& use);
  template <class Row, class Use>
  void with_each(const trace::snapshot& from, std::size_t chunk, Use&& use);
  void set_known(const section_facts& about);
  void set_known_samples(const section_facts& about);
  void set_known_slices(const section_facts& about);
  void find_stacks_of_copies(const trace::snapshot& from, const std::vector<bool>& taken);
  void settle(const trace::snapshot& from);

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
  mutable bool tensors_fresh_ = false;  ///< Nothing was taken in since.
  mutable std::chrono::steady_clock::time_point tensors_found_;
  mutable std::chrono::steady_clock::duration tensors_cost_{};
  copy_calls copies_;
  mutable copy_contents contents_;
  mutable std::once_flag contents_read_;
  std::unique_ptr<const section_facts> told_;
  std::map<trace::counter_id, timeline::sample_tree> counters_;
  std::vector<message> messages_;
  std::map<trace::process_id, time_ns> watermarks_;
  chunk_index chunks_;
  std::vector<std::string> unreadable_;
  std::size_t next_ = 0;
  std::uint64_t taken_bytes_ = 0;
  std::uint64_t events_ = 0;
};

/// What is said of rows that make no sense.
[[nodiscard]] std::string words_of_malformed(std::uint64_t rows);

/// The range of the whole recording: [first time, last time], the last instant included; empty when nothing happened.
[[nodiscard]] time_range time_range_of(const trace::snapshot& from);

}  // namespace sluice::analysis
