#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

/// In which parts of a stretch of work something happens: what recurs happens in many, what starts or ends in few.
namespace sluice::analysis {

/// Eight equal parts, and those in which something was marked.
class eighths {
 public:
  /// Marks the part that `share` of the whole lies in; 0: the begin, 1: the end. What lies outside counts for the nearest.
  void mark(double share) { marked_.set(std::min(static_cast<std::size_t>(std::max(share, 0.0) * parts), parts - 1)); }
  /// How many parts are marked, 0 to 8.
  [[nodiscard]] std::uint64_t count() const { return marked_.count(); }
  /// True if all are, the last one aside.
  [[nodiscard]] bool all_but_the_last() const { return (~marked_).reset(parts - 1).none(); }

 private:
  static constexpr std::size_t parts = 8;
  std::bitset<parts> marked_;
};

/// When something happened, as what had been done of a whole that is not known yet. Keeps at most 1024 moments, evenly chosen.
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
  /// In how many eighths of `whole` they lie.
  [[nodiscard]] std::uint64_t spread(double whole) const {
    eighths in;
    for (const double each : kept_) in.mark(whole > 0 ? each / whole : 0);
    return in.count();
  }

 private:
  static constexpr std::size_t most = 1024;  // Even.
  std::vector<double> kept_;
  std::uint64_t count_ = 0;
  std::uint64_t stride_ = 1;
};

}  // namespace sluice::analysis
