#pragma once

/// Handles standard input, output or error that were closed at program start (`>&-`). Otherwise the next file that the
/// program opens could get such a descriptor, and output printed to it would end up in that file.
namespace sluice::cli {

/// Opens each closed descriptor of 0..2 in a way that using it still fails. Call first in main.
void add_standard_files();

/// Closes what `add_standard_files` opened. For a child process before exec; async-signal-safe.
void close_added_standard_files();

}  // namespace sluice::cli
