#include "core/replay/freed_blocks.hpp"

#include <algorithm>
#include <iterator>

namespace sluice::replay {
namespace {

/// Returns the first block that ends after `begin`. No two of `blocks` may overlap.
template <class ByAddress>
auto first_behind(ByAddress& blocks, std::uint64_t begin) {
  const auto next = blocks.lower_bound(begin);
  return next != blocks.begin() && std::prev(next)->second.end > begin ? std::prev(next) : next;
}

}  // namespace

void freed_blocks::add(const freed_block& block) {
  forget(block.begin, block.end);
  may_be_free_.emplace(block.begin, block);
  events_.set(get_place(block.begin), block.event + 1);
}

void freed_blocks::forget(std::uint64_t begin, std::uint64_t end) {
  for (auto each = first_behind(may_be_free_, begin); each != may_be_free_.end() && each->first < end;)
    each = erase(each);
}

std::optional<freed_block> freed_blocks::take_latest(std::uint64_t begin, std::uint64_t end) {
  const std::size_t latest = events_.greatest_in(get_place(begin), get_place(end));
  if (latest == range_maximum::none) return std::nullopt;
  const auto block = may_be_free_.find(begins_[latest]);
  const freed_block taken = block->second;
  erase(block);
  return taken;
}

/// Returns the position of the first element of `begins_` that is not below `begin`.
std::size_t freed_blocks::get_place(std::uint64_t begin) const {
  return static_cast<std::size_t>(std::lower_bound(begins_.begin(), begins_.end(), begin) - begins_.begin());
}

freed_blocks::by_address::iterator freed_blocks::erase(by_address::iterator block) {
  events_.set(get_place(block->first), 0);
  return may_be_free_.erase(block);
}

bool freed_blocks::hold(const freed_block& block) {
  if (last_held(block.begin, block.end)) return false;
  held_.emplace(block.begin, block);
  held_order_.emplace(block.event, block.begin);
  return true;
}

std::optional<std::uint32_t> freed_blocks::last_held(std::uint64_t begin, std::uint64_t end) const {
  std::optional<std::uint32_t> last;
  for (auto each = first_behind(held_, begin); each != held_.end() && each->first < end; ++each)
    last = std::max(last.value_or(0), each->second.event);
  return last;
}

std::optional<freed_block> freed_blocks::release(std::uint32_t until) {
  if (held_order_.empty() || held_order_.begin()->first > until) return std::nullopt;
  const auto first = held_.extract(held_order_.begin()->second);
  held_order_.erase(held_order_.begin());
  return first.mapped();
}

}  // namespace sluice::replay
