// sluice record: runs a command and records its use of GPU memory.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/live/live_option.hpp"
#include "app/cli/metrics/failure_line.hpp"
#include "app/cli/options/number_option.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"
#include "app/cli/output/output_file.hpp"
#include "app/cli/record/command_process.hpp"
#include "core/base/format.hpp"
#include "core/trace/file/reader.hpp"
#include "instrumentation/capture/start/launch_environment.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/writer/session/session.hpp"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct record_options {
  std::string output;
  bool force = false;
  double linger_seconds = 10;
  std::string mode = "memory";
  std::string graphs = "whole";
  std::string stacks = "python";
  bool sources = false;
  bool no_sampling = false;
  unsigned duplicates_percent = 0;  ///< Percentage of each thread's time to spend on finding duplicates; 0: do not look
                                    ///< for them.
  double delay_seconds = 0;
  double duration_seconds = 0;  ///< 0: until the command ends.
  std::uint64_t ring_bytes = 0;
  std::uint64_t trigger_peak = 0;
  bool on_oom = false;  ///< Keep the recording only if an allocation failed.
  std::string live;     ///< A socket through which other processes watch the recording, or `live_anywhere`; empty:
                        ///< none.
  std::vector<std::string> command;

  /// True if SIGUSR2 makes this process write a dump. Otherwise SIGUSR2 is forwarded to the command like other signals.
  [[nodiscard]] bool dumps_on_signal() const { return ring_bytes != 0; }
  bool misplaced_option = false;  ///< An unknown option is at the position of the command.
};

/// The default ring size of --on-oom, which contains minutes of most training runs.
constexpr std::uint64_t default_ring_bytes = std::uint64_t{256} << 20;

/// Environment variables to add for the command. Without the capture library, only programs that record themselves are
/// recorded.
command_process::variables environment_for(const record_options& options, writer::session& session) {
  const auto lookup = capture::own_environment();
  const auto library = capture::find_capture_library(capture::own_program());
  if (!library) {
    session.warn(library.error().to_string());
    return {{ring::socket_variable, session.socket_name()}};
  }
  for (const auto& [name, other] : capture::other_injections(*library, lookup))
    session.warn(name + " names " + other + "; sluice replaces this value for the command");
  const std::vector<std::string> cupti = capture::find_cupti(options.command, lookup);
  if (!capture::can_be_preloaded(*library)) {
    session.warn(*library +
                 " cannot be preloaded, because its path has a space or a colon: PyTorch's blocks and events from "
                 "sluice.py are not recorded; move both files to another folder");
  }
  auto variables = capture::launch_environment(*library, session.socket_name(), cupti, lookup);
  variables.emplace_back("SLUICE_MODE", options.mode);
  variables.emplace_back("SLUICE_GRAPHS", options.graphs);
  variables.emplace_back("SLUICE_STACKS", options.stacks);
  variables.emplace_back(capture::duplicates_variable, std::to_string(options.duplicates_percent));
  if (options.no_sampling) variables.emplace_back(capture::sampling_variable, "0");
  return variables;
}

/// Waits for the command's descendants: the command has ended, but they may still be running or be about to connect.
/// Because a daemon could run forever, the wait has a time limit, and Ctrl-C ends it immediately.
void wait_for_descendants(writer::session& session, const signal_desk& signals, double seconds, bool dumps) {
  const auto start = steady_clock::now();
  const auto deadline = start + milliseconds(static_cast<std::int64_t>(seconds * 1000));
  bool noted = false;
  while (steady_clock::now() < deadline && any_process_with(ring::socket_variable, session.socket_name())) {
    if (!noted && steady_clock::now() - start > milliseconds(500)) {
      complain("processes started by the command are still running and being recorded; Ctrl-C ends the recording");
      noted = true;
    }
    const auto signal = signals.next(milliseconds(20));
    if (signal && signal->asks_to_end()) return;
    if (signal && dumps && signal->number == SIGUSR2) session.dump("SIGUSR2 received");
  }
}

/// Completes the file, which may take long if the file is large. Ignores the first signal that asks to end; the second
/// one stops the completion.
result<writer::session_summary> close_recording(writer::session& session, const signal_desk& signals) {
  constexpr milliseconds look_every{20};
  int asked = 0;
  while (!session.stops_within(look_every)) {
    while (const auto signal = signals.next(milliseconds(0))) {
      if (!signal->asks_to_end() || ++asked > 2) continue;
      complain(asked == 1 ? "completing the recording; another signal stops this"
                          : "completion stopped: the recording has all events, but is slower to open");
      if (asked == 2) session.cut_short();
    }
  }
  return session.stop();
}

