#pragma once

#include <functional>
#include <span>
#include <string>

#include "app/cli/print.hpp"
#include "core/base/error.hpp"

namespace CLI {
class App;
}

/// The verbs of the command line. Each has a file app/cli/<verb>.cpp that declares its options on its subcommand and
/// returns the function to run after parsing; main.cpp lists them. To add a verb, declare it here and list it there.
namespace sluice::cli {

/// Runs the verb and returns the exit status of the program. Reports its own errors with `complain`.
using action = std::function<int()>;

/// Exit statuses, for all verbs: 0 for success, the ones below, and 128 + n if signal n ended the verb.
inline constexpr int status_failed = 1;      ///< The verb could not do its work.
inline constexpr int status_usage = 2;       ///< The command line, or something it names, is invalid.
inline constexpr int status_not_met = 1;     ///< `check` only: a condition is not met.
inline constexpr int status_not_judged = 2;  ///< `check` only: a condition, or the recording, could not be judged.
inline constexpr int status_not_recorded =
    125;  ///< `record` only: CMD succeeded or never ran, but nothing was recorded.
inline constexpr int status_not_executable = 126;  ///< `record` only: CMD exists but cannot run.
inline constexpr int status_not_found = 127;       ///< `record` only: no such CMD.

/// The status for an error: `status_usage` for invalid_argument, 128 + n after signal n, else `status_failed`.
[[nodiscard]] int status_of(const error& why);

/// Sets the signal that `status_of` reports for cancelled work. Async-signal-safe.
void note_cancelling_signal(int number);

/// `after_dashes`: the words after "--", i.e. the command to record. Must outlive the action.
[[nodiscard]] action declare_record(CLI::App& command, std::span<const std::string> after_dashes);

/// Attaching is not supported; the action prints the reason.
[[nodiscard]] action declare_attach(CLI::App& command);

/// Says what is missing on this machine for recording and drawing.
[[nodiscard]] action declare_doctor(CLI::App& command);

/// Hidden: prints the man page and the completions of shells, made of the declared verbs themselves.
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

/// Answers questions about recordings on standard input and output until the input ends.
[[nodiscard]] action declare_mcp(CLI::App& command);

/// Shows the window and recordings to a browser until a signal ends it.
[[nodiscard]] action declare_serve(CLI::App& command);

/// Shows the figures of a recording in the terminal until the user ends it.
[[nodiscard]] action declare_top(CLI::App& command);

}  // namespace sluice::cli
