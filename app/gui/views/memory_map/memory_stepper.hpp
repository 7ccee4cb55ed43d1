#pragma once

#include <memory>
#include <optional>

#include "app/gui/views/parts/view.hpp"
#include "core/query/types/memory_map.hpp"

namespace sluice::gui {

/// Goes from a moment to the next or previous allocation or free.
class memory_stepper {
 public:
  void add_commands(const command_home& home);
  /// Goes to the next (if `forward`) or previous event, once the event is known. Does nothing if a step is pending.
  void step(bool forward);
  /// Discards the pending step.
  void cancel() { direction_.reset(); }
  /// Discards the pending step and the last result.
  void reset();
  /// True while a step is pending.
  [[nodiscard]] bool busy() const { return direction_.has_value(); }
  /// Completes the pending step from `moment` once its event is known. `device`: the device whose memory is shown.
  void follow(const view_context& with, time_ns moment, std::optional<trace::device_id> device);
  /// The last step, if it led to `moment`; otherwise null.
  [[nodiscard]] const query::memory_step* find_step(time_ns moment) const;

 private:
  std::optional<bool> direction_;  ///< Direction of the pending step: true is forward; none: no step is pending.
  screen_slot<query::memory_step_query> query_;
  std::shared_ptr<const query::memory_step> stepped_;  ///< The result of the last step.
};

}  // namespace sluice::gui
