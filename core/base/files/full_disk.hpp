#pragma once

#include <cerrno>

#include "core/base/error.hpp"

namespace sluice {

/// True if the error number `why` means that a write failed because there was no space: on the disk (ENOSPC), in the
/// user's quota (EDQUOT), or below the file size limit (EFBIG; `ulimit -f`).
[[nodiscard]] inline bool is_full_disk(int why) { return why == ENOSPC || why == EDQUOT || why == EFBIG; }

/// Returns the error code for a write that failed with the error number `why`: no_space or io.
[[nodiscard]] inline error_code code_of_failed_write(int why) {
  return is_full_disk(why) ? error_code::no_space : error_code::io;
}

}  // namespace sluice
