#include "instrumentation/backend/suballocator.hpp"

#include <algorithm>
#include <iterator>

namespace sluice::backend {

std::uint64_t suballocator::round_up(std::uint64_t bytes) const noexcept {
  const std::uint64_t rounded = (bytes + alignment_ - 1) & ~(alignment_ - 1);
  if (rounded < bytes) return ~std::uint64_t{0} & ~(alignment_ - 1);  // overflow: no block is that large
  return std::max(rounded, alignment_);
}

void suballocator::insert_free(const block& b) { free_[b.tag].emplace(b.bytes, b.address); }

void suballocator::erase_free(const block& b) {
  const auto it = free_.find(b.tag);
  if (it == free_.end()) return;
  it->second.erase({b.bytes, b.address});
  if (it->second.empty()) free_.erase(it);
}

void suballocator::add_segment(std::uint64_t address, std::uint64_t bytes) {
  block b;
  b.address = address;
  b.bytes = bytes;
  b.segment = address;
  segments_.emplace(address, bytes);
  blocks_.emplace(address, b);
  insert_free(b);
  reserved_ += bytes;
}

std::optional<suballocator::block> suballocator::take(std::uint64_t bytes, std::uint64_t tag) {
  const std::uint64_t want = round_up(bytes);
  std::optional<std::pair<std::uint64_t, std::uint64_t>> best;
  for (const std::uint64_t t : {tag, clean}) {
    const auto list = free_.find(t);
    if (list == free_.end()) continue;
    const auto fit = list->second.lower_bound({want, 0});
    if (fit != list->second.end() && (!best || *fit < *best)) best = *fit;
  }
  if (!best) return std::nullopt;

  block& b = blocks_.find(best->second)->second;
  erase_free(b);
  if (b.bytes > want) {
    block rest = b;
    rest.address += want;
    rest.bytes -= want;
    b.bytes = want;
    blocks_.emplace(rest.address, rest);
    insert_free(rest);
  }
  b.free = false;
  b.requested = bytes;
  used_ += b.bytes;
  requested_ += bytes;
  ++used_blocks_;
  return b;
}

std::optional<suballocator::block> suballocator::give(std::uint64_t address, std::uint64_t tag) {
  const auto it = blocks_.find(address);
  if (it == blocks_.end() || it->second.free) return std::nullopt;
  const block was = it->second;
  used_ -= was.bytes;
  requested_ -= was.requested;
  --used_blocks_;
  it->second.free = true;
  it->second.requested = 0;
  it->second.tag = tag;
  insert_free(it->second);
  coalesce(it);
  return was;
}

void suballocator::coalesce(std::map<std::uint64_t, block>::iterator at) {
  const auto joins = [](const block& a, const block& b) {
    return a.free && b.free && a.tag == b.tag && a.segment == b.segment && a.address + a.bytes == b.address;
  };
  if (at != blocks_.begin()) {
    const auto before = std::prev(at);
    if (joins(before->second, at->second)) at = before;
  }
  for (auto next = std::next(at); next != blocks_.end() && joins(at->second, next->second); next = std::next(at)) {
    erase_free(at->second);
    erase_free(next->second);
    at->second.bytes += next->second.bytes;
    insert_free(at->second);
    blocks_.erase(next);
  }
}

std::vector<std::uint64_t> suballocator::tags() const {
  std::vector<std::uint64_t> out;
  for (const auto& [tag, list] : free_) {
    if (tag != clean) out.push_back(tag);
  }
  return out;
}

void suballocator::retag(std::uint64_t begin, std::uint64_t to) {
  const auto it = free_.find(begin);
  if (it == free_.end() || begin == to) return;
  const free_set moving = std::move(it->second);
  free_.erase(it);
  for (const auto& [bytes, address] : moving) {
    block& b = blocks_.find(address)->second;
    b.tag = to;
    insert_free(b);
  }
  for (const auto& [bytes, address] : moving) {
    // This block may have been merged into its neighbor in an earlier iteration.
    const auto at = blocks_.find(address);
    if (at != blocks_.end()) coalesce(at);
  }
}

std::vector<suballocator::segment> suballocator::release(std::uint64_t keep_bytes) {
  std::vector<segment> out;
  for (auto it = segments_.end(); it != segments_.begin();) {
    --it;
    if (reserved_ - it->second < keep_bytes) continue;
    const auto b = blocks_.find(it->first);
    if (!b->second.free || b->second.tag != clean || b->second.bytes != it->second) continue;
    out.push_back({it->first, it->second});
    erase_free(b->second);
    blocks_.erase(b);
    reserved_ -= it->second;
    it = segments_.erase(it);
  }
  return out;
}

suballocator::totals suballocator::stats() const noexcept {
  totals t;
  t.reserved_bytes = reserved_;
  t.used_bytes = used_;
  t.requested_bytes = requested_;
  t.used_blocks = used_blocks_;
  t.free_blocks = blocks_.size() - used_blocks_;
  t.segments = segments_.size();
  for (const auto& [tag, list] : free_) t.largest_free_bytes = std::max(t.largest_free_bytes, list.rbegin()->first);
  return t;
}

const suballocator::block* suballocator::find(std::uint64_t address) const noexcept {
  const auto it = blocks_.find(address);
  return it == blocks_.end() ? nullptr : &it->second;
}

}  // namespace sluice::backend
