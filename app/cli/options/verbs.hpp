#pragma once

#include <functional>
#include <span>
#include <string>

#include "app/cli/output/print.hpp"
#include "core/base/error.hpp"

namespace CLI {
class App;
}

/// The verbs of the command line. Each verb has a file app/cli/<folder>/<verb>.cpp, which declares the verb's options on
/// its subcommand and returns the function to run after parsing; main.cpp lists the verbs. To add a verb, declare it
/// here and list it there.
namespace sluice::cli {

/// Runs the verb and returns the exit status of the program. Reports its own errors with `complain`.
using action = std::function<int()>;

/// Exit statuses of all verbs: 0 for success, those below, and 128 + n if signal n ended the verb.
inline constexpr int status_failed = 1;      ///< The verb could not do its work.
inline constexpr int status_usage = 2;       ///< The command line is invalid, or something that it names is.
inline constexpr int status_not_met = 1;     ///< `check` only: a condition is not met.
inline constexpr int status_not_judged = 2;  ///< `check` only: a condition or the recording could not be checked.
inline constexpr int status_not_recorded =
    125;  ///< `record` only: CMD succeeded or was not run, but nothing was recorded.
inline constexpr int status_not_executable = 126;  ///< `record` only: CMD exists but cannot run.
inline constexpr int status_not_found = 127;       ///< `record` only: no such CMD.

/// The exit status for an error: `status_usage` for invalid_argument, 128 + n after signal n, otherwise
/// `status_failed`.
[[nodiscard]] int get_status(const error& why);
/// Prints the error, and returns its exit status.
[[nodiscard]] int complain_of(const error& why);

/// Sets the signal number that `get_status` uses for cancelled work. Async-signal-safe.
void note_cancelling_signal(int number);

/// `after_dashes`: the words after "--", that is, the command to record. They must outlive the action.
[[nodiscard]] action declare_record(CLI::App& command, std::span<const std::string> after_dashes);

/// Attaching is not supported; the action prints the reason.
[[nodiscard]] action declare_attach(CLI::App& command);

/// Reports what this machine lacks for recording and drawing.
[[nodiscard]] action declare_doctor(CLI::App& command);

/// Hidden verb: prints the man page and the shell completions, which are generated from the declared verbs.
[[nodiscard]] action declare_manual(CLI::App& command);

[[nodiscard]] action declare_demo(CLI::App& command);

/// Only in builds with the window.
[[nodiscard]] action declare_open(CLI::App& command);
[[nodiscard]] action declare_screenshot(CLI::App& command);

[[nodiscard]] action declare_import(CLI::App& command);
[[nodiscard]] action declare_report(CLI::App& command);

[[nodiscard]] action declare_export(CLI::App& command);
[[nodiscard]] action declare_generate(CLI::App& command);
[[nodiscard]] action declare_trim(CLI::App& command);
[[nodiscard]] action declare_merge(CLI::App& command);
[[nodiscard]] action declare_diff(CLI::App& command);
[[nodiscard]] action declare_whatif(CLI::App& command);

[[nodiscard]] action declare_query(CLI::App& command);

[[nodiscard]] action declare_check(CLI::App& command);

/// Responds to requests about recordings on standard input and output until the input ends.
[[nodiscard]] action declare_mcp(CLI::App& command);

/// Serves the window and recordings to a browser until a signal ends the verb.
[[nodiscard]] action declare_serve(CLI::App& command);

/// Shows the metrics of a recording in the terminal until the user quits.
[[nodiscard]] action declare_top(CLI::App& command);

}  // namespace sluice::cli
