#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/query/answers/answer_functions.hpp"
#include "core/query/engine/long_answer.hpp"
#include "core/replay/policy.hpp"
#include "core/replay/recorded_events.hpp"
#include "core/replay/requests.hpp"

/// Replays a recording's requests under other settings of the allocator. Private to core/query.
namespace sluice::query {

/// The replay in steps: the sections one after another, then the policies.
class replayer final : public long_answer<what_if_curves> {
 public:
  /// Reads the sections of the file; `from.stored->sections` must be set. What `from` refers to must outlive this.
  explicit replayer(const sources& from);
  /// Takes the blocks of `from.index` instead, which holds the whole recording.
  struct whole {};
  replayer(const sources& from, whole);

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
  const analysis::section_reader* reader_ = nullptr;  ///< Null: everything has been read.
  const std::function<bool()> goes_on_;
  std::size_t next_section_ = 0;
  replay::recorded_events_builder events_;
  bool requests_found_ = false;
  std::vector<replay::allocator_requests> requests_;
  std::vector<replay::policy> policies_;
  std::shared_ptr<const analysis::tensor_facts> facts_;  ///< Of the whole recording; null: not known.
  std::vector<trace::alloc_failed_event> failed_;        ///< That reached the program.
  std::size_t next_replay_ = 0;                          ///< Of all policies for all allocators.
  what_if_curves made_;
};

}  // namespace sluice::query
