#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "core/base/error.hpp"

namespace sluice::importing {

/// A function that reads the next bytes of an input into a buffer and returns their number, or 0 at the end.
using byte_source = std::function<result<std::size_t>(std::span<std::byte>)>;

}  // namespace sluice::importing