/// The warnings of the recorded processes, without duplicates. They are stored only in the file.
std::vector<std::string> warnings_in(const std::string& path) {
  std::vector<std::string> said;
  const auto file = trace::file::open(path);
  if (!file) return said;
  const auto snapshot = (*file)->latest();
  const auto read = snapshot->for_each<trace::message_event>([&](const trace::message_event& row) {
    const std::string_view text = snapshot->tables().text(row.text);
    if (row.severity != trace::severity::info && std::find(said.begin(), said.end(), text) == said.end()) {
      said.emplace_back(text);
    }
  });
  static_cast<void>(read);  // If the file cannot be read, the next command reports it.
  return said;
}

/// True if everything was lost, that is, something should have been recorded. False for a command that does not use a
/// GPU.
bool nothing_heard(const writer::session_summary& summary) {
  return summary.device_events == 0 && (summary.lost_events != 0 || summary.unheard_processes != 0);
}

/// Prints the session's warnings. `in_file`: also prints those of the recorded processes.
void print_warnings(const writer::session_summary& summary, bool in_file) {
  std::vector<std::string> warnings = summary.warnings;
  for (std::string& said : in_file ? warnings_in(summary.path) : std::vector<std::string>()) {
    if (std::find(warnings.begin(), warnings.end(), said) == warnings.end()) warnings.push_back(std::move(said));
  }
  for (const std::string& warning : warnings) complain("warning: " + warning);
}

/// For --on-oom: keeps only those written files that contain a failed allocation which reached the program, and prints
/// a line about each failure. Also keeps a file that cannot be checked.
void print_failures(const writer::session_summary& summary) {
  print_warnings(summary, !summary.discarded);
  std::vector<std::string> files = summary.dumps;
  if (!summary.discarded) files.push_back(summary.path);
  bool any = false;
  for (const std::string& file : files) {
    const auto line = failure_line(file);
    if (!line) {
      complain(line.error().to_string());
    } else if (*line) {
      complain(fmt::format("{}; the recording is {}", **line, file));
    } else {
      std::error_code ignored;
      fs::remove(file, ignored);
      continue;
    }
    any = true;
  }
  if (any) return;
  complain(
      summary.lost_memory_events == 0
          ? "no allocation failed; nothing was kept"
          : fmt::format("no failed allocation was seen, but {} about allocations and frees were lost; nothing was kept",
                        format_some(summary.lost_memory_events, "event")));
}

void print_summary(const writer::session_summary& summary) {
  print_warnings(summary, true);
  std::string line =
      summary.path + ": " + format_bytes(summary.bytes) + ", " + format_some(summary.events, "event") + ", ";
  line += format_count(summary.lost_events) + " lost";
  if (summary.lost_memory_events != 0)
    line += " (" + format_count(summary.lost_memory_events) + " allocations and frees" + ")";
  if (nothing_heard(summary)) {
    line += "; nothing of CMD was recorded: see the warnings";
  } else if (summary.device_events == 0) {
    line += "; no CUDA activity was seen (does CMD itself use the GPU?)";
  }
  complain(line);
}

/// Changes the usage line in the help text, because CLI11 does not know the command to record.
struct record_help : CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: sluice record [OPTIONS] -- CMD ARGS...\n";
  }
};

int status_for(const error& e) {
  if (e.code == error_code::not_found) return status_not_found;
  return e.code == error_code::invalid_argument ? status_not_executable : status_not_recorded;
}

/// Starts and ends the recording at the requested times while the command runs, and writes dumps on request.
class timetable {
 public:
  timetable(writer::session& session, const record_options& options, const signal_desk& signals)
      : session_(session), options_(options), signals_(signals), delayed_(options.delay_seconds > 0) {}

  /// Handles a signal. Returns true if the signal was meant for this process.
  bool poll(const std::optional<arrived_signal>& signal) {
    const double passed = std::chrono::duration<double>(steady_clock::now() - start_).count();
    if (delayed_ && passed >= options_.delay_seconds) begin();
    const bool over = options_.duration_seconds > 0 && passed >= options_.delay_seconds + options_.duration_seconds;
    if (over && !summary_ && stops_now()) summary_ = session_.stop();
    const bool dump = signal && signal->number == SIGUSR2 && options_.dumps_on_signal();
    if (dump && !ending_) session_.dump("SIGUSR2 received");
    return dump;
  }
  [[nodiscard]] milliseconds period() const {
    return milliseconds(options_.delay_seconds > 0 || options_.duration_seconds > 0 ? 20 : 500);
  }
  /// True if the recording was ended by --duration.
  [[nodiscard]] bool ended() const { return ending_; }

  result<writer::session_summary> finish() {
    if (delayed_) {
      session_.warn(
          "the command ended before the recording started (--delay): the recording has only the memory live at that "
          "time");
      begin();
    }
    if (!summary_) summary_ = close_recording(session_, signals_);
    return *summary_;
  }

