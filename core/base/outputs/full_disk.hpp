#pragma once

#include <cerrno>

#include "core/base/error.hpp"

namespace sluice {

/// True if a write failed with this errno for want of room: on the disk (ENOSPC), in the user's quota (EDQUOT), or below
/// the limit on the size of files (EFBIG; `ulimit -f`).
[[nodiscard]] inline bool is_full_disk(int why) { return why == ENOSPC || why == EDQUOT || why == EFBIG; }

/// The code of the error for a write that failed with this errno: no_space or io.
[[nodiscard]] inline error_code code_of_failed_write(int why) {
  return is_full_disk(why) ? error_code::no_space : error_code::io;
}

}  // namespace sluice
