// sluice demo: runs one of the demos and records it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/cli/options/number_option.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"
#include "app/cli/output/output_file.hpp"
#include "app/demos/demo_run.hpp"
#include "core/base/format.hpp"
#include "instrumentation/capture/start/launch_environment.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::cli {
namespace {

struct demo_options {
  std::string name;
  bool list = false;
  std::string device;
  std::string output;
  bool force = false;
  bool paced = false;
  double seconds = 6;
};

/// Prints `text` in lines of up to 80 columns. All lines except the first are indented. `column`: start column of the
/// first line.
void print_wrapped(std::string_view text, std::size_t column, std::size_t indent) {
  while (!text.empty()) {
    const std::size_t room = 80 - column;
    std::size_t cut = text.size();
    if (cut > room) {
      cut = text.rfind(' ', room);
      if (cut == std::string_view::npos) cut = text.size();
    }
    std::printf("%.*s\n", static_cast<int>(cut), text.data());
    text.remove_prefix(std::min(cut + 1, text.size()));
    column = indent;
    if (!text.empty()) std::printf("%*s", static_cast<int>(indent), "");
  }
}

int list() {
  constexpr int indent = 20;
  for (const demos::demo& w : demos::all()) {
    std::printf("%-*s", indent, std::string(w.name).c_str());
    print_wrapped(w.shows, indent, indent);
    std::printf("%*sLook for: ", indent, "");
    print_wrapped(w.look_for, indent + 10, indent + 2);
  }
  return 0;
}

demos::device_choice make_choice(const std::string& name) {
  if (name == "sim") return demos::device_choice::simulated;
  return name == "cuda" ? demos::device_choice::cuda : demos::device_choice::automatic;
}

/// Turns Ctrl-C and similar signals into a stop request, which demos check between steps. Create this object before any
/// other thread, so that all threads block these signals and only this object's thread receives them.
class stop_on_signal {
 public:
  stop_on_signal() {
    sigemptyset(&signals_);
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, each);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    try {
      waiter_ = std::thread([this] { wait(); });
    } catch (const std::system_error&) {
      pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);  // Without the thread, signals must end the program as usual.
    }
  }
  ~stop_on_signal() {
    over_ = true;
    if (waiter_.joinable()) waiter_.join();
  }
  stop_on_signal(const stop_on_signal&) = delete;
  stop_on_signal& operator=(const stop_on_signal&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  /// The signal that was received; 0 if none was.
  [[nodiscard]] int signal() const { return signal_; }

 private:
  void wait() {
    const timespec moment{0, 50'000'000};
    while (!over_) {
      if (const int got = sigtimedwait(&signals_, nullptr, &moment); got > 0) {
        signal_ = got;
        stop_.request_stop();
      }
    }
  }

  sigset_t signals_{};
  std::stop_source stop_;
  std::atomic<bool> over_{false};
  std::atomic<int> signal_{0};
  std::thread waiter_;
};

/// Runs the demo as a command of `sluice record`, because the capture library must be loaded before CUDA starts.
int under_record(const demo_options& options, const std::string& output) {
  const std::string own = capture::own_program();
  std::vector<std::string> words = {"sluice", "record", "--mode", "timeline", "-o", output};
  if (options.force) words.emplace_back("--force");
  words.insert(words.end(), {"--", own, "demo", options.name, "--device", "cuda"});
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(own.c_str(), arguments.data());
  complain(own + ": cannot restart under sluice record: " + describe_errno(errno));
  return status_failed;
}

int run(const demo_options& options) {
  if (options.list) return list();
  const demos::demo* demo = demos::find(options.name);
  if (!demo) {
    complain(options.name.empty() ? std::string("no demo given; expected: sluice demo NAME; see sluice demo --list")
                                  : "no demo named '" + options.name + "'; see sluice demo --list");
    return status_usage;
  }
  const std::string output = options.output.empty() ? free_name(options.name) : options.output;
  if (const auto possible = check_output(output, recording_kind(), options.force); !possible)
    return complain_of(possible.error());
  const bool recorded_already = std::getenv(ring::socket_variable) != nullptr;
  const auto device = demos::choose_device(make_choice(options.device));
  if (!device) {
    complain(device.error().to_string());
    return status_failed;
  }
  if (!device->simulated() && !recorded_already) return under_record(options, output);

  const stop_on_signal signals;
  if (device->simulated()) {
    const std::string why = options.device == "sim" ? std::string() : " (" + runtime::why_unavailable() + ")";
    remark("using the simulated device" + why);
  }
  demos::demo_options method;
  method.device = device->simulated() ? demos::device_choice::simulated : demos::device_choice::cuda;
  if (device->simulated()) method.output = output;  // Otherwise `sluice record` writes the recording.
  method.wall_seconds = options.paced ? options.seconds : 0;
  method.stop = signals.token();
  method.say = [](const std::string& line) { say(line); };
  const auto outcome = demos::run_demo(*demo, method);
  if (!outcome) {
    complain(outcome.error().to_string());
    return status_failed;
  }
  if (!method.output.empty()) {
    say(output + ": " + format_bytes(outcome->file_bytes) +
        (outcome->lost_events == 0 ? "" : ", some events were lost"));
  }
  return outcome->stopped ? 128 + signals.signal() : 0;
}

}  // namespace

action declare_demo(CLI::App& command) {
  auto options = std::make_shared<demo_options>();
  std::vector<std::string> names;
  for (const demos::demo& each : demos::all()) names.emplace_back(each.name);
  command.add_option("NAME", options->name, "Demo to run")->type_name(fmt::format("{}", fmt::join(names, "|")));
  command.add_flag("--list", options->list, "Describe each demo and what to look for");
  choose(command.add_option("--device", options->device, "Device to run on (default: CUDA if there is a GPU)"),
         "sim|cuda");
  command.add_option("-o,--output", options->output, "Recording to write (default: NAME.sluice)")
      ->check(output_name())
      ->type_name("FILE");
  command.add_flag("--force", options->force, force_help);
  command.add_flag("--pace", options->paced, "Slow down the simulated device, to watch it live");
  command.add_option("--seconds", options->seconds, "Approximate length of a paced run")
      ->check(number_between(0.1, 3600))
      ->type_name("SECONDS")
      ->capture_default_str();
  return [options] { return run(*options); };
}

}  // namespace sluice::cli
