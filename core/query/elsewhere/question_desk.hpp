#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::query {

/// Answers encoded questions from an engine, for a process that has the recording. Use from one thread.
class question_desk {
 public:
  /// A question that is open.
  class asked {
   public:
    virtual ~asked() = default;
    struct state {
      bool changed = false;  ///< There is a value that was not encoded yet.
      bool complete = false;
      float progress = 0;
      std::optional<error> failure;
    };
    [[nodiscard]] virtual state look(engine& from) = 0;
    [[nodiscard]] virtual std::vector<std::byte> encode() = 0;
  };

  /// The most questions that are open at once; a view has few.
  static constexpr std::size_t most_open = 512;

  explicit question_desk(engine& from) : from_(from) {}

  /// Opens a question. Errors: invalid_argument (it is no question, asks for too much, or too many are open).
  [[nodiscard]] result<void> ask(std::uint64_t id, std::span<const std::byte> question);
  void withdraw(std::uint64_t id) { open_.erase(id); }
  [[nodiscard]] bool empty() const { return open_.empty(); }

  struct outcome {
    std::uint64_t id = 0;
    std::vector<std::byte> bytes;  ///< Encoded; empty after a failure.
    bool last = false;
    float progress = 0;
    std::optional<error> failure;
  };
  /// The next answer that is ready, earliest question first; none: look again when the engine wakes. An answer that is
  /// not complete is handed out if the question has waited for a quarter of a second, and no more often.
  [[nodiscard]] std::optional<outcome> next();

 private:
  using steady = std::chrono::steady_clock;
  struct entry {
    std::unique_ptr<asked> question;
    steady::time_point told = steady::now();
  };
  engine& from_;
  std::map<std::uint64_t, entry> open_;
};

}  // namespace sluice::query
