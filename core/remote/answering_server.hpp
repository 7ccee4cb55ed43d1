#pragma once

#include <memory>

#include "core/base/error.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::remote {

/// Answers a peer's questions about `recording` on the streams `in` and `out` until `in` ends (protocol.md): for
/// `sluice serve --stdio`. Makes `out` non-blocking. Errors: io; foreign, if the peer speaks another language or is
/// silent at first.
[[nodiscard]] result<void> answer_on(int in, int out, std::shared_ptr<trace::file> recording);

}  // namespace sluice::remote
