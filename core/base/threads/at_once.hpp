#pragma once

#include <functional>
#include <span>

namespace sluice {

/// Does all pieces of work at the same time, each on a thread of its own (one on the calling thread), and returns when
/// all have ended. A piece for which the system gives no thread runs on the calling thread. Rethrows what a piece throws.
void do_at_once(std::span<const std::function<void()>> pieces);

}  // namespace sluice
