#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "app/cli/output_kind.hpp"
#include "core/base/error.hpp"

/// Names and checks of the files that verbs write.
namespace sluice::cli {

/// For CLI::Option::check of every option that names an output: refuses an empty name.
[[nodiscard]] CLI::Validator output_name();

/// Returns `stem`.sluice, or the first unused name with a number: stem-2.sluice, stem-3.sluice, ...
[[nodiscard]] std::string free_name(std::string stem);

/// Expands `pattern` to a file name, for several processes that each run under a sluice of their own: %r is the rank
/// that the launcher put into the environment, %h the host name, %% a percent sign. Errors: invalid_argument for %r
/// without a rank, and for any other character after a percent sign.
[[nodiscard]] result<std::string> name_of_set(const std::string& pattern);

/// Checks whether the file named by -o may be written (for all verbs). A new file may, and one that holds nothing
/// (core/trace/file/writer.hpp). Another file may only with `force` and if it is of this `kind`; never if it is one of the
/// `inputs` (by any name or link), not a regular file, a dangling link, or a recording that is being written; nor may an
/// empty name. Errors: invalid_argument; io if no file can be created there.
[[nodiscard]] result<void> check_output(const std::string& path, const output_kind& kind, bool force,
                                        std::span<const std::string> inputs = {});

/// Help text of --redact; the full description is in core/export/README.md.
inline constexpr const char* redact_help =
    "Leave out credentials, directories, arguments, values of NAME=value and of options, URLs, names of hosts and\n"
    "users, and lines of source, from every text; names of files and functions stay";

/// Help text of --force.
inline constexpr const char* force_help = "Replace the output if it exists; it must be a file of the same kind";

}  // namespace sluice::cli
