#pragma once

#include <utility>

namespace sluice {

/// Remembers the entry of a `std::map` that was used last. Consecutive rows usually refer to the same stream, pool or
/// kind of memory. Without this class, looking up each of these took a tenth of the time to read the rows. The object
/// must not outlive the map, and the entry must not be erased. A copy of the object remembers nothing, because it may
/// be used with a copy of the map.
template <class Map>
class recent_entry {
 public:
  recent_entry() = default;
  recent_entry(const recent_entry&) noexcept {}
  recent_entry& operator=(const recent_entry&) noexcept {  // NOLINT(bugprone-unhandled-self-assignment): it forgets.
    entry_ = nullptr;
    return *this;
  }
  /// Returns `map[key]`. All calls must pass the same map.
  [[nodiscard]] typename Map::mapped_type& in(Map& map, const typename Map::key_type& key) {
    if (entry_ == nullptr || entry_->first != key) entry_ = &*map.try_emplace(key).first;
    return entry_->second;
  }

 private:
  typename Map::value_type* entry_ = nullptr;
};

}  // namespace sluice
