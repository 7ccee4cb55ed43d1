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

/// Runs encoded queries on an engine, in the process that has the recording. Use from one thread.
class question_desk {
 public:
  /// An open query.
  class asked {
   public:
    virtual ~asked() = default;
    struct state {
      bool changed = false;  ///< True if there is a value that was not encoded yet.
      bool complete = false;
      float progress = 0;
      std::optional<error> failure;
    };
    [[nodiscard]] virtual state look(engine& source) = 0;
    [[nodiscard]] virtual std::vector<std::byte> encode() = 0;
  };

  /// Maximum number of open queries; a view has only a few.
  static constexpr std::size_t max_open = 512;

  explicit question_desk(engine& source) : from_(source) {}

  /// Opens a query. Errors: invalid_argument (`query` is malformed or exceeds limits, or too many queries are open).
  [[nodiscard]] result<void> ask(std::uint64_t id, std::span<const std::byte> query);
  void withdraw(std::uint64_t id) { open_.erase(id); }
  [[nodiscard]] bool empty() const { return open_.empty(); }

  struct outcome {
    std::uint64_t id = 0;
    std::vector<std::byte> bytes;  ///< Encoded; empty after a failure.
    bool last = false;
    float progress = 0;
    std::optional<error> failure;
  };
  /// The next available result, earliest query first. If there is none, call again when the engine wakes. An incomplete
  /// result is returned at most every quarter of a second per query.
  [[nodiscard]] std::optional<outcome> next();

 private:
  using steady = std::chrono::steady_clock;
  struct entry {
    std::unique_ptr<asked> query;
    steady::time_point reported = steady::now();
  };
  engine& from_;
  std::map<std::uint64_t, entry> open_;
};

}  // namespace sluice::query
