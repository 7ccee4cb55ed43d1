#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Counts the eighths of a stretch of work in which something happens. Recurring events occur in many eighths; events
/// of startup and shutdown occur in few.
namespace sluice::metrics {

/// Eight equal parts, some of them marked.
class octile_coverage {
 public:
  /// Marks the part at position `share` of the whole, where 0 is the start and 1 the end. Smaller and larger values
  /// mark the first and the last part.
  void mark(double share) { marked_.set(std::min(static_cast<std::size_t>(std::max(share, 0.0) * parts), parts - 1)); }
  /// The number of marked parts, 0 to 8.
  [[nodiscard]] std::uint64_t count() const { return marked_.count(); }
  /// True if all parts are marked, except possibly the last.
  [[nodiscard]] bool all_but_the_last() const { return (~marked_).reset(parts - 1).none(); }

 private:
  static constexpr std::size_t parts = 8;
  std::bitset<parts> marked_;
};

/// Collects the progress values at which something happened, while the total is not known yet. Keeps at most 1024
/// values, evenly chosen.
class progress_samples {
 public:
  void add(double progress) {
    if (count_++ % stride_ != 0) return;
    kept_.push_back(progress);
    if (kept_.size() < most) return;
    for (std::size_t i = 0; i < kept_.size(); i += 2) kept_[i / 2] = kept_[i];
    kept_.resize(kept_.size() / 2);
    stride_ *= 2;
  }
  /// Returns the number of eighths of `whole` that contain a value.
  [[nodiscard]] std::uint64_t spread(double whole) const {
    octile_coverage in;
    for (const double each : kept_) in.mark(whole > 0 ? each / whole : 0);
    return in.count();
  }

 private:
  static constexpr std::size_t most = 1024;  // Must be even, because `add` then drops every other value.
  std::vector<double> kept_;
  std::uint64_t count_ = 0;
  std::uint64_t stride_ = 1;
};

}  // namespace sluice::metrics
