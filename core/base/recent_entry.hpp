#pragma once

#include <utility>

namespace sluice::analysis {

/// The entry of a `std::map` that was asked for last: rows that follow one another are about the same stream, pool or kind of memory,
/// and to look for it each time took a tenth of taking them in. Must not outlive the map, nor an entry that is erased. A copy of this
/// knows of none, since it may go with a copy of the map.
template <class Map>
class recent_entry {
 public:
  recent_entry() = default;
  recent_entry(const recent_entry&) noexcept {}
  recent_entry& operator=(const recent_entry&) noexcept {
    entry_ = nullptr;
    return *this;
  }
  /// `map[key]`; the same map each time.
  [[nodiscard]] typename Map::mapped_type& in(Map& map, const typename Map::key_type& key) {
    if (entry_ == nullptr || entry_->first != key) entry_ = &*map.try_emplace(key).first;
    return entry_->second;
  }

 private:
  typename Map::value_type* entry_ = nullptr;
};

}  // namespace sluice::analysis
