#pragma once

#include <functional>
#include <span>
#include <string>

#include "app/cli/print.hpp"
#include "core/base/error.hpp"

namespace CLI {
class App;
}

/// The verbs of the command line. Each has a file app/cli/<verb>.cpp that declares its options on a subcommand of its own
/// and returns what to run once they are parsed; main.cpp lists them. To add a verb: declare it here, list it there.
namespace sluice::cli {

/// Runs the verb and returns the program's exit status. It reports its own errors with `complain`.
using action = std::function<int()>;

/// Exit statuses, the same for all verbs: 0, done; these; and 128 + n if signal n ended the verb.
inline constexpr int status_failed = 1;  ///< The verb could not do what it was asked.
inline constexpr int status_usage = 2;   ///< The command line, or what it names, makes no sense.
inline constexpr int status_not_recorded =
    125;  ///< `record` only: CMD succeeded, or never ran, and nothing was recorded.
inline constexpr int status_not_executable = 126;  ///< `record` only: CMD exists but cannot run.
inline constexpr int status_not_found = 127;       ///< `record` only: no such CMD.

/// Of a verb that ended with this error: `status_usage` for invalid_argument, 128 + n for what signal n cancelled, else `status_failed`.
[[nodiscard]] int status_of(const error& why);

/// What `status_of` says of work that is cancelled from now on. Async-signal-safe.
void note_cancelling_signal(int number);

/// `after_dashes` is what followed "--": the command to record. It outlives the action.
[[nodiscard]] action declare_record(CLI::App& command, std::span<const std::string> after_dashes);

/// Refuses, and says why.
[[nodiscard]] action declare_attach(CLI::App& command);

[[nodiscard]] action declare_demo(CLI::App& command);

/// Built with the window only.
[[nodiscard]] action declare_open(CLI::App& command);
[[nodiscard]] action declare_screenshot(CLI::App& command);

[[nodiscard]] action declare_import(CLI::App& command);
[[nodiscard]] action declare_report(CLI::App& command);

[[nodiscard]] action declare_export(CLI::App& command);
[[nodiscard]] action declare_generate(CLI::App& command);
[[nodiscard]] action declare_trim(CLI::App& command);
[[nodiscard]] action declare_merge(CLI::App& command);
[[nodiscard]] action declare_diff(CLI::App& command);

[[nodiscard]] action declare_query(CLI::App& command);

}  // namespace sluice::cli
