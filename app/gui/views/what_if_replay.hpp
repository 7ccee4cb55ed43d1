#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/views/view.hpp"

namespace sluice::gui {

struct time_chart;

/// The replay of an allocator's requests under other settings. The panels that show it share one, so that it is worked
/// out once.
class what_if_replay {
 public:
  /// Goes on with the replay; call in each frame that shows it. Nothing while it is stopped.
  void ask(const view_context& with);
  /// The answer, perhaps in part; null: none yet.
  [[nodiscard]] const std::shared_ptr<const query::what_if_curves>& shown() const { return shown_; }
  [[nodiscard]] const std::optional<error>& failure() const { return failure_; }
  [[nodiscard]] bool replaying() const { return replaying_; }
  [[nodiscard]] float progress() const { return progress_; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  void stop();
  /// Lets `ask` begin again after `stop`.
  void resume() { stopped_ = false; }
  /// Forgets the answer: another recording is shown.
  void reset();

 private:
  screen_slot<query::what_if_question> question_;
  std::shared_ptr<const query::what_if_curves> shown_;
  std::optional<error> failure_;
  float progress_ = 0;
  bool replaying_ = false;
  bool stopped_ = false;  ///< By the user, before the end.
};

/// The colour of a policy's curve, by its place in `replayed_allocator::policies`.
[[nodiscard]] ImU32 policy_colour(std::size_t policy, const theme& colours);

/// Which part of `curves.span` holds `time`; none outside.
[[nodiscard]] std::optional<std::size_t> replayed_part_at(const query::what_if_curves& curves, query::time_ns time);

/// When a part of `curves.span` begins.
[[nodiscard]] query::time_ns replayed_time_of(const query::what_if_curves& curves, std::size_t part);

/// Draws the reserved bytes of a policy into `at`, which may show another time than the replay is of. O(parts).
void draw_reserved(const time_chart& at, const query::what_if_curves& curves, const query::replayed_policy& policy,
                   ImU32 colour, float thickness);

}  // namespace sluice::gui
