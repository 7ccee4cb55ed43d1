#include "core/replay/holes.hpp"

#include <iterator>

namespace sluice::replay {

void holes::put(const hole& output) {
  if (output.begin >= output.end) return;
  auto next = holes_.lower_bound(output.begin);
  if (next != holes_.begin() && std::prev(next)->second.span.end > output.begin) --next;
  while (next != holes_.end() && next->first < output.end) next = erase(next);
  hole whole = output;
  if (next != holes_.end() && next->first == output.end && next->second.span.segment == output.segment) {
    whole.end = next->second.span.end;
    next = erase(next);
  }
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->second.span.end == output.begin && before->second.span.segment == output.segment) {
      whole.begin = before->first;
      erase(before);
    }
  }
  const auto sized = sizes_[whole.group].insert({whole.bytes(), whole.begin, whole.segment}).first;
  holes_.emplace_hint(next, whole.begin, entry{whole, sized});
}

std::optional<hole> holes::take(std::uint64_t address, std::uint32_t segment) {
  auto place = holes_.upper_bound(address);
  if (place == holes_.begin()) return std::nullopt;
  --place;
  const hole found = place->second.span;
  if (found.segment != segment || address >= found.end) return std::nullopt;
  erase(place);
  return found;
}

void holes::clear(std::uint64_t begin, std::uint64_t end, std::uint32_t segment) {
  for (auto each = holes_.lower_bound(begin); each != holes_.end() && each->first < end;)
    each = each->second.span.segment == segment ? erase(each) : std::next(each);
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
  sizes_[place->second.span.group].erase(place->second.sized);
  return holes_.erase(place);
}

}  // namespace sluice::replay
