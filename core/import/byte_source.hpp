#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "core/base/error.hpp"

namespace sluice::importing {

/// Reads the next bytes of a content into a buffer. Returns their number, 0 at the end.
using byte_source = std::function<result<std::size_t>(std::span<std::byte>)>;

}  // namespace sluice::importing
