#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace sluice::summary {

/// Decides when the processing of a growing recording should start from scratch to include rows that arrived late. This
/// is the case once a new start takes at most a tenth of the time since the last start. Its duration is estimated from
/// the time per event after the last start.
class new_beginning {
 public:
  /// Must be called after each result. Only the first call counts.
  void ended(std::uint64_t events) {
    if (!first_) first_ = {steady::now() - begun_, events == 0 ? 1 : events};
  }
  [[nodiscard]] bool is_worth_another(std::uint64_t events) const {
    if (!first_) return false;
    const std::chrono::duration<double> took = first_->took;
    const double expected = took.count() * static_cast<double>(events) / static_cast<double>(first_->events);
    return std::chrono::duration<double>(steady::now() - begun_).count() >= worth_times * expected;
  }

 private:
  using steady = std::chrono::steady_clock;
  static constexpr double worth_times = 10;
  struct first_of_it {
    steady::duration took;
    std::uint64_t events;
  };
  steady::time_point begun_ = steady::now();
  std::optional<first_of_it> first_;
};

}  // namespace sluice::summary
