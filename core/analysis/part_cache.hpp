#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "core/analysis/part_store.hpp"

namespace sluice::analysis {

/// Keeps the indexes of the parts of a recording that were asked for last, within a budget of memory. Thread-safe.
class part_cache {
 public:
  /// Keeps at most `most_bytes`, as `index::memory_bytes` counts them, but always the last one.
  part_cache(std::shared_ptr<const part_store> store, std::size_t most_bytes);

  [[nodiscard]] const part_store& store() const { return *store_; }

  /// The index of epochs [first, last]. One that is not kept is built by the caller; others who ask for it meanwhile wait. What is
  /// given out stays as long as it is held, be it kept or not. Errors as of `part_store::index_of`.
  [[nodiscard]] result<std::shared_ptr<const index>> get(std::size_t first, std::size_t last);

  /// The same if it is kept, else null. Never waits.
  [[nodiscard]] std::shared_ptr<const index> at_hand(std::size_t first, std::size_t last);

  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  using epochs = std::pair<std::size_t, std::size_t>;
  struct kept {
    epochs which;
    std::shared_ptr<const index> made;
    std::size_t bytes = 0;
  };

  /// The caller holds `mutex_`.
  [[nodiscard]] std::shared_ptr<const index> find(epochs which);
  void keep(epochs which, const std::shared_ptr<const index>& made);

  const std::shared_ptr<const part_store> store_;
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable was_built_;
  std::list<kept> kept_;  ///< The last one asked for first.
  std::set<epochs> building_;
  std::size_t bytes_ = 0;
};

}  // namespace sluice::analysis
