// sluice screenshot: draws the window to an image file, without a display.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/cli/demo/demos_of_program.hpp"
#include "app/cli/options/number_option.hpp"
#include "app/cli/options/range_option.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"
#include "app/cli/output/output_file.hpp"
#include "app/cli/window/screenshot.hpp"
#include "app/cli/window/this_machine.hpp"
#include "app/gui/gl/png.hpp"
#include "app/gui/window/picture.hpp"
#include "app/gui/window/tour.hpp"
#include "core/base/files/privacy.hpp"
#include "core/base/freed_memory.hpp"

namespace sluice::cli {
namespace {

constexpr double timeout_seconds = 120;  // Give up an incomplete picture after this many seconds without progress.
constexpr int smallest_side = 64;
constexpr int largest_side = 8192;
constexpr double longest_wait = 3600;  // In seconds.

struct screenshot_options {
  std::string file;
  std::string out;
  std::string size = "1600x900";
  std::string range;
  std::vector<std::string> sources_from;
  std::string theme = "dark";
  std::string view;
  bool force = false;
  double scale = 1;
  int frames = 0;
  std::vector<std::string> steps;     ///< See gui::parse_tour_step.
  std::vector<std::string> commands;  ///< "ID" or "ID=ARGUMENT", run in this order.
  std::string wait = "0";             ///< Seconds to keep drawing. A demo that a command started runs during this time.
  std::string mouse;                  ///< "X,Y": mouse position.
};

result<std::pair<int, int>> parse_size(const std::string& text) {
  int width = 0;
  int height = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, width);
  const auto second = first.ptr < end && *first.ptr == 'x' ? std::from_chars(first.ptr + 1, end, height) : first;
  if (second.ptr != end || width < smallest_side || height < smallest_side || width > largest_side ||
      height > largest_side)
    return fail(error_code::invalid_argument,
                fmt::format("invalid size '{}'; expected WxH in pixels, such as 1600x900, each side {} to {}", text,
                            smallest_side, largest_side),
                "--size");
  return std::pair(width, height);
}

/// Parses "X,Y" in pixels; nullopt if the text is invalid.
std::optional<std::pair<float, float>> parse_place(const std::string& text) {
  const auto comma = text.find(',');
  if (comma == std::string::npos) return std::nullopt;
  const auto x = parse_number(text.substr(0, comma));
  const auto y = parse_number(text.substr(comma + 1));
  if (!x || !y || *x > largest_side || *y > largest_side) return std::nullopt;
  return std::pair(static_cast<float>(*x), static_cast<float>(*y));
}

/// Parses "ID" or "ID=ARGUMENT", where ARGUMENT is a range, "event:N", "block:N" or any other text.
std::pair<std::string, gui::argument> parse_command(const std::string& text, time_range whole) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) return {text, {}};
  const std::string id = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  if (const auto range = parse_range(value, whole)) return {id, *range};
  for (const auto& [prefix, kind] :
       {std::pair{"event:", gui::selection_kind::event}, {"block:", gui::selection_kind::block}})
    if (const auto number = value.rfind(prefix, 0) == 0 ? parse_whole(value.substr(6)) : std::nullopt)
      return {id, gui::selection{gui::document_id::none, kind, *number}};
  return {id, value};
}

/// The steps to measure. --frames adds a step that only draws.
result<std::vector<gui::tour_step>> parse_steps(const screenshot_options& wanted) {
  std::vector<gui::tour_step> steps;
  if (wanted.frames > 0) steps.push_back({.frames = wanted.frames});
  for (const std::string& each : wanted.steps) {
    auto step = gui::parse_tour_step(each);
    if (!step) return tl::unexpected(step.error());
    steps.push_back(std::move(*step));
  }
  return steps;
}

/// Runs the steps one after another. Prints the cost of each step, and then the cost of all frames.
result<void> take_tour(gui::picture& shown, const std::vector<gui::tour_step>& steps,
                       const std::function<result<void>(const std::string&)>& invoke) {
  gui::tour_cost tour_cost;
  for (const gui::tour_step& step : steps) {
    const auto cost = gui::run_tour_step(shown, step, timeout_seconds, invoke);
    if (!cost) return tl::unexpected(cost.error());
    if (steps.size() > 1 || step.until_done) say(step.text + ": " + gui::get_words(*cost));
    tour_cost.frames.insert(tour_cost.frames.end(), cost->frames.begin(), cost->frames.end());
    tour_cost.empty_frames.insert(tour_cost.empty_frames.end(), cost->empty_frames.begin(), cost->empty_frames.end());
  }
  if (tour_cost.frames.empty()) return {};
  say(gui::get_words(tour_cost));
  shown.step();  // The last frame of the tour may have been an empty one.
  return {};
}

