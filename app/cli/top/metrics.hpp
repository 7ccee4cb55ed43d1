#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/metrics/check/check.hpp"
#include "core/metrics/report/report.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/memory_groups.hpp"

/// The metrics that `sluice top` shows. Every number comes from a query that the window also uses.
namespace sluice::cli::top {

/// Copies in one direction between a GPU and the host, in the last second.
struct copy_rate {
  bool known = false;        ///< The recording contains copies in this direction.
  double now = 0;            ///< Bytes per second, averaged over the whole second.
  double while_copying = 0;  ///< Bytes per second, averaged over the time during which copies ran.
  double peak = 0;           ///< Peak rate of the link; 0: unknown.
  double busy = 0;           ///< Share of the second during which copies ran: 0..1.
};

struct gpu_row {
  std::string label;                       ///< "GPU 0"
  std::string name;                        ///< "NVIDIA H200"; may be empty.
  std::optional<std::uint64_t> used;       ///< Bytes in use, in the layer and kind of `metrics::memory`.
  std::int64_t change = 0;                 ///< Change of `used` in the last minute, in bytes.
  std::uint64_t reserved = 0;              ///< Bytes taken from the driver: `metrics::reserved_bytes`. 0: not recorded.
  std::optional<std::uint64_t> untracked;  ///< See `metrics::untracked_statistics`.
  std::optional<std::uint64_t> whole;      ///< Bytes used on the whole GPU, as sampled.
  std::uint64_t memory_bytes = 0;          ///< Size of the GPU's memory; 0: unknown.
  copy_rate to_device, to_host;
};

/// A process. If the process has memory on several GPUs, it has one row per GPU.
struct process_row {
  std::uint64_t pid = 0;
  std::int64_t rank = -1;
  std::string gpu;         ///< The row's GPU; empty: the process has no GPU memory.
  std::uint64_t used = 0;  ///< As in `gpu_row`.
  std::uint64_t reserved = 0;
  std::string command;  ///< Includes how the process ended, if it has ended.
};

/// Live memory that was allocated by one place, such as a line of code.
struct held_row {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  double share = 0;  ///< Share of all live memory: 0..1.
  std::string text;  ///< "train.py:12, make"
};

struct top_metrics {
  time_range span;
  bool complete = false;
  bool growing = false;
  bool simulated = false;
  std::optional<double> seconds_since;  ///< Seconds since the last event; null unless the recording is growing and the
                                        ///< clock is known.
  double seconds_behind = 0;            ///< How far the metrics lag behind the recording, because a long recording is
                                        ///< read incrementally.
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  std::uint64_t failed = 0;   ///< Failed allocations that were not retried successfully.
  time_range minute, second;  ///< Periods over which `change` and the rates are measured; shorter at the start of a
                              ///< recording.
  std::string memory;         ///< The memory that `used` counts: "framework layer, device memory". Empty: no memory was
                              ///< used.
  std::vector<gpu_row> gpus;
  std::vector<process_row> processes;  ///< Sorted by memory, largest first.
  std::string held_title;              ///< Title of `held`: "GPU 0, framework: device, by line".
  bool stacks = false;                 ///< Call stacks were recorded.
  std::vector<held_row> held;          ///< Sorted by bytes, largest first.
  std::vector<std::string> errors;     ///< Problems, worded as in the report, and read errors.
};

/// The queries about one recording. The engine's threads compute the results; call `ask` repeatedly to get them.
class queries {
 public:
  /// Returns the metrics of the engine's snapshot, or null until all of them are ready. `latest`: the current state of
  /// the file, which the engine may not have read yet. Errors: those of reading.
  [[nodiscard]] result<std::optional<top_metrics>> ask(query::engine& engine, const trace::snapshot& latest);

 private:
  using memory_of_device = std::tuple<trace::device_id, trace::layer, trace::memory_kind>;

  /// Returns the result of `query` if it is complete; otherwise sets `waiting_` or adds to `errors_`, and returns null.
  template <class Query>
  std::shared_ptr<const typename Query::result_type> settled(query::slot<Query>& slot, const Query& query);
  void put_gpus(top_metrics& into, const metrics::report& subject);
  void put_copies(top_metrics& into, const metrics::report& subject);
  void put_processes(top_metrics& into, const metrics::report& subject);
  void put_held(top_metrics& into, const metrics::report& subject);

  query::engine* engine_ = nullptr;  ///< Set only while `ask` runs.
  std::shared_ptr<const trace::snapshot> trace_;
  std::optional<metrics::judged_memory> judged_;
  bool waiting_ = false;
  std::vector<std::string> errors_;

  query::slot<query::report_query> report_;
  query::slot<query::tracks_query> tracks_;
  query::slot<query::statistics_query> minute_, second_;
  query::slot<query::stacks_query> held_;
  std::map<std::uint64_t, query::slot<query::series_query>> curves_;  ///< Keyed by track.
  std::map<memory_of_device, query::slot<query::memory_groups_query>> groups_;
};

}  // namespace sluice::cli::top
