#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/window/picture.hpp"

/// Scripted use of the window, for measurements: `sluice screenshot --step`, run by tests/bench/app_frames.py.
namespace sluice::gui {

enum class tour_action : std::uint8_t {
  none,     ///< Only draw.
  command,  ///< Run a command.
  mouse,    ///< Move the mouse.
  click,    ///< Move the mouse, and press and release its left button.
  wheel     ///< Turn the mouse wheel.
};

struct tour_step {
  std::string text{};       ///< As it was written, for output.
  int frames = 1;           ///< The action is taken before each of so many frames.
  bool until_done = false;  ///< Instead, once; then wait until all queries are answered.
  tour_action action = tour_action::none;
  std::string command{};  ///< "ID" or "ID=ARGUMENT".
  float x = 0, y = 0;     ///< Of the mouse, in pixels; for the wheel, y is the number of notches.
};

/// Parses "[COUNT|done] [COMMAND | mouse X,Y | click X,Y | wheel NOTCHES]", as in "60 timeline.zoom_in". Errors:
/// invalid_argument.
[[nodiscard]] result<tour_step> parse_tour_step(const std::string& text);

/// What a step cost.
struct tour_cost {
  std::vector<frame_cost> frames;
  std::vector<double> empty_frames;  ///< Seconds of `picture::step_empty`, by turns with the frames.
  double done = 0;                   ///< With `until_done`: seconds until all was answered and drawn.
};

/// Takes one step. Frames begin 1/60 s apart, as on a desktop, or at once if the last one took longer; queries run
/// meanwhile. `invoke` queues a command of the window. `timeout`: seconds to wait for answers without progress. Errors:
/// those of `invoke`; io after the timeout.
[[nodiscard]] result<tour_cost> run_tour_step(picture& shown, const tour_step& step, double timeout,
                                              const std::function<result<void>(const std::string&)>& invoke);

/// One line: wall-clock times of frames; processor time of a frame in all threads, and that of our part without the GL,
/// medians; the median of empty frames, and how many of those the median frame takes.
[[nodiscard]] std::string words_of(const tour_cost& cost);

}  // namespace sluice::gui
