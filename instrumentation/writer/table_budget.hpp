#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/format.hpp"

namespace sluice::collector {

/// What processes may declare.
enum class declared : std::uint8_t {
  name,
  thread,
  device,
  context,
  stream,
  pool,
  counter,
  pool_stream,
  event,
  frame,
  stack
};

/// The memory that all which is declared may take together: a process that declares without end must not take the writer's. What comes once it
/// is spent is left out and counted. Not thread-safe.
class table_budget {
 public:
  /// Names of 100 letters: a million of them. Large trainings have a tenth of that.
  static constexpr std::size_t usual_bytes = std::size_t{256} << 20;

  explicit table_budget(std::size_t bytes = usual_bytes) : left_(bytes) {}

  /// False: there is no room for it, and it is counted.
  bool take(declared what, std::size_t bytes) {
    if (bytes <= left_) {
      left_ -= bytes;
      return true;
    }
    ++left_out_[static_cast<std::size_t>(what)];
    return false;
  }

  /// "1,204 names, 3 streams", as often as they were declared; empty if all is kept.
  [[nodiscard]] std::string left_out() const {
    static constexpr std::array<const char*, kinds> nouns = {"name",         "thread", "device",  "context",
                                                             "stream",       "pool",   "counter", "pool stream",
                                                             "event handle", "frame",  "stack"};
    std::string text;
    for (std::size_t i = 0; i < kinds; ++i) {
      if (left_out_[i] != 0) text += (text.empty() ? "" : ", ") + format_some(left_out_[i], nouns[i]);
    }
    return text;
  }

 private:
  static constexpr std::size_t kinds = 11;
  std::size_t left_;
  std::array<std::uint64_t, kinds> left_out_{};
};

}  // namespace sluice::collector
