#pragma once

namespace sluice {

/// Makes malloc keep up to 64 MiB of freed memory for reuse. The window allocates lists of about 100 KiB sixty times a
/// second; glibc would return each list to the system, and getting new pages takes as long as filling them. Programs
/// call this once, before starting threads; libraries must not. Only has an effect with glibc.
void keep_freed_memory();

}  // namespace sluice
