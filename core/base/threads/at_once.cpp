#include "core/base/threads/at_once.hpp"

#include <future>
#include <system_error>
#include <vector>

#include "core/base/threads/worker_thread.hpp"

namespace sluice {

void do_at_once(std::span<const std::function<void()>> pieces) {
  if (pieces.empty()) return;
  std::vector<std::future<void>> others;  // Their destructors wait, also if a piece throws.
  others.reserve(pieces.size() - 1);
  for (const std::function<void()>& piece : pieces.first(pieces.size() - 1)) {
    try {
      others.push_back(start_async([&piece] { piece(); }));
    } catch (const std::system_error&) {
      piece();
    }
  }
  pieces.back()();
  for (std::future<void>& other : others) other.get();
}

}  // namespace sluice
