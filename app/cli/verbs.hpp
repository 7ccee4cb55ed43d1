#pragma once

#include <functional>
#include <span>
#include <string>

namespace CLI {
class App;
}

/// The verbs of the command line. Each has a file app/cli/<verb>.cpp that declares its options on a subcommand of its own
/// and returns what to run once they are parsed; main.cpp lists them. To add a verb: declare it here, list it there.
namespace sluice::cli {

/// Runs the verb and returns the program's exit status. It reports its own errors with `complain`.
using action = std::function<int()>;

/// Exit statuses that every verb shares.
inline constexpr int status_failed = 1;  ///< The verb could not do what it was asked.
inline constexpr int status_usage = 2;   ///< The command line makes no sense.
inline constexpr int status_not_recorded =
    125;  ///< `record` only: CMD succeeded, or never ran, and nothing was recorded.
inline constexpr int status_not_executable = 126;  ///< `record` only: CMD exists but cannot run.
inline constexpr int status_not_found = 127;       ///< `record` only: no such CMD.

/// Prints "sluice: `line`" on standard error.
void complain(const std::string& line);

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
