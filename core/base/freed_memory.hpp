#pragma once

namespace sluice {

/// Makes malloc keep up to 16 MiB of freed memory for reuse, for each of its shares of the heap ("arenas"), of which there are two. The window
/// allocates lists of about 100 KiB sixty times a second; glibc would return each list to the system, and getting new pages takes as long
/// as filling them. With 64 MiB, a live view on a machine of 16 cores kept 600 MB that nobody used. With an arena a thread, what lives long
/// lies scattered between what does not: a live view of 543 M events had 434 MiB of which a quarter was in use, and with two arenas 253 MiB.
/// Summing up on 16 cores takes as long with two.
/// Programs call this once, before starting threads; libraries must not. Only has an effect with glibc.
void keep_freed_memory();

/// Gives the memory that was freed and kept back to the system: after work that took much once. Takes some milliseconds. Only has an effect
/// with glibc. Thread-safe.
void give_freed_memory_back();

}  // namespace sluice
