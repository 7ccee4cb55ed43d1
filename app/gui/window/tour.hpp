#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/window/picture.hpp"

/// Scripted use of the window, for benchmarks: `sluice screenshot --step`, which tests/bench/app_frames.py runs.
namespace sluice::gui {

enum class tour_action : std::uint8_t {
  none,     ///< Only draw.
  command,  ///< Run a command.
  mouse,    ///< Move the mouse.
  click,    ///< Move the mouse, and press and release its left button.
  wheel     ///< Turn the mouse wheel.
};

struct tour_step {
  std::string text{};       ///< The step as the user wrote it, for output.
  int frames = 1;           ///< Number of frames to draw. The action is taken before each frame.
  bool until_done = false;  ///< Ignores `frames`: takes the action once, then draws until all queries are complete.
  tour_action action = tour_action::none;
  std::string command{};  ///< "ID" or "ID=ARGUMENT".
  float x = 0, y = 0;     ///< The mouse position in pixels. For the wheel, `y` is the number of notches.
};

/// Parses "[COUNT|done] [COMMAND | mouse X,Y | click X,Y | wheel NOTCHES]", as in "60 timeline.zoom_in". Errors:
/// invalid_argument.
[[nodiscard]] result<tour_step> parse_tour_step(const std::string& text);

/// The cost of a step.
struct tour_cost {
  std::vector<frame_cost> frames;
  std::vector<double> empty_frames;  ///< Durations of `picture::step_empty`, in seconds. The empty frames alternate
                                     ///< with the others.
  double done = 0;                   ///< If `until_done`: seconds until all queries were complete and their results
                                     ///< drawn.
};

/// Runs one step. Frames start 1/60 s apart, as on a desktop; if a frame takes longer, the next starts at once. Queries
/// run meanwhile. `invoke` queues a command of the window. `timeout`: limit on the seconds without progress while
/// waiting for results. Errors: those of `invoke`; io after the timeout.
[[nodiscard]] result<tour_cost> run_tour_step(picture& shown, const tour_step& step, double timeout,
                                              const std::function<result<void>(const std::string&)>& invoke);

/// Describes a cost in one line: wall-clock times of the frames; the medians of a frame's CPU time, in all threads and
/// in our code without the GL; the median of the empty frames, and its ratio to the median frame.
[[nodiscard]] std::string get_words(const tour_cost& cost);

}  // namespace sluice::gui
