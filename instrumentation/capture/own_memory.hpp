#pragma once

#include <sys/uio.h>
#include <unistd.h>

namespace sluice::capture {

/// False if this process may not read its own memory by process_vm_readv, as in some sandboxes.
[[nodiscard]] inline bool can_read_own_memory() noexcept {
  const char there = 's';
  char here = 0;
  const iovec into{&here, 1};
  const iovec source{const_cast<char*>(&there), 1};
  return process_vm_readv(getpid(), &into, 1, &source, 1, 0) == 1 && here == 's';
}

}  // namespace sluice::capture