result<void> draw(const screenshot_options& wanted) {
  keep_freed_memory();
  const auto size = parse_size(wanted.size);
  if (!size) return tl::unexpected(size.error());
  // The help does not list this option, so CLI11's checks would not name it.
  const auto seconds = parse_number(wanted.wait);
  if (!seconds || *seconds > longest_wait)
    return fail(error_code::invalid_argument,
                fmt::format("invalid value '{}'; expected seconds up to {}", wanted.wait, longest_wait), "--wait");
  const auto steps = parse_steps(wanted);
  if (!steps) return tl::unexpected(steps.error());
  const auto mouse = parse_place(wanted.mouse);
  if (!wanted.mouse.empty() && !mouse)
    return fail(error_code::invalid_argument, "invalid position '" + wanted.mouse + "'; expected X,Y", "--mouse");
  if (!wanted.out.empty())
    if (auto possible = check_output(wanted.out, picture_kind(), wanted.force, std::span(&wanted.file, 1)); !possible)
      return possible;
  privacy::keep_as_private_as(wanted.file);
  gui::picture_options options;
  options.width = size->first;
  options.height = size->second;
  options.scale = static_cast<float>(wanted.scale);
  options.theme = wanted.theme == "light" ? gui::theme_kind::light : gui::theme_kind::dark;
  gui::application_options content;
  content.demos = demos_of_program();
  describe_machine(content.around);
  content.sources_from = wanted.sources_from;
  if (!wanted.file.empty()) content.files.push_back(wanted.file);
  auto output = gui::picture::create(options, std::move(content));
  if (!output) return tl::unexpected(output.error());
  gui::picture& shown = **output;
  if (!wanted.view.empty() && !shown.app().show_only(wanted.view))
    return fail(error_code::not_found, "no view named '" + wanted.view + "'", "--view",
                fmt::format("choose one of {}", fmt::join(shown.app().panels().names(), ", ")));
  const auto settle = [&]() -> result<void> {
    if (!shown.settle(timeout_seconds))
      return fail(error_code::io, "drawing made no progress for two minutes", wanted.file, "try a shorter --range");
    if (!shown.app().notices().failures().empty()) return tl::unexpected(shown.app().notices().failures().front());
    return {};
  };
  if (auto settled = settle(); !settled) return settled;
  const gui::document* document = shown.app().state().active();
  const time_range whole = document != nullptr ? document->span : time_range{0, 1};
  if (!wanted.range.empty()) {
    const auto range = parse_range(wanted.range, whole);
    if (!range) return tl::unexpected(range.error());
    shown.app().invoke("timeline.show", *range);
    if (auto settled = settle(); !settled) return settled;
  }
  const auto invoke = [&](const std::string& text) -> result<void> {
    auto [id, with] = parse_command(text, whole);
    if (shown.app().commands().find(id) == nullptr)
      return fail(error_code::invalid_argument, "no command named '" + id + "'");
    shown.app().invoke(id, std::move(with));
    return {};
  };
  for (const std::string& each : wanted.commands) {
    if (auto known = invoke(each); !known) return known;
    if (auto settled = settle(); !settled) return settled;
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(*seconds);
  while (std::chrono::steady_clock::now() < until) {
    shown.step();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  if (mouse) {
    shown.move_mouse(mouse->first, mouse->second);
    for (int i = 0; i < 60; ++i) shown.step();  // Draw until tooltips appear, which takes a moment.
    if (auto settled = settle(); !settled) return settled;
  }
  if (auto taken = take_tour(shown, *steps, invoke); !taken) return taken;
  return wanted.out.empty() ? result<void>{} : gui::gl::write_png(shown.read(), wanted.out);
}

}  // namespace

result<std::string> picture_as_png(const picture_wanted& wanted) {
  std::error_code problem;
  std::string folder = (std::filesystem::temp_directory_path(problem) / "sluice-picture-XXXXXX").string();
  if (problem || mkdtemp(folder.data()) == nullptr)
    return fail(error_code::io, "cannot create a temporary folder: " + describe_errno(errno), folder);
  screenshot_options options;
  options.file = wanted.file;
  options.size = wanted.size;
  options.range = wanted.range;
  options.view = wanted.view;
  options.out = folder + "/picture.png";
  const auto drawn = draw(options);
  std::string bytes;
  if (drawn) {
    std::ifstream in(options.out, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::filesystem::remove_all(folder, problem);
  if (!drawn) return tl::unexpected(drawn.error());
  if (bytes.empty()) return fail(error_code::io, "cannot read the picture back", options.out);
  return bytes;
}

action declare_screenshot(CLI::App& command) {
  auto wanted = std::make_shared<screenshot_options>();
  command.add_option("FILE", wanted->file, "Recording to draw (default: the welcome screen)")->type_name("");
  command.add_option("-o,--output", wanted->out, "PNG file to write")->check(output_name())->type_name("FILE");
  command.add_flag("--force", wanted->force, force_help);
  command.add_option("--size", wanted->size, "Size in pixels")->type_name("WxH")->capture_default_str();
  command.add_option("--range", wanted->range, range_help)->type_name("FROM:TO");
  add_sources_option(command, wanted->sources_from);
  choose(command.add_option("--theme", wanted->theme, "Colour theme"), "dark|light")->capture_default_str();
  command
      .add_option("--view", wanted->view,
                  "Draw only this panel: timeline, summary, details, statistics, blocks, memory-map, stacks, what-if, "
                  "memory-over-time, transfers, idle-gaps, ranks, search, query, messages")
      ->type_name("NAME");
  command.add_option("--scale", wanted->scale, "Scale of text and spacing, for dense displays")
      ->check(number_between(0.5, 4))
      ->type_name("FACTOR")
      ->capture_default_str();
  command.add_option("--frames", wanted->frames, "Draw this many additional frames and print their times")
      ->check(whole_between(1, 100'000))
      ->type_name("COUNT");
  // These options are for pictures in documents and for bug reports. The help does not list them.
  command.add_option("--run", wanted->commands, "Run this command of the window first")->group("");
  command.add_option("--step", wanted->steps, "Then run this step and print frame times; can be repeated")->group("");
  command.add_option("--wait", wanted->wait, "Continue drawing for this many seconds")->group("");
  command.add_option("--mouse", wanted->mouse, "Mouse position, X,Y")->group("");
  return [wanted] {
    if (wanted->out.empty() && wanted->frames == 0 && wanted->steps.empty()) {
      complain("screenshot: no output named; add -o picture.png");
      return status_usage;
    }
    if (auto drawn = draw(*wanted); !drawn) return complain_of(drawn.error());
    return 0;
  };
}

}  // namespace sluice::cli
