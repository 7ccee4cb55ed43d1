#pragma once

#include <xxhash.h>

#include "core/trace/file/layout.hpp"

namespace sluice::trace {

/// Returns the XXH3 checksum of all bytes of a header before its last member, `checksum` (see layout.hpp).
template <class Object>
std::uint64_t header_checksum(const Object& object) {
  return XXH3_64bits(&object, sizeof object - sizeof object.checksum);
}

}  // namespace sluice::trace