 private:
  /// True when the recording should end. Must not wait, because this process also has to forward signals to the
  /// command.
  bool stops_now() {
    ending_ = true;
    return session_.stops_within(milliseconds(0));
  }

  void begin() {
    delayed_ = false;
    session_.begin_now();
  }

  writer::session& session_;
  const record_options& options_;
  const signal_desk& signals_;
  steady_clock::time_point start_ = steady_clock::now();
  bool delayed_;
  bool ending_ = false;
  std::optional<result<writer::session_summary>> summary_;
};

writer::session_options make_session_options(const record_options& options) {
  constexpr unsigned usual_sampling_hz = 500;
  return {.sampling_hz = options.no_sampling || options.mode == "memory" ? 0 : usual_sampling_hz,
          .sources = options.sources,
          .ring_bytes = options.ring_bytes,
          .delayed = options.delay_seconds > 0,
          .management_library = "libnvidia-ml.so.1",
          .dump_on_failure = options.ring_bytes != 0 && !options.on_oom,
          .dump_above_bytes = options.trigger_peak,
          .keep_on_failure = options.on_oom,
          .publish_later = true,
          .replaces = options.force};
}

/// Starts a session that records to `path`. If `path` is empty, sets it to the first free name, or to the next one if
/// another recorder takes that name at the same moment.
result<writer::session> start_session(std::string& path, const record_options& options) {
  const bool any_name = path.empty();
  constexpr int max_tries = 100;
  for (int i = 0;; ++i) {
    if (any_name) path = free_name(fs::path(options.command[0]).filename().string());
    const auto possible = check_output(path, recording_kind(), options.force);
    auto started = possible ? writer::session::start(path, make_session_options(options))
                            : result<writer::session>(tl::unexpected(possible.error()));
    std::error_code unknown;
    const bool taken_meanwhile = any_name && fs::exists(path, unknown);
    if (started || !taken_meanwhile || i == max_tries) return started;
  }
}

int record(const record_options& options) {
  if (options.command.empty()) {
    complain("no command to record; expected: sluice record [-o FILE] -- CMD ARGS");
    return status_not_recorded;
  }
  if (options.misplaced_option) {
    complain(options.command[0] +
             ": no such option; see sluice record --help (if it is the command, put -- before it)");
    return status_not_recorded;
  }
  if (const char* asked = std::getenv("SLUICE_RING_BYTES"); asked != nullptr && !parse_whole(asked)) {
    complain(std::string("SLUICE_RING_BYTES: invalid value '") + asked + "'; expected a whole number of bytes");
    return status_not_recorded;
  }
  // Check this before any file is changed, so that a mistyped command does no harm.
  if (const auto program = find_program(options.command[0]); !program) {
    complain(program.error().to_string());
    return status_for(program.error());
  }
  const auto named = name_of_set(options.output);
  if (!named) {
    complain(named.error().to_string());
    return status_not_recorded;
  }
  if (options.on_oom && !options.live.empty()) {
    complain("--live and --on-oom cannot be combined: with --on-oom there is no recording until an allocation fails");
    return status_not_recorded;
  }
  const signal_desk signals;
  raise_descriptor_limit();
  std::string path = *named;
  auto session = start_session(path, options);
  if (!session) {
    complain(session.error().to_string());
    return status_not_recorded;
  }
  std::optional<live_option> live;
  if (!options.live.empty()) {
    auto started = live_option::start(path, options.live);
    if (!started) {
      static_cast<void>(session->stop());
      complain(started.error().to_string());
      return status_not_recorded;
    }
    live.emplace(std::move(*started));
  }
  auto command = command_process::start(options.command, environment_for(options, *session), signals);
  if (!command) {
    static_cast<void>(session->stop());
    complain(command.error().to_string());
    return status_for(command.error());
  }
  // Replace an existing file only now, so that it is preserved if the command cannot start.
  if (!options.on_oom) session->publish();
  session->add_process(static_cast<std::uint64_t>(command->pid()), fmt::format("{}", fmt::join(options.command, " ")));
  timetable times(*session, options, signals);
  const int status = command->wait(signals, times.period(), [&](const auto& signal) { return times.poll(signal); });
  if (!times.ended()) {
    session->process_exited(static_cast<std::uint64_t>(command->pid()), status);
    wait_for_descendants(*session, signals, options.linger_seconds, options.dumps_on_signal());
  }
  const auto summary = times.finish();
  if (!summary) {
    complain(summary.error().to_string());
    return status == 0 ? status_not_recorded : status;
  }
  if (options.on_oom) {
    print_failures(*summary);
  } else {
    print_summary(*summary);
  }
  if (live) live->finish();
  return status == 0 && nothing_heard(*summary) ? status_not_recorded : status;
}

}  // namespace

