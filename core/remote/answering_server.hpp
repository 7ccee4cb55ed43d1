#pragma once

#include <memory>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::remote {

/// Serves `sluice serve --stdio`: reads a peer's requests for the bytes of `recording`, and its SQL, from `in`, and
/// writes the replies to `out` until `in` ends (protocol.md). Makes `out` non-blocking. Errors: io; foreign, if the peer uses another protocol or does
/// not greet in time.
[[nodiscard]] result<void> result_on(int in, int out, std::shared_ptr<trace::file> recording);

}  // namespace sluice::remote
