#pragma once

#include <span>
#include <string>

#include "app/cli/output_kind.hpp"
#include "core/base/error.hpp"

/// The file that a verb is about to write.
namespace sluice::cli {

/// `stem`.sluice, or with the first number that is free: stem-2.sluice.
[[nodiscard]] std::string free_name(std::string stem);

/// The name that `pattern` stands for, where each process of a set has a recorder of its own: %r is the rank that its launcher
/// put in the environment, %h the host's name, %% a percent sign. Errors: invalid_argument, for %r without a rank and anything else
/// after a percent sign.
[[nodiscard]] result<std::string> name_of_set(const std::string& pattern);

/// The rule of all verbs for the file that -o names. A new file and an empty one may be written. An existing file is replaced only if
/// `force` says so and it is of the `kind` that is being written, and never if it is one of the `inputs`, by whatever name or link.
/// Anything but a regular file is refused, as is a link that leads nowhere. Errors: invalid_argument; io if no file can be made there.
[[nodiscard]] result<void> check_output(const std::string& path, const output_kind& kind, bool force,
                                        std::span<const std::string> inputs = {});

/// For the help of --redact; core/export/README.md says it at length.
inline constexpr const char* redact_help =
    "Leave out directories, arguments, values of NAME=value and of options, URLs, names of hosts and users,\n"
    "and lines of source; names of files and functions stay";

/// For the help of --force.
inline constexpr const char* force_help = "Replace the output if it exists; it must be a file of the same kind";

}  // namespace sluice::cli
