#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/trace/model/model.hpp"

// What the program says about itself in a recording. All of it is free when nobody records.

namespace sluice::runtime {

/// A named scope on the calling thread's track. Names are copied when the scope ends: keep the text alive until then.
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

/// A named point in time.
void mark(std::string_view name) noexcept;
/// The beginning of step `number` (from 0) of a loop.
void step(std::int64_t number, std::string_view name = "step") noexcept;

/// A value over time. Thread-safe.
class counter {
 public:
  explicit counter(std::string name, trace::counter_unit unit = trace::counter_unit::none);
  void set(double value) const noexcept;

 private:
  std::string name_;
  trace::counter_unit unit_;
  std::uint64_t key_;
};

}  // namespace sluice::runtime
