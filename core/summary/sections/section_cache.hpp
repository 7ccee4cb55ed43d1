#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/shared_cache.hpp"
#include "core/summary/sections/section_reader.hpp"

namespace sluice::analysis {

/// Caches the indexes of recently used sections within a memory budget. Thread-safe.
class section_cache {
 public:
  /// Caches at most `most_bytes`, as counted by `index::memory_bytes`, but always keeps the latest index.
  section_cache(std::shared_ptr<const section_reader> store, std::size_t most_bytes);

  [[nodiscard]] const section_reader& store() const { return *store_; }

  /// Returns an index of sections [first, last] with `scope` or a wider one. If the index is not cached, the first
  /// caller builds it; other callers wait. The index stays valid while it is held, even if it leaves the cache. Errors:
  /// as for `section_reader::index_of`; a caller that cancels does not affect others.
  [[nodiscard]] result<std::shared_ptr<const index>> get(std::size_t first, std::size_t last, section_scope scope,
                                                         const std::function<bool()>& goes_on = {});

  /// Returns one index per section of `sections`, as `get` does; null where that fails. Concurrent callers share the
  /// work: a caller waits only when other threads are building all indexes that are still missing.
  [[nodiscard]] std::vector<std::shared_ptr<const index>> get_each(std::span<const std::size_t> sections,
                                                                   section_scope scope,
                                                                   const std::function<bool()>& goes_on = {});

  /// Builds a section's index before it is needed; calls `goes_on` as `section_reader::index_of` does. Returns false at
  /// once if the index is cached or being built. Errors are not reported: the next `get` tries again.
  bool prepare(std::size_t section, section_scope scope, const std::function<bool()>& goes_on);

  /// Returns the index that `get` would, if it is cached, else null. Never waits.
  [[nodiscard]] std::shared_ptr<const index> at_hand(std::size_t first, std::size_t last, section_scope scope);

  /// Keeps what `before`, of an earlier summary of the same growing recording, has for drawing of its first `settled` sections, which are
  /// the same here.
  void take_over(const section_cache& before, std::size_t settled);

  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct wanted {
    std::size_t first, last;
    section_scope scope;
    friend auto operator<=>(const wanted&, const wanted&) = default;
    [[nodiscard]] bool is_in(const wanted& other) const {
      return first == other.first && last == other.last && analysis::is_in(scope, other.scope);
    }
  };
  [[nodiscard]] std::vector<result<std::shared_ptr<const index>>> get_all(std::span<const wanted> all,
                                                                          const std::function<bool()>& goes_on);
  const std::shared_ptr<const section_reader> store_;
  shared_cache<wanted, index> kept_;
};

}  // namespace sluice::analysis
