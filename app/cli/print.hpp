#pragma once

#include <string>
#include <string_view>

/// The only way in which verbs print. Names come from recordings and file systems, and may hold anything: here they lose what would drive
/// or deceive a terminal (core/base/printable.hpp), so that no verb can forget it.
namespace sluice::cli {

/// Prints `text`, of any number of lines, on the standard output. False if not all of it was taken; `main` looks again at the end.
bool print(std::string_view text);

/// Prints a piece of a document for programs (JSON, CSV): byte by byte to a file or a pipe, as `print` does to a terminal. False if not
/// all of it was taken.
bool print_document(std::string_view text);

/// Prints "`line`" on the standard output or the standard error, as one line whatever is in it.
void say(std::string_view line);
void remark(std::string_view line);

/// Prints "sluice: `line`" on the standard error, likewise.
void complain(const std::string& line);

}  // namespace sluice::cli
