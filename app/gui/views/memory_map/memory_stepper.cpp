#include "app/gui/views/memory_map/memory_stepper.hpp"

namespace sluice::gui {

void memory_stepper::add_commands(const command_home& home) {
  static constexpr command_row<acts_on<memory_stepper>> rows[] = {{.id = "moment.previous",
                                                                   .title = "Previous allocation event",
                                                                   .group = "Memory",
                                                                   .icon = icon::previous,
                                                                   .keys = {ImGuiKey_Comma},
                                                                   .repeats = true,
                                                                   .run = [](auto& at, auto&) { at.self.step(false); },
                                                                   .enabled = when_ready},
                                                                  {.id = "moment.next",
                                                                   .title = "Next allocation event",
                                                                   .group = "Memory",
                                                                   .icon = icon::next,
                                                                   .keys = {ImGuiKey_Period},
                                                                   .repeats = true,
                                                                   .run = [](auto& at, auto&) { at.self.step(true); },
                                                                   .enabled = when_ready}};
  home.commands.add(rows, acts_on<memory_stepper>{home, *this});
}

void memory_stepper::step(bool forward) {
  if (!direction_) direction_ = forward;
}

void memory_stepper::reset() {
  direction_.reset();
  query_ = {};
  stepped_ = nullptr;
}

void memory_stepper::follow(const view_context& with, time_ns moment, std::optional<trace::device_id> device) {
  if (!direction_) return;
  const document& active = *with.state.active();
  const auto result = query_.ask(*active.engine, {moment, *direction_, device});
  if (result.failure) return cancel();
  if (!result || result->since != moment || result->forward != *direction_) return;
  if (!result.complete && !active.live) return;
  cancel();
  if (result->time == trace::unknown_time) return;
  stepped_ = result.value;
  with.commands.invoke("moment.set", time_range{result->time, result->time});
}

const query::memory_step* memory_stepper::find_step(time_ns moment) const {
  return stepped_ != nullptr && stepped_->time == moment ? stepped_.get() : nullptr;
}

}  // namespace sluice::gui
