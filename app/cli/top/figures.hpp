#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/figures/check/check.hpp"
#include "core/figures/report.hpp"
#include "core/query/answers/panels/memory_groups.hpp"
#include "core/query/engine/engine.hpp"

/// What `sluice top` shows of a recording. Every number comes from an answer that the window also gets.
namespace sluice::cli::top {

/// Copies in one direction between a GPU and the host, in the last second.
struct copy_rate {
  bool known = false;        ///< There were copies at some time.
  double now = 0;            ///< Bytes per second, over the whole second.
  double while_copying = 0;  ///< Bytes per second of the time with copies.
  double peak = 0;           ///< Of the link; 0: unknown.
  double busy = 0;           ///< The share of the second with copies: 0..1.
};

struct gpu_row {
  std::string label;                       ///< "GPU 0"
  std::string name;                        ///< "NVIDIA H200"; may be empty.
  std::optional<std::uint64_t> used;       ///< Of the layer and kind in `figures::memory`.
  std::int64_t change = 0;                 ///< Of `used`, in the last minute.
  std::uint64_t reserved = 0;              ///< Got from the driver: `analysis::reserved_bytes`. 0: not recorded.
  std::optional<std::uint64_t> untracked;  ///< See `analysis::untracked_statistics`.
  std::optional<std::uint64_t> whole;      ///< In use on the whole GPU, as sampled.
  std::uint64_t memory_bytes = 0;          ///< 0: unknown.
  copy_rate to_device, to_host;
};

/// A process, on one GPU where it has memory on several.
struct process_row {
  std::uint64_t pid = 0;
  std::int64_t rank = -1;
  std::string gpu;         ///< Empty: it has no memory on any.
  std::uint64_t used = 0;  ///< As of `gpu_row`.
  std::uint64_t reserved = 0;
  std::string command;  ///< With how it ended, if it did.
};

/// Memory that is live now, by who asked for it.
struct held_row {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  double share = 0;  ///< Of all that is live: 0..1.
  std::string text;  ///< "train.py:12, make"
};

struct figures {
  analysis::time_range span;
  bool complete = false;
  bool growing = false;
  bool simulated = false;
  std::optional<double> seconds_since;  ///< Since the last event, if it grows and the clock is known.
  double seconds_behind = 0;            ///< How much older the figures are: a long recording is read in turns.
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  std::uint64_t failed = 0;             ///< Allocations that failed, without those that were retried.
  analysis::time_range minute, second;  ///< What `change` and the rates are of; shorter at the begin of a recording.
  std::string memory;  ///< What `used` is of: "framework layer, device memory". Empty: nothing was used.
  std::vector<gpu_row> gpus;
  std::vector<process_row> processes;  ///< Most memory first.
  std::string held_title;              ///< What `held` is of: "GPU 0, framework: device, by line".
  bool stacks = false;                 ///< Call stacks were recorded.
  std::vector<held_row> held;          ///< Most bytes first.
  std::vector<std::string> errors;     ///< What is wrong, in the words of the report, and what could not be read.
};

/// The questions about one recording. Ask again and again: the answers come from the engine's threads.
class questions {
 public:
  /// Returns the figures of the engine's snapshot, or nothing before all of them are ready. `latest`: the file as it is
  /// now, which the engine may not have read yet. Errors: of reading.
  [[nodiscard]] result<std::optional<figures>> ask(query::engine& from, const trace::snapshot& latest);

 private:
  using memory_of_device = std::tuple<trace::device_id, trace::layer, trace::memory_kind>;

  /// The answer if it is complete; sets `waiting_` or adds to `errors_` otherwise.
  template <class Question>
  std::shared_ptr<const typename Question::answer_type> settled(query::slot<Question>& slot, const Question& question);
  void put_gpus(figures& into, const analysis::report& of);
  void put_copies(figures& into, const analysis::report& of);
  void put_processes(figures& into, const analysis::report& of);
  void put_held(figures& into, const analysis::report& of);

  query::engine* engine_ = nullptr;  ///< While `ask` runs.
  std::shared_ptr<const trace::snapshot> trace_;
  std::optional<analysis::judged_memory> judged_;
  bool waiting_ = false;
  std::vector<std::string> errors_;

  query::slot<query::report_question> report_;
  query::slot<query::tracks_question> tracks_;
  query::slot<query::statistics_question> minute_, second_;
  query::slot<query::stacks_question> held_;
  std::map<std::uint64_t, query::slot<query::series_question>> curves_;  ///< By track.
  std::map<memory_of_device, query::slot<query::memory_groups_question>> groups_;
};

}  // namespace sluice::cli::top
