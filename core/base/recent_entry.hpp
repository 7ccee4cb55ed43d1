#pragma once

#include <utility>

namespace sluice::analysis {

/// Remembers the last used entry of a `std::map`. Consecutive rows mostly refer to the same stream, pool or kind of
/// memory; a lookup for each row took a tenth of the time to read the rows. Must not outlive the map or the entry. A
/// copy remembers nothing, because it may belong to a copy of the map.
template <class Map>
class recent_entry {
 public:
  recent_entry() = default;
  recent_entry(const recent_entry&) noexcept {}
  recent_entry& operator=(const recent_entry&) noexcept {  // NOLINT(bugprone-unhandled-self-assignment): it forgets.
    entry_ = nullptr;
    return *this;
  }
  /// Returns `map[key]`. Pass the same map on every call.
  [[nodiscard]] typename Map::mapped_type& in(Map& map, const typename Map::key_type& key) {
    if (entry_ == nullptr || entry_->first != key) entry_ = &*map.try_emplace(key).first;
    return entry_->second;
  }

 private:
  typename Map::value_type* entry_ = nullptr;
};

}  // namespace sluice::analysis
