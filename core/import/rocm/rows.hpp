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

/// What ROCm's profilers record, as rows of a trace. Private to core/import.
namespace sluice::importing::rocm {

/// A processor of a recording. `set` keeps apart the numbers of several recordings in one file.
struct agent_key {
  std::uint64_t set = 0;
  std::int64_t id = -1;
  friend auto operator<=>(const agent_key&, const agent_key&) = default;
};

/// Where and when something was. Times are of the profiler's clock.
struct place {
  std::int64_t pid = 0, tid = 0;
  agent_key agent;  ///< The device that did it; of a copy: unused.
  std::int64_t queue = -1;
  std::int64_t begin = 0, end = 0;
  std::uint64_t correlation = 0;  ///< That of the call that asked for it; 0: unknown.
};

/// Writes the rows. Times that cannot be cost their row and are counted. Not thread-safe.
class rows {
 public:
  /// `begin`: the earliest time of the recording, which becomes time 0.
  rows(job& work, std::int64_t begin) : work_(work), begin_(begin) {}

  /// A processor. Those that are no GPU get no row; they are the host.
  void add_agent(const agent_key& key, bool is_gpu, std::int64_t ordinal, std::string_view name, std::uint64_t memory);
  void name_process(std::int64_t pid, std::string_view command);

  struct kernel {
    std::string_view name;
    std::uint32_t grid[3] = {}, block[3] = {};
    std::uint64_t shared = 0;
  };
  void add_kernel(const place& at, const kernel& about);
  struct copy {
    agent_key source, destination;
    std::string_view name;  ///< Of the direction, where the agents do not tell: "MEMORY_COPY_HOST_TO_DEVICE".
    std::uint64_t source_address = 0, destination_address = 0;
    std::int64_t bytes = -1;  ///< -1: unknown.
  };
  void add_copy(const place& at, const copy& about);
  void add_memset(const place& at, std::uint64_t bytes);
  /// An allocation: `at.end` is its exit.
  void allocate(const place& at, std::uint64_t address, std::uint64_t bytes, trace::memory_kind kind,
                std::string_view name);
  void release(const place& at, std::uint64_t address);
  /// A call of the runtime. `at.correlation` is its own.
  void add_call(const place& at, std::string_view name);
  void add_range(const place& at, std::string_view name, std::string_view domain);

  [[nodiscard]] std::int64_t begin() const { return begin_; }
  /// Writes what is left, and counts.
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

  [[nodiscard]] bool is_plausible(const place& at, const char* what);
  [[nodiscard]] trace::process_id process(std::int64_t pid);
  [[nodiscard]] thread_place thread(std::int64_t pid, std::int64_t tid);
  [[nodiscard]] const agent* agent_of(const agent_key& key) const;
  [[nodiscard]] trace::device_id device(const agent_key& key);
  [[nodiscard]] trace::stream_id stream(trace::process_id process, trace::device_id device, std::int64_t queue);
  template <class Row>
  void begin_work(Row& row, const place& at, trace::device_id device);

  job& work_;
  std::int64_t begin_ = 0;
  std::map<agent_key, agent> agents_;
  std::map<std::int64_t, trace::process_row> processes_;
  std::map<std::pair<std::int64_t, std::int64_t>, trace::thread_id> threads_;
  std::map<std::pair<trace::device_id, std::int64_t>, trace::stream_id> streams_;
  call_table calls_;
  struct block_hash {
    std::size_t operator()(const std::pair<std::int64_t, std::uint64_t>& of) const {
      return static_cast<std::size_t>(of.first) * 0x9e3779b97f4a7c15U ^ of.second;
    }
  };
  struct block {
    trace::block_id id{};
    trace::device_id device{};
  };
  /// A free of a block, whose times are not set.
  [[nodiscard]] static trace::free_event end_of(const block& which, trace::process_id process, std::uint64_t address);

  std::unordered_map<std::pair<std::int64_t, std::uint64_t>, block, block_hash> live_;  ///< By process and address.
  std::uint64_t blocks_ = 0;
  event_order order_;
  kernel_overruns overruns_;
};

}  // namespace sluice::importing::rocm
