#pragma once

#include <memory>

#include "core/base/error.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::remote {

/// Serves `sluice serve --stdio`: reads a peer's queries about `recording` from `in` and writes results to `out` until
/// `in` ends (protocol.md). Makes `out` non-blocking. Errors: io; foreign, if the peer uses another protocol or does
/// not greet in time.
[[nodiscard]] result<void> result_on(int in, int out, std::shared_ptr<trace::file> recording);

}  // namespace sluice::remote
