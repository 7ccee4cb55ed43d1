#include "app/gui/window/tour.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include "imgui.h"

namespace sluice::gui {
namespace {

constexpr int max_frames = 100'000;
constexpr auto frame_interval = std::chrono::microseconds(16'667);

std::string next_word(std::string_view& rest) {
  const auto begin = rest.find_first_not_of(' ');
  if (begin == std::string_view::npos) return rest = {}, std::string();
  const auto end = std::min(rest.find(' ', begin), rest.size());
  std::string word(rest.substr(begin, end - begin));
  rest.remove_prefix(end);
  return word;
}

/// Parses a position or a number of notches: all of `text` must be a number within +-10,000.
std::optional<float> parse_place(std::string_view text) {
  float value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !(std::fabs(value) <= 10'000)) return {};
  return value;
}

/// The `share` quantile of `values`, which must be sorted and not empty.
double quantile(const std::vector<double>& values, double share) {
  const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(at, 1, values.size()) - 1];
}

std::vector<double> sorted_ms(const std::vector<frame_cost>& costs, double frame_cost::*which) {
  std::vector<double> values;
  for (const frame_cost& each : costs) values.push_back(each.*which * 1e3);
  std::sort(values.begin(), values.end());
  return values;
}

/// Performs the action of a step. Called before each frame. ImGui handles one event of each kind per frame, so a click
/// takes two frames.
result<void> act(picture& shown, const tour_step& step, const std::function<result<void>(const std::string&)>& invoke) {
  ImGuiIO& io = ImGui::GetIO();
  switch (step.action) {
    case tour_action::none:
      break;
    case tour_action::command:
      return invoke(step.command);
    case tour_action::mouse:
      shown.move_mouse(step.x, step.y);
      break;
    case tour_action::click:
      shown.move_mouse(step.x, step.y);
      io.AddMouseButtonEvent(ImGuiMouseButton_Left, true);
      io.AddMouseButtonEvent(ImGuiMouseButton_Left, false);
      break;
    case tour_action::wheel:
      io.AddMouseWheelEvent(0, step.y);
      break;
  }
  return {};
}

}  // namespace

result<tour_step> parse_tour_step(const std::string& text) {
  const auto wrong = [&](const char* why) {
    return fail(error_code::invalid_argument, fmt::format("'{}' is not a step: {}", text, why), "--step");
  };
  tour_step step;
  step.text = text;
  std::string_view rest = text;
  const std::string count = next_word(rest);
  step.until_done = count == "done";
  if (!step.until_done) {
    const auto read = std::from_chars(count.data(), count.data() + count.size(), step.frames);
    if (read.ec != std::errc() || read.ptr != count.data() + count.size() || step.frames < 1 ||
        step.frames > max_frames)
      return wrong("it must start with a number of frames from 1 to 100000, or with 'done'");
  }
  const std::string subject = next_word(rest);
  if (subject.empty()) return step;
  if (subject != "mouse" && subject != "click" && subject != "wheel") {
    step.action = tour_action::command;
    step.command = subject + std::string(rest);
    return step;
  }
  const std::string where = next_word(rest);
  if (!next_word(rest).empty()) return wrong("unexpected text after the last value");
  if (subject == "wheel") {
    step.action = tour_action::wheel;
    const auto notches = parse_place(where);
    if (!notches) return wrong("expected a number of notches");
    step.y = *notches;
    return step;
  }
  step.action = subject == "mouse" ? tour_action::mouse : tour_action::click;
  const auto comma = std::min(where.find(','), where.size());
  const auto x = parse_place(std::string_view(where).substr(0, comma));
  const auto y = parse_place(comma < where.size() ? std::string_view(where).substr(comma + 1) : std::string_view());
  if (!x || !y) return wrong("expected a position X,Y in pixels");
  step.x = *x;
  step.y = *y;
  return step;
}

result<tour_cost> run_tour_step(picture& shown, const tour_step& step, double timeout,
                                const std::function<result<void>(const std::string&)>& invoke) {
  using clock = std::chrono::steady_clock;
  tour_cost cost;
  if (step.until_done) {
    const auto begin = clock::now();
    if (auto acted = act(shown, step, invoke); !acted) return tl::unexpected(acted.error());
    if (!shown.settle(timeout)) return fail(error_code::io, "some queries did not complete in time", step.text);
    cost.done = std::chrono::duration<double>(clock::now() - begin).count();
    return cost;
  }
  auto next = clock::now();
  for (int i = 0; i < step.frames; ++i) {
    if (auto acted = act(shown, step, invoke); !acted) return tl::unexpected(acted.error());
    cost.frames.push_back(shown.step());
    cost.empty_frames.push_back(shown.step_empty());
    next = std::max(next + frame_interval, clock::now());
    std::this_thread::sleep_until(next);
  }
  return cost;
}

std::string get_words(const tour_cost& cost) {
  if (cost.frames.empty()) return fmt::format("done after {:.3f} s", cost.done);
  const std::vector<double> values = sorted_ms(cost.frames, &frame_cost::whole);
  const std::vector<double> own = sorted_ms(cost.frames, &frame_cost::own_processor);
  const std::vector<double> processor = sorted_ms(cost.frames, &frame_cost::processor);
  std::vector<double> empty = cost.empty_frames;
  std::sort(empty.begin(), empty.end());
  const double least = quantile(empty, 0.5) * 1e3;
  std::string text =
      fmt::format("frames {}, fastest {:.2f} ms, median {:.2f} ms, 99th percentile {:.2f} ms, slowest {:.2f} ms",
                  values.size(), values.front(), quantile(values, 0.5), quantile(values, 0.99), values.back());
  text += fmt::format("; processor {:.2f} ms, at least {:.2f} ms", quantile(processor, 0.5), processor.front());
  text += fmt::format("; our part {:.2f} ms, 99th percentile {:.2f} ms", quantile(own, 0.5), quantile(own, 0.99));
  text += fmt::format("; clear and text {:.2f} ms, ratio {:.1f}", least, quantile(values, 0.5) / std::max(least, 1e-6));
  return text;
}

}  // namespace sluice::gui
