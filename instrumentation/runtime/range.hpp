#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/trace/model/model.hpp"

// Ranges, markers, steps and counters that a program adds to a recording. The cost is negligible if nothing is
// recorded.

namespace sluice::runtime {

/// Records a named scope of the calling thread. The name is copied at the end of the scope, so keep the text alive
/// until then.
class scoped_range {
 public:
  explicit scoped_range(std::string_view name) noexcept;
  ~scoped_range();
  scoped_range(const scoped_range&) = delete;
  scoped_range& operator=(const scoped_range&) = delete;

 private:
  std::string_view name_;
  std::uint64_t begin_;
};

/// Records a named point in time. Thread-safe; copies the name.
void mark(std::string_view name) noexcept;
/// Records the beginning of step `number` (from 0) of a loop.
void step(std::int64_t number, std::string_view name = "step") noexcept;

/// Records a value over time. Thread-safe.
class counter {
 public:
  /// Counters with the same name are the same counter.
  explicit counter(std::string name, trace::counter_unit unit = trace::counter_unit::none);
  /// Records the current value.
  void set(double value) const noexcept;

 private:
  std::string name_;
  trace::counter_unit unit_;
  std::uint64_t key_;
};

}  // namespace sluice::runtime
