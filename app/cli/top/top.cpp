// sluice top: shows the metrics of a recording in the terminal while the recording is written.
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/cli/options/number_option.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/top/metrics.hpp"
#include "app/cli/top/terminal.hpp"
#include "app/cli/top/view.hpp"
#include "app/processes/running_recordings.hpp"

namespace sluice::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct top_options {
  std::string file;
  std::vector<std::string> sources_from;
  bool once = false;
  double interval = 2;
};

/// Time between two requests for results that are not ready.
constexpr int poll_milliseconds = 50;

/// Do not wait longer than this for a refresh; it then summarizes a long recording.
constexpr milliseconds longest_refresh{500};

result<std::shared_ptr<trace::file>> open_watched(const std::string& path, const top_options& wanted) {
  return open_recording(path, wanted_of_recording::metrics, &wanted.sources_from);
}

/// A recording, and the queries about it.
class watched {
 public:
  watched(const std::string& path, std::shared_ptr<trace::file> file)
      : title_(std::filesystem::path(path).filename().string()),
        file_(std::move(file)),
        engine_(file_, {.threads = 1, .wake = {}}) {}

  /// Reads the data that was written since the last call.
  void refresh() {
    engine_.refresh();
    refreshed_ = steady_clock::now();
  }

  /// Requests the results. Returns true if there are new metrics.
  result<bool> update() {
    if (engine_.busy() && steady_clock::now() - refreshed_ < longest_refresh) return false;
    auto found = queries_.ask(engine_, *file_->latest());
    if (!found) return tl::unexpected(found.error());
    if (!*found) return false;
    const auto now = steady_clock::now();
    rate_.reset();
    if (shown_ && (*found)->growing) {
      const double seconds = std::chrono::duration<double>(now - when_).count();
      if (seconds > 0 && (*found)->events >= shown_->events)
        rate_ = static_cast<double>((*found)->events - shown_->events) / seconds;
    }
    shown_ = std::move(**found);
    when_ = now;
    return true;
  }

  [[nodiscard]] std::vector<top::view_line> view(std::size_t columns, std::size_t rows) const {
    if (!shown_) return {{"Reading " + title_ + "..."}};
    return top::make_view(*shown_, {title_, rate_, columns, rows});
  }

 private:
  std::string title_;
  std::shared_ptr<trace::file> file_;
  query::engine engine_;
  top::queries queries_;  ///< Declared after the engine, so that it is destroyed first.
  std::optional<top::top_metrics> shown_;
  std::optional<double> rate_;
  steady_clock::time_point when_;
  steady_clock::time_point refreshed_{};
};

/// The paths of the recordings to show.
result<std::vector<std::string>> chosen(const top_options& wanted) {
  if (!wanted.file.empty()) return std::vector{wanted.file};
  std::vector<std::string> files;
  for (const processes::running_recording& each : processes::running_recordings())
    if (std::error_code unknown; !each.file.empty() && std::filesystem::exists(each.file, unknown))
      files.push_back(each.file);
  if (files.empty())
    return fail(error_code::not_found, "no `sluice record` of this user is running on this machine", {},
                "name a recording: sluice top FILE");
  return files;
}

result<int> print_once(const std::vector<std::string>& files, const top_options& wanted) {
  constexpr std::size_t no_limit = 1 << 20;
  for (const std::string& file : files) {
    auto opened = open_watched(file, wanted);
    if (!opened) return tl::unexpected(opened.error());
    watched recording(file, std::move(*opened));
    for (bool ready = false; !ready;) {
      const auto updated = recording.update();
      if (!updated) return tl::unexpected(updated.error());
      ready = *updated;
      if (!ready) std::this_thread::sleep_for(milliseconds(10));
    }
    if (file != files.front()) say("");
    for (const top::view_line& line : recording.view(no_limit, no_limit)) say(line.text);
  }
  return 0;
}

/// Shows the recordings, one at a time, until the user quits.
result<int> show(const std::vector<std::string>& files, const top_options& wanted) {
  std::size_t place = 0;
  auto opened = open_watched(files[place], wanted);
  if (!opened) return tl::unexpected(opened.error());
  top::screen screen;
  auto recording = std::make_unique<watched>(files[place], std::move(*opened));
  const std::string keys =
      files.size() < 2 ? "q: quit" : fmt::format("q: quit, Tab: next of {} recordings", files.size());
  auto next = steady_clock::now();
  for (bool asking = true, redraw = true;;) {
    if (!asking && steady_clock::now() >= next) {
      recording->refresh();
      asking = true;
    }
    if (asking) {
      const auto updated = recording->update();
      if (!updated) return tl::unexpected(updated.error());
      if (*updated) {
        asking = false;
        redraw = true;
        next = steady_clock::now() + milliseconds(static_cast<std::int64_t>(wanted.interval * 1000));
      }
    }
    if (std::exchange(redraw, false)) {
      const std::size_t rows = std::max<std::size_t>(screen.rows(), 2) - 1;
      auto lines = recording->view(screen.columns(), rows);
      lines.resize(rows);
      lines.push_back({keys.substr(0, screen.columns())});
      if (!screen.show(lines)) return 128 + SIGHUP;
    }
    const auto left = std::chrono::ceil<milliseconds>(next - steady_clock::now()).count();
    const int pause = asking ? poll_milliseconds : static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
    switch (screen.wait(pause)) {
      case top::input::quit:
        return 0;
      case top::input::signalled:
        return 128 + screen.signal();
      case top::input::resized:
        redraw = true;
        break;
      case top::input::next:
        if (files.size() < 2) break;
        place = (place + 1) % files.size();
        opened = open_watched(files[place], wanted);
        if (!opened) return tl::unexpected(opened.error());
        recording = std::make_unique<watched>(files[place], std::move(*opened));
        asking = redraw = true;
        break;
      case top::input::none:
        break;
    }
  }
}

}  // namespace

action declare_top(CLI::App& command) {
  auto wanted = std::make_shared<top_options>();
  command.add_option("FILE", wanted->file, "A recording (default: those that `sluice record` is writing)")
      ->type_name("");
  command.add_flag("--once", wanted->once, "Print the metrics once, as text; default if the output is not a terminal");
  command.add_option("--interval", wanted->interval, "Seconds between two updates")
      ->check(number_between(0.1, 3600))
      ->type_name("S")
      ->default_str("2");
  add_sources_option(command, wanted->sources_from);
  return [wanted] {
    const auto shown = [&]() -> result<int> {
      const auto files = chosen(*wanted);
      if (!files) return tl::unexpected(files.error());
      return wanted->once || !top::screen::possible() ? print_once(*files, *wanted) : show(*files, *wanted);
    }();
    if (!shown) return complain_of(shown.error());
    return *shown;
  };
}

}  // namespace sluice::cli
