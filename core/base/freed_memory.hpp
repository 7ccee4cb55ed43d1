#pragma once

namespace sluice {

/// Makes the program keep memory that it frees, to be used again, until 64 MiB of it lie at an end of the heap. A view asks for lists of some
/// 100 KiB sixty times a second; the C library would hand each back to the system, and to have its pages anew takes as long as to fill them.
/// For programs, once, before they start threads; a library leaves this alone. Does nothing where the C library is not glibc.
void keep_freed_memory();

}  // namespace sluice
