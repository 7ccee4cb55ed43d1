#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/views/chart/chart_model.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// The replay of the requests to the recording's allocators under other settings. The panels that show the replay share
/// one object, so that it is computed only once.
class what_if_replay {
 public:
  /// Starts or continues the replay. Call in each frame that shows it. Does nothing while the replay is stopped.
  void ask(const view_context& with);
  /// The result, which may be partial; null if there is none yet.
  [[nodiscard]] const std::shared_ptr<const query::what_if_curves>& shown() const { return shown_; }
  [[nodiscard]] const std::optional<error>& failure() const { return failure_; }
  [[nodiscard]] bool replaying() const { return replaying_; }
  [[nodiscard]] float progress() const { return progress_; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  void stop();
  /// Lets `ask` continue after a `stop`.
  void resume() { stopped_ = false; }
  /// Discards the result. Call when another recording is shown.
  void reset();

 private:
  screen_slot<query::what_if_query> query_;
  std::shared_ptr<const query::what_if_curves> shown_;
  std::optional<error> failure_;
  float progress_ = 0;
  bool replaying_ = false;
  bool stopped_ = false;  ///< The user stopped the replay before it was complete.
};

/// The colour of a policy's curve. `policy`: index into `replayed_allocator::policies`.
[[nodiscard]] ImU32 policy_colour(std::size_t policy, const theme& colours);

/// The name of a policy in the window: "current" for "native", "ideal packing" for "best fit".
[[nodiscard]] std::string setting_name(const std::string& policy);

/// The index of the part of `curves.span` that contains `time`; none if `time` is outside the span.
[[nodiscard]] std::optional<std::size_t> replayed_part_at(const query::what_if_curves& curves, time_ns time);

/// The time at which a part of `curves.span` starts.
[[nodiscard]] time_ns get_replayed_time(const query::what_if_curves& curves, std::size_t part);

/// A policy's reserved bytes as a curve. `origin`: the time at position 0 of the chart's axis. O(parts).
[[nodiscard]] chart_series make_reserved_curve(const query::what_if_curves& curves,
                                               const query::replayed_policy& policy, time_ns origin, ImU32 colour);

/// The chart of an allocator's reserved memory under each policy, in reverse order, so that the current setting is in
/// front. `hidden`: true for each policy to leave out; may be shorter. `highlighted`: a policy that is in front while
/// the others are dimmed. The arguments except `hidden` must outlive the model.
[[nodiscard]] chart_model make_what_if_model(const query::what_if_curves& curves,
                                             const query::replayed_allocator& allocator,
                                             const std::vector<bool>& hidden, std::optional<std::size_t> highlighted,
                                             const theme& colours);

}  // namespace sluice::gui
