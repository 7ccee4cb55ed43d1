#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::query {

/// Has questions answered by another process, which has the recording: an engine with `engine_options::elsewhere` asks
/// nothing else. Thread-safe.
class answerer {
 public:
  struct reply {
    std::vector<std::byte> bytes;  ///< For `decode_answer`. Not trusted.
    bool last = false;             ///< The answer is complete. Otherwise a better one follows.
    float progress = 0;            ///< 0..1
  };
  /// Called on any thread, also within `ask`. After an error, or a reply that is the last, not again.
  using on_reply = std::function<void(result<reply>)>;

  virtual ~answerer() = default;
  /// Asks a question, made by `encode_question`. Does not wait. Returns a number for `withdraw`.
  virtual std::uint64_t ask(const std::vector<std::byte>& question, on_reply then) = 0;
  /// The answer is not wanted any more. `then` may be called once more if that happens at the same time.
  virtual void withdraw(std::uint64_t id) = 0;
  /// False once the other process cannot be reached any more.
  [[nodiscard]] virtual bool alive() const = 0;
  /// True while a question waits for its last reply.
  [[nodiscard]] virtual bool busy() const = 0;
  /// A newer state of a recording that grows, of which `known` was the last; null if there is none. May wait.
  [[nodiscard]] virtual std::shared_ptr<trace::file> newer_than(const trace::snapshot& known) = 0;
};

}  // namespace sluice::query
