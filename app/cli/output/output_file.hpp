#pragma once

#include <span>
#include <string>

#include "app/cli/output/output_kind.hpp"
#include "core/base/error.hpp"

namespace CLI {
class Validator;
}

/// Names and checks of the files that verbs write.
namespace sluice::cli {

/// To pass to CLI::Option::check of every option that names an output file: rejects an empty name.
[[nodiscard]] CLI::Validator output_name();

/// Returns the first name that is not taken: `stem`.sluice, stem-2.sluice, stem-3.sluice, ...
[[nodiscard]] std::string free_name(std::string stem);

/// Expands `pattern` to a file name, for several processes that each run under their own sluice: %r is the rank that
/// the launcher put into the environment, %h the host name, %% a percent sign. Errors: invalid_argument for %r without
/// a rank, and for any other character after a percent sign.
[[nodiscard]] result<std::string> name_of_set(const std::string& pattern);

/// Checks whether a command may write to `path`, the file named by -o. A file that does not exist or is empty is
/// allowed. Any other file is allowed only with `force`, and only if it is of this `kind`. Always rejected: the
/// `inputs` themselves (by any name or link), anything but a regular file, a dangling link, a recording that is being
/// written, and an empty name. Errors: invalid_argument; io if no file can be created there.
[[nodiscard]] result<void> check_output(const std::string& path, const output_kind& kind, bool force,
                                        std::span<const std::string> inputs = {});

/// Help text of --redact. core/export/README.md contains the full description.
inline constexpr const char* redact_help =
    "Remove credentials, directories, arguments, values of NAME=value and of options, URLs, host and user names,\n"
    "and source lines from all text; file and function names are kept";

/// Help text of --force.
inline constexpr const char* force_help = "Overwrite the output if it exists; it must be a file of the same kind";

}  // namespace sluice::cli
