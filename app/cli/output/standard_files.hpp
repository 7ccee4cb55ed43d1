#pragma once

/// Handles standard input, output or error that were closed at program start (`>&-`). If they stayed closed, the next
/// file that the program opens could get one of their descriptors, and printed output would end up in that file.
namespace sluice::cli {

/// Opens each closed descriptor of 0..2 in a mode in which its use still fails. Call first in main.
void add_standard_files();

/// Closes the descriptors that `add_standard_files` opened. For a child process before exec; async-signal-safe.
void close_added_standard_files();

}  // namespace sluice::cli
