#pragma once

#include <string>
#include <string_view>

/// All output of the verbs goes through these functions. Names from recordings and file systems may contain any bytes;
/// these functions replace characters that could control or deceive a terminal (core/base/printable.hpp).
namespace sluice::cli {

/// Prints `text` (any number of lines) to standard output. Returns false if not all of it was written; `main` checks
/// this again.
bool print(std::string_view text);

/// Prints a piece of a machine-readable document (JSON, CSV): unchanged to a file or pipe, but as `print` does to a
/// terminal. Returns false if not all of it was written.
bool print_document(std::string_view text);

/// Prints all of a verb's output: a `document`, or text. Returns false, and complains that the `subject` cannot be
/// written, if not all of it reached standard output.
bool print_output(std::string_view text, bool document, std::string_view subject);

/// Print `line` and a newline, to standard output (`say`) or standard error (`remark`). Always exactly one line.
void say(std::string_view line);
void remark(std::string_view line);

/// Prints "sluice: `line`" and a newline to standard error. Always exactly one line.
void complain(const std::string& line);

}  // namespace sluice::cli
