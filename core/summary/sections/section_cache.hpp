#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/shared_cache.hpp"
#include "core/summary/sections/section_reader.hpp"

namespace sluice::summary {

/// Caches the event stores of recently used sections within a memory budget. Thread-safe.
class section_cache {
 public:
  /// Caches at most `max_bytes`, as `event_store::memory_bytes` counts them, but always keeps the most recent event
  /// store.
  section_cache(std::shared_ptr<const section_reader> store, std::size_t max_bytes);

  [[nodiscard]] const section_reader& store() const { return *store_; }

  /// Returns an event store of sections [first, last] with `scope` or a wider scope. If it is not cached, the first
  /// caller builds it while other callers wait. The event store stays valid while the caller holds it, even if it
  /// leaves the cache. Errors: those of `section_reader::get_index`. A caller that cancels does not affect other
  /// callers.
  [[nodiscard]] result<std::shared_ptr<const index::event_store>> get(std::size_t first, std::size_t last,
                                                                      index::section_scope scope,
                                                                      const std::function<bool()>& goes_on = {});

  /// Returns one event store for each section in `sections`, as `get` does; null where `get` would return an error.
  /// Concurrent callers share the work: a caller waits only if other threads are building all event stores that are
  /// still missing.
  [[nodiscard]] std::vector<std::shared_ptr<const index::event_store>> get_each(
      std::span<const std::size_t> sections, index::section_scope scope, const std::function<bool()>& goes_on = {});

  /// Builds a section's event store before it is needed. Calls `goes_on` as `section_reader::get_index` does. Returns
  /// false at once if the event store is cached or being built. Errors are not reported, because the next `get` tries
  /// again.
  bool prepare(std::size_t section, index::section_scope scope, const std::function<bool()>& goes_on);

  /// Returns the event store that `get` would return if it is cached, else null. Never waits.
  [[nodiscard]] std::shared_ptr<const index::event_store> at_hand(std::size_t first, std::size_t last,
                                                                  index::section_scope scope);

  /// Takes over drawing data from `before`, the cache of an earlier summary of the same growing recording. Takes only
  /// the data of the first `settled` sections, which are the same in this summary.
  void take_over(const section_cache& before, std::size_t settled);

  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct wanted {
    std::size_t first, last;
    index::section_scope scope;
    friend auto operator<=>(const wanted&, const wanted&) = default;
    [[nodiscard]] bool is_in(const wanted& other) const {
      return first == other.first && last == other.last && index::is_in(scope, other.scope);
    }
  };
  [[nodiscard]] std::vector<result<std::shared_ptr<const index::event_store>>> get_all(
      std::span<const wanted> wanteds, const std::function<bool()>& goes_on);
  const std::shared_ptr<const section_reader> store_;
  shared_cache<wanted, index::event_store> kept_;
};

}  // namespace sluice::summary