action declare_record(CLI::App& command, std::span<const std::string> after_dashes) {
  const auto options = std::make_shared<record_options>();
  command.formatter(std::make_shared<record_help>());
  command
      .add_option("-o,--output", options->output,
                  "File to write (default: CMD's name with .sluice). If a launcher starts sluice in each process,\n"
                  "use %r for the rank, %h for the host name, %% for a percent sign")
      ->check(output_name())
      ->type_name("FILE");
  command.add_flag("--force", options->force, force_help);
  command
      .add_option("--linger", options->linger_seconds,
                  "Keep recording child processes for this many seconds after CMD exits (Ctrl-C ends it)")
      ->check(number_between(0, 1e6))
      ->type_name("SECONDS")
      ->capture_default_str();
  choose(command
             .add_option(
                 "--mode", options->mode,
                 "What to record: memory (allocations, copies, the memory that kernels use), timeline (also kernel\n"
                 "times, waits and ranges) or all (also call stacks of launches)")
             ->envname("SLUICE_MODE"),
         "memory|timeline|all")
      ->capture_default_str();
  choose(command
             .add_option("--graphs", options->graphs,
                         "How to record CUDA graphs: whole (one interval per launch) or node (each kernel and copy; "
                         "slows replays)")
             ->envname("SLUICE_GRAPHS"),
         "whole|node")
      ->capture_default_str();
  choose(command.add_option(
             "--stacks", options->stacks,
             "Call stacks to record for allocations and copies: none, python (native if a thread without Python "
             "allocates from the driver), native or all"),
         "none|python|native|all")
      ->capture_default_str();
  command.add_flag(
      "--no-sampling", options->no_sampling,
      "Do not sample what host threads do (in the modes timeline and all, 500 times per second of CPU time)");
  command.add_flag("--sources", options->sources,
                   "Store the source lines around each recorded Python frame, for viewing on another machine");
  command
      .add_flag(
          "--find-duplicates{1}", options->duplicates_percent,
          "Detect data that is copied to the device repeatedly, by hashing it. =PERCENT: at most this share of each\n"
          "thread's time (default 1)")
      ->check(whole_between(0, 100))
      ->envname(capture::duplicates_variable);
  command
      .add_option("--delay", options->delay_seconds,
                  "Start recording after this many seconds (memory that is already live is included)")
      ->check(number_between(0, 1e9))
      ->type_name("SECONDS");
  command
      .add_option("--duration", options->duration_seconds, "Stop recording after this many seconds; CMD keeps running")
      ->check(number_between(0, 1e9))
      ->type_name("SECONDS");
  command
      .add_option("--ring", options->ring_bytes,
                  "Keep only the last part of the recording, in a file of about this size (64MiB, 1GiB). On SIGUSR2\n"
                  "to sluice (not passed on to CMD) and on a failed allocation, the current content is saved to a\n"
                  "separate file")
      ->transform(bytes_between(1 << 20, std::uint64_t{1} << 50, false))
      ->type_name("SIZE");
  command.add_flag(
      "--on-oom", options->on_oom,
      "Keep the recording only if an allocation fails and the failure reaches CMD, and print the size of the\n"
      "request and the memory in use. Implies --ring 256MiB if no other size is given");
  command
      .add_option("--trigger-peak", options->trigger_peak,
                  "Also save the kept part when device memory in use exceeds this")
      ->transform(bytes_between(1, std::uint64_t{1} << 50, false))
      ->type_name("SIZE");
  command.add_flag("--live{auto}", options->live,
                   "Let others watch the recording while it is written: sluice open --live SOCKET. =SOCKET: use a\n"
                   "socket at this path (default: a new one, which is printed). Only you and root can connect");
  command.prefix_command();
  command.footer(
      "Signals sent to sluice are forwarded to CMD. After CMD has ended, the first INT or TERM completes the "
      "recording,\n"
      "a second one stops the completion.\n"
      "The exit status is CMD's (128 + n if signal n ended it); 127: no such command; 126: it cannot be executed;\n"
      "125: CMD succeeded, or was not started, and there is no recording, or its file was deleted, moved or damaged.");
  return [options, &command, after_dashes] {
    options->command = command.remaining();
    options->misplaced_option = !options->command.empty() && options->command[0].starts_with('-');
    // If the words before the first "--" already started the command, that "--" belongs to the command.
    if (!options->command.empty() && !after_dashes.empty()) options->command.emplace_back("--");
    options->command.insert(options->command.end(), after_dashes.begin(), after_dashes.end());
    if (options->on_oom && options->ring_bytes == 0) options->ring_bytes = default_ring_bytes;
    return record(*options);
  };
}

}  // namespace sluice::cli
