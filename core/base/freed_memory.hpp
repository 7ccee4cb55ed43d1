#pragma once

namespace sluice {

/// Makes the allocator keep up to 64 MiB of freed memory at an end of the heap for reuse. Views allocate lists of about
/// 100 KiB sixty times a second; glibc would return each to the system, and getting new pages takes as long as filling
/// them. Programs call this once, before starting threads; libraries must not. Only has an effect with glibc.
void keep_freed_memory();

}  // namespace sluice
