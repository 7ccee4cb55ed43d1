#include "core/import/call_table.hpp"

#include <algorithm>

namespace sluice::importing {

call_table::slot& call_table::get_slot(std::uint64_t number) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = static_cast<std::size_t>((number * 0x9e3779b97f4a7c15U) >> 32U) & mask;
  while (slots_[at].number != 0 && slots_[at].number != number) at = (at + 1) & mask;
  return slots_[at];
}

void call_table::put(std::uint64_t key, const call& output) {
  if (key == 0) return;
  const std::uint64_t number = (key >> page_bits) + 1;
  if (last_.number != number) {
    if ((pages_.size() + 1) * 3 > slots_.size() * 2) {
      std::vector<slot> old(std::max<std::size_t>(64, slots_.size() * 2));
      old.swap(slots_);
      for (const slot& each : old)
        if (each.number != 0) get_slot(each.number) = each;
    }
    slot& place = get_slot(number);
    if (place.number == 0) place = {number, &pages_.emplace_back()};
    last_ = place;
  }
  (*last_.at)[key & ((1U << page_bits) - 1)] = output;
}

const call_table::call* call_table::find(std::uint64_t key) {
  if (slots_.empty() || key == 0) return nullptr;
  const std::uint64_t number = (key >> page_bits) + 1;
  if (last_.number != number) {
    const slot& place = get_slot(number);
    if (place.number == 0) return nullptr;
    last_ = place;
  }
  const call& found = (*last_.at)[key & ((1U << page_bits) - 1)];
  return found.id == trace::event_id::none ? nullptr : &found;
}

}  // namespace sluice::importing
