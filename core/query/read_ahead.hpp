#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/part_cache.hpp"
#include "core/analysis/time_range.hpp"

namespace sluice::query {

using analysis::time_ns;
using analysis::time_range;

/// Reads the epochs that a moving view is about to show below their tiles, before anybody waits for them: those in view and as far
/// as half a view beside it, what the zoom goes towards first. Thread-safe.
class read_ahead {
 public:
  explicit read_ahead(std::shared_ptr<analysis::part_cache> parts) : parts_(std::move(parts)) {}

  /// A view shows `range`. True if there is now something to read and nobody does: then `work` is to be called until it says no.
  /// A view that stands still reads nothing ahead. O(1).
  [[nodiscard]] bool look(time_range range);

  /// Reads one epoch of those that the last view is about; false if none is left.
  [[nodiscard]] bool work();

 private:
  /// A view over more epochs is too far away: those it shows would not be those that are wanted.
  static constexpr std::size_t most_epochs = 12;

  const std::shared_ptr<analysis::part_cache> parts_;
  std::mutex mutex_;  ///< Guards what follows; held for moments.
  std::optional<time_range> seen_;
  std::vector<std::size_t> wanted_;  ///< Epochs, each once, the last one first.
  bool working_ = false;
};

}  // namespace sluice::query
