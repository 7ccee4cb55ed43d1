#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/query/engine/long_result.hpp"
#include "core/query/results/result_functions.hpp"
#include "core/replay/policy.hpp"
#include "core/replay/recorded_events.hpp"
#include "core/replay/requests.hpp"

/// Replays a recording's allocation requests with other settings of the allocator, which are called policies. The
/// result is the memory that the allocator would have reserved under each policy. Private to core/query.
namespace sluice::query {

/// Runs the replay in steps: first reads one section per step, then replays one policy per step.
class replayer final : public long_result<what_if_curves> {
 public:
  /// Reads the sections of the file; `from.stored->sections` must be set. Objects that `source` refers to must outlive
  /// this object.
  explicit replayer(const sources& source);
  /// With `whole`, reads no sections but uses the blocks of `from.index`, which must cover the whole recording.
  struct whole {};
  replayer(const sources& source, whole);

  [[nodiscard]] result<bool> work(std::chrono::steady_clock::time_point deadline,
                                  const std::atomic<bool>& cancelled) override;
  [[nodiscard]] float progress() const override;
  [[nodiscard]] result<what_if_curves> so_far(bool& provisional) override;

 private:
  [[nodiscard]] std::size_t sections() const;
  result<void> read_next();
  void find_requests();
  void replay_next();

  const trace::snapshot& trace_;
  const summary::section_reader* reader_ = nullptr;  ///< Null if the blocks of the index are used.
  const std::function<bool()> goes_on_;
  std::size_t next_section_ = 0;
  replay::recorded_events_builder events_;
  bool requests_found_ = false;
  std::vector<replay::allocator_requests> requests_;
  std::vector<replay::policy> policies_;
  std::shared_ptr<const index::tensor_facts> facts_;  ///< Facts of the whole recording; null if unknown.
  std::vector<trace::alloc_failed_event> failed_;     ///< Failures that were reported to the program.
  std::size_t next_replay_ = 0;                       ///< The number of policies replayed so far, over all allocators.
  what_if_curves made_;
};

}  // namespace sluice::query
