#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::query {

/// Sends queries to another process, which has the recording. An engine with `engine_options::elsewhere` sends it all
/// queries. Thread-safe.
class answerer {
 public:
  struct reply {
    std::vector<std::byte> bytes;  ///< For `decode_result`. Not trusted.
    bool last = false;             ///< True if the result is complete. Otherwise a better one follows.
    float progress = 0;            ///< 0..1
  };
  /// Called on any thread, also within `ask`. Not called again after an error or the last reply.
  using on_reply = std::function<void(result<reply>)>;

  virtual ~answerer() = default;
  /// Sends a query encoded by `encode_query`. Does not wait. Returns an id for `withdraw`.
  virtual std::uint64_t ask(const std::vector<std::byte>& query, on_reply then) = 0;
  /// Cancels a query. `then` may still be called once, if a reply arrives at the same time.
  virtual void withdraw(std::uint64_t id) = 0;
  /// False once the other process can no longer be reached.
  [[nodiscard]] virtual bool alive() const = 0;
  /// True while a query waits for its last reply.
  [[nodiscard]] virtual bool busy() const = 0;
  /// A snapshot of a growing recording that is newer than `known`, the last one; null if there is none. May wait.
  [[nodiscard]] virtual std::shared_ptr<trace::file> newer_than(const trace::snapshot& known) = 0;
};

}  // namespace sluice::query
