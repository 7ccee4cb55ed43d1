#include "core/replay/holes.hpp"

#include <iterator>

namespace sluice::replay {

void holes::put(const hole& made) {
  if (made.begin >= made.end) return;
  auto next = holes_.lower_bound(made.begin);
  if (next != holes_.begin() && std::prev(next)->second.end > made.begin) --next;
  while (next != holes_.end() && next->first < made.end) next = erase(next);
  hole whole = made;
  if (next != holes_.end() && next->first == made.end && next->second.segment == made.segment) {
    whole.end = next->second.end;
    next = erase(next);
  }
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end == made.begin && before->second.segment == made.segment) {
      whole.begin = before->first;
      erase(before);
    }
  }
  holes_.emplace_hint(next, whole.begin, whole);
  sizes_[whole.group].insert(sized(whole));
}

std::optional<hole> holes::take(std::uint64_t address, std::uint32_t segment) {
  auto place = holes_.upper_bound(address);
  if (place == holes_.begin()) return std::nullopt;
  --place;
  const hole found = place->second;
  if (found.segment != segment || address >= found.end) return std::nullopt;
  erase(place);
  return found;
}

void holes::clear(std::uint64_t begin, std::uint64_t end, std::uint32_t segment) {
  for (auto each = holes_.lower_bound(begin); each != holes_.end() && each->first < end;)
    each = each->second.segment == segment ? erase(each) : std::next(each);
}

std::optional<sized_hole> holes::first_from(std::uint32_t group, const sized_hole& least) const {
  return at(group, sizes_[group].lower_bound(least));
}

std::optional<sized_hole> holes::first_after(std::uint32_t group, const sized_hole& before) const {
  return at(group, sizes_[group].upper_bound(before));
}

std::optional<sized_hole> holes::at(std::uint32_t group, by_size::const_iterator place) const {
  return place == sizes_[group].end() ? std::nullopt : std::optional(*place);
}

holes::by_address::iterator holes::erase(by_address::iterator place) {
  sizes_[place->second.group].erase(sized(place->second));
  return holes_.erase(place);
}

}  // namespace sluice::replay
