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

/// Keeps the indexes of the parts of a recording that were asked for last, within a budget of memory. Thread-safe.
class section_cache {
 public:
  /// Keeps at most `most_bytes`, as `index::memory_bytes` counts them, but always the last one.
  section_cache(std::shared_ptr<const section_reader> store, std::size_t most_bytes);

  [[nodiscard]] const section_reader& store() const { return *store_; }

  /// An index of sections [first, last] of that scope or a wider one. One that is not kept is built by the caller; others who ask for it
  /// meanwhile wait. What is given out stays as long as it is held, be it kept or not. Errors as of `section_reader::index_of`: who gives up
  /// does not keep others from it.
  [[nodiscard]] result<std::shared_ptr<const index>> get(std::size_t first, std::size_t last, section_scope scope,
                                                         const std::function<bool()>& goes_on = {});

  /// An index of each of some sections alone, as `get` gives it; null where that fails. Callers who ask for the same at a time share the
  /// work: none waits while one is left that nobody builds.
  [[nodiscard]] std::vector<std::shared_ptr<const index>> get_each(std::span<const std::size_t> sections,
                                                                   section_scope scope,
                                                                   const std::function<bool()>& goes_on = {});

  /// Builds that of a section before it is asked for, and calls `goes_on` now and then meanwhile: see `section_reader::index_of`. False if it is
  /// kept, or somebody builds it: never waits for that. What fails is told to whoever asks.
  bool prepare(std::size_t section, section_scope scope, const std::function<bool()>& goes_on);

  /// The same if it is kept, else null. Never waits.
  [[nodiscard]] std::shared_ptr<const index> at_hand(std::size_t first, std::size_t last, section_scope scope);

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
