#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/format.hpp"

namespace sluice::writer {

/// Kinds of table entries that processes can declare.
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

/// A memory limit for all declarations of all processes, so that a process with endless declarations does
/// not use up the writer's memory. Declarations beyond the limit are ignored and counted. Not thread-safe.
class table_budget {
 public:
  /// Enough for a million names of 100 characters; large training runs have a tenth of that.
  static constexpr std::size_t usual_bytes = std::size_t{256} << 20;

  explicit table_budget(std::size_t bytes = usual_bytes) : left_(bytes) {}

  /// Reserves `bytes`. If the limit is reached, counts the declaration as left out and returns false.
  bool take(declared kind, std::size_t bytes) {
    if (bytes <= left_) {
      left_ -= bytes;
      return true;
    }
    ++left_out_[static_cast<std::size_t>(kind)];
    return false;
  }

  /// The number of ignored declarations by kind, such as "1,204 names, 3 streams"; empty if there are none.
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

}  // namespace sluice::writer
