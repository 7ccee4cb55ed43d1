#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/import/call_table.hpp"
#include "core/import/event_order.hpp"
#include "core/import/job.hpp"
#include "core/import/kernel_overruns.hpp"

/// Converts the records of ROCm's profilers (AMD GPUs) to rows of a trace. Private to core/import.
namespace sluice::importing::rocm {

/// Identifies a processor of a recording. `set` distinguishes several recordings in one file, whose numbers may be
/// equal.
struct agent_key {
  std::uint64_t set = 0;
  std::int64_t id = -1;
  friend auto operator<=>(const agent_key&, const agent_key&) = default;
};

/// Where and when an event happened. Times are on the profiler's clock.
struct row_origin {
  std::int64_t pid = 0, tid = 0;
  agent_key agent;  ///< The device that executed the work; unused for copies.
  std::int64_t queue = -1;
  std::int64_t begin = 0, end = 0;
  std::uint64_t correlation = 0;  ///< The correlation id of the call that requested the work; 0 if unknown.
};

/// Converts the records and writes the rows. Skips and counts records with impossible times. Not thread-safe.
class rows {
 public:
  /// `begin` is the earliest time of the recording, which becomes time 0.
  rows(job& work, std::int64_t begin) : work_(work), begin_(begin) {}

  /// Adds a processor. A processor that is not a GPU represents the host and gets no row.
  void add_agent(const agent_key& key, bool is_gpu, std::int64_t ordinal, std::string_view name, std::uint64_t memory);
  void name_process(std::int64_t pid, std::string_view command);

  struct kernel {
    std::string_view name;
    std::uint32_t grid[3] = {}, block[3] = {};
    std::uint64_t shared = 0;
  };
  void add_kernel(const row_origin& at, const kernel& about);
  struct copy {
    agent_key source, destination;
    /// The name, such as "MEMORY_COPY_HOST_TO_DEVICE". It shows the direction if the agents do not.
    std::string_view name;
    std::uint64_t source_address = 0, destination_address = 0;
    std::int64_t bytes = -1;  ///< -1 if unknown.
  };
  void add_copy(const row_origin& at, const copy& about);
  void add_memset(const row_origin& at, std::uint64_t bytes);
  /// Adds an allocation, which takes effect at `at.end`.
  void allocate(const row_origin& at, std::uint64_t address, std::uint64_t bytes, trace::memory_kind kind,
                std::string_view name);
  void release(const row_origin& at, std::uint64_t address);
  /// Adds a call of the runtime. `at.correlation` is the call's own correlation id.
  void add_call(const row_origin& at, std::string_view name);
  void add_range(const row_origin& at, std::string_view name, std::string_view domain);

  [[nodiscard]] std::int64_t begin() const { return begin_; }
  /// Writes the remaining rows and reports the counts. Call after the last record.
  void finish();

 private:
  struct agent {
    trace::device_id device{};
    bool is_gpu = false;
  };
  struct thread_place {
    trace::process_id process{};
    trace::thread_id thread{};
  };

  [[nodiscard]] bool is_plausible(const row_origin& at, const char* subject);
  [[nodiscard]] trace::process_id process(std::int64_t pid);
  [[nodiscard]] thread_place thread(std::int64_t pid, std::int64_t tid);
  [[nodiscard]] const agent* find_agent(const agent_key& key) const;
  [[nodiscard]] trace::device_id device(const agent_key& key);
  [[nodiscard]] trace::stream_id stream(trace::process_id process, trace::device_id device, std::int64_t queue);
  template <class Row>
  void begin_work(Row& row, const row_origin& at, trace::device_id device);
  /// A row of a host thread, with its times and its name.
  template <class Row>
  Row begin_interval(const row_origin& at, std::string_view name);

  job& work_;
  std::int64_t begin_ = 0;
  std::map<agent_key, agent> agents_;
  std::map<std::int64_t, trace::process_row> processes_;
  std::map<std::pair<std::int64_t, std::int64_t>, trace::thread_id> threads_;
  std::map<std::pair<trace::device_id, std::int64_t>, trace::stream_id> streams_;
  call_table calls_;
  struct block_hash {
    std::size_t operator()(const std::pair<std::int64_t, std::uint64_t>& pair) const {
      return static_cast<std::size_t>(pair.first) * 0x9e3779b97f4a7c15U ^ pair.second;
    }
  };
  struct block {
    trace::block_id id{};
    trace::device_id device{};
  };
  /// Creates the free of a block, without times.
  [[nodiscard]] static trace::free_event get_end(const block& which, trace::process_id process, std::uint64_t address);

  std::unordered_map<std::pair<std::int64_t, std::uint64_t>, block, block_hash> live_;  ///< Keyed by process, address.
  std::uint64_t blocks_ = 0;
  event_order order_;
  kernel_overruns overruns_;
};

}  // namespace sluice::importing::rocm
