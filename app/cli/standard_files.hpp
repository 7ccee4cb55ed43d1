#pragma once

/// The standard input, output and error, which whoever starts a program may leave closed (`>&-`). A file that was opened then could get
/// the number of one of them, and what is printed would land in it.
namespace sluice::cli {

/// Opens those of descriptors 0..2 that are closed so that each use of them fails, as it would have. Called first in main.
void add_standard_files();

/// In a child, before exec: closes what `add_standard_files` opened. Async-signal-safe.
void close_added_standard_files();

}  // namespace sluice::cli
