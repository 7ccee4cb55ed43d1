#include "app/gui/shell/panels/start_screen.hpp"

#include "app/gui/views/parts/widgets.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {

void start_screen::draw(view_context& with) {
  const document* shown = with.state.active();
  const recorder_process& process = recorder_.process();
  if (shown != nullptr && shown->engine) {
    empty_state(with, icon::chart, shown->live ? "Waiting for the first event" : "This recording is empty",
                shown->live ? "The recording has started; no events yet."
                            : "It contains no events. `sluice report` prints the messages in the file.");
  } else if (with.state.opening() || (process.running() && recorder_.has_tried_to_open())) {
    empty_state(with, icon::file, "Opening...", printable(with.state.loader().path()));
  } else if (process.running()) {
    empty_state(with, icon::play, process.is_demo() ? "Starting the demo" : "Waiting for the first event",
                process.name());
  } else {
    welcome_.draw(with, settings_, recordings_, options_.demos, options_.around);
  }
}

}  // namespace sluice::gui
