#include "instrumentation/runtime/pool/pool_heap.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

namespace sluice::runtime::pooling {

namespace {

constexpr std::size_t blocks_a_slab = 256;

// Number of blocks that a quick search checks in one list; `take_any` checks the whole list.
constexpr int looks = 4;

std::uint64_t get_begin(const block& b) { return b.address.load(std::memory_order_relaxed); }
std::uint64_t get_end(const block& b) { return get_begin(b) + b.bytes; }
void place(block& b, std::uint64_t address) { b.address.store(address, std::memory_order_relaxed); }

}  // namespace

// --- blocks and their addresses ----------------------------------------------------------------------------

/// Reserves the three blocks that one operation may need, so that no operation fails halfway.
void pool_heap::make_room() {
  index_.reserve();
  if (spares_ >= 3) return;
  slabs_.push_back(std::make_unique<block[]>(blocks_a_slab));
  for (std::size_t i = 0; i < blocks_a_slab; ++i) drop_block(&slabs_.back()[i]);
}

block* pool_heap::make_block() noexcept {
  --spares_;
  block* b = spare_;
  spare_ = b->next_spare;
  b->before = b->after = b->next = b->previous = nullptr;
  b->arena.store(nullptr, std::memory_order_relaxed);
  b->recorded = 0;
  b->freed_at = 0;
  return b;
}

void pool_heap::drop_block(block* b) noexcept {
  b->state.store(block_state::free, std::memory_order_relaxed);
  b->next_spare = spare_;
  spare_ = b;
  ++spares_;
}

// --- lists -------------------------------------------------------------------------------------------------

void pool_heap::link(block* b, zone& to) noexcept {
  block*& head = to.lists[b->bin];
  b->home = &to;
  b->previous = nullptr;
  b->next = head;
  if (head != nullptr) head->previous = b;
  head = b;
  to.filled[b->bin / 64] |= std::uint64_t{1} << (b->bin % 64);
  to.bytes += b->bytes;
  ++to.blocks;
}

void pool_heap::unlink(block* b) noexcept {
  zone& source = *b->home;
  if (b->next != nullptr) b->next->previous = b->previous;
  if (b->previous != nullptr) {
    b->previous->next = b->next;
  } else {
    source.lists[b->bin] = b->next;
    if (b->next == nullptr) source.filled[b->bin / 64] &= ~(std::uint64_t{1} << (b->bin % 64));
  }
  b->home = nullptr;
  source.bytes -= b->bytes;
  --source.blocks;
}

/// In the list of the exact size, checks only the first blocks. Every block in a later list fits.
block* pool_heap::first_fit(const zone& in, std::uint64_t bytes) noexcept {
  if (in.bytes < bytes) return nullptr;
  const std::uint64_t granules = bytes / granule;
  const std::size_t own = get_size_class(granules);
  int left = looks;
  for (block* b = in.lists[own]; b != nullptr && left != 0; b = b->next, --left) {
    if (b->bytes >= bytes) return b;
  }
  const std::size_t begin = own + 1;
  for (std::size_t word = begin / 64; word < in.filled.size(); ++word) {
    std::uint64_t bits = in.filled[word];
    if (word == begin / 64) bits &= ~std::uint64_t{0} << (begin % 64);
    if (bits != 0) return in.lists[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
  }
  return nullptr;
}

block* pool_heap::any_fit(const zone& in, std::uint64_t bytes) noexcept {
  if (in.bytes < bytes) return nullptr;
  if (block* sure = first_fit(in, bytes)) return sure;
  for (block* b = in.lists[get_size_class(bytes / granule)]; b != nullptr; b = b->next) {
    if (b->bytes >= bytes) return b;
  }
  return nullptr;
}

// --- taking and giving -------------------------------------------------------------------------------------

/// Takes the first `bytes` of a free block out of its list. The rest stays in its zone.
block* pool_heap::split(block* b, std::uint64_t bytes) {
  make_room();
  zone& home = *b->home;
  unlink(b);
  if (b->bytes != bytes) {
    block* rest = make_block();
    place(*rest, get_begin(*b) + bytes);
    index_.insert(rest);
    rest->bytes = b->bytes - bytes;
    rest->bin = static_cast<std::uint16_t>(get_size_class(rest->bytes / granule));
    rest->trace_address = b->trace_address == 0 ? 0 : b->trace_address + bytes;
    rest->parent = b->parent;
    rest->freed_at = b->freed_at;
    rest->before = b;
    rest->after = b->after;
    if (rest->after != nullptr) rest->after->before = rest;
    b->after = rest;
    b->bytes = bytes;
    b->bin = static_cast<std::uint16_t>(get_size_class(bytes / granule));
    link(rest, home);
  }
  b->state.store(block_state::cached, std::memory_order_relaxed);
  taken_bytes_ += bytes;
  ++taken_blocks_;
  return b;
}

block* pool_heap::take(std::uint64_t bytes, zone& source) {
  block* own = first_fit(source, bytes);
  block* any = &source == &clean() ? nullptr : first_fit(clean(), bytes);
  block* fit = any == nullptr || (own != nullptr && own->bytes <= any->bytes) ? own : any;
  return fit == nullptr ? nullptr : split(fit, bytes);
}

block* pool_heap::take_any(std::uint64_t bytes, zone& source) {
  block* own = any_fit(source, bytes);
  block* any = &source == &clean() ? nullptr : any_fit(clean(), bytes);
  block* fit = any == nullptr || (own != nullptr && own->bytes <= any->bytes) ? own : any;
  return fit == nullptr ? nullptr : split(fit, bytes);
}

/// Merges `b`, which is in a zone but not in a list, with free neighbors in its zone. The result is not in a list
/// either.
block* pool_heap::join(block* b) noexcept {
  const auto joins = [&](const block* other) {
    return other != nullptr && other->state.load(std::memory_order_relaxed) == block_state::free &&
           other->home == b->home;
  };
  if (joins(b->after)) {
    block* next = b->after;
    unlink(next);
    index_.erase(next);
    b->bytes += next->bytes;
    b->freed_at = std::max(b->freed_at, next->freed_at);
    b->after = next->after;
    if (b->after != nullptr) b->after->before = b;
    drop_block(next);
  }
  if (joins(b->before)) {
    block* first = b->before;
    zone* home = b->home;
    unlink(first);
    index_.erase(b);
    first->bytes += b->bytes;
    first->freed_at = std::max(first->freed_at, b->freed_at);
    first->after = b->after;
    if (first->after != nullptr) first->after->before = first;
    drop_block(b);
    first->home = home;
    b = first;
  }
  b->bin = static_cast<std::uint16_t>(get_size_class(b->bytes / granule));
  return b;
}

void pool_heap::give(block* b, zone& to) noexcept {
  taken_bytes_ -= b->bytes;
  --taken_blocks_;
  b->requested = 0;
  b->recorded = 0;
  put(b, to);
}

void pool_heap::put(block* b, zone& to) noexcept {
  b->state.store(block_state::free, std::memory_order_relaxed);
  b->home = &to;
  link(join(b), to);
}

void pool_heap::retag(zone& source, zone& to) noexcept {
  if (&source == &to) return;
  // First remove all blocks from their lists, so that neighbors merge in any order.
  block* moving = nullptr;
  for (std::size_t word = 0; word < source.filled.size(); ++word) {
    while (source.filled[word] != 0) {
      block* b = source.lists[word * 64 + static_cast<std::size_t>(std::countr_zero(source.filled[word]))];
      unlink(b);
      b->state.store(block_state::cached, std::memory_order_relaxed);
      b->next = moving;
      moving = b;
    }
  }
  while (moving != nullptr) {
    block* b = moving;
    moving = b->next;
    put(b, to);
  }
}

// --- zones -------------------------------------------------------------------------------------------------

zone& pool_heap::find_zone(std::uint64_t stream) {
  const auto [at, fresh] = zone_by_stream_.try_emplace(stream);
  if (fresh) {
    try {
      zones_.push_back(std::make_unique<zone>());
    } catch (...) {
      zone_by_stream_.erase(at);
      throw;
    }
    at->second = zones_.back().get();
    at->second->stream = stream;
  }
  return *at->second;
}

std::vector<zone*> pool_heap::busy_zones() const {
  std::vector<zone*> busy;
  for (std::size_t i = 1; i < zones_.size(); ++i) {
    if (zones_[i]->blocks != 0 || zones_[i]->held != 0) busy.push_back(zones_[i].get());
  }
  return busy;
}

void pool_heap::forget_zone(std::uint64_t stream) noexcept {
  const auto at = zone_by_stream_.find(stream);
  if (at == zone_by_stream_.end() || at->second->blocks != 0 || at->second->held != 0) return;
  std::erase_if(zones_, [&](const auto& z) { return z.get() == at->second; });
  zone_by_stream_.erase(at);
}

// --- segments ----------------------------------------------------------------------------------------------

// A run is a series of adjacent continuous segments. It ends with a marker block of 0
// bytes that is never free, so the last block of the run can be found from its end.

void pool_heap::end_run(std::uint64_t address, block* last) {
  block* mark = make_block();
  place(*mark, address);
  mark->bytes = 0;
  mark->state.store(block_state::used, std::memory_order_relaxed);
  mark->before = last;
  last->after = mark;
  run_ends_[address] = mark;
}

void pool_heap::drop_run_end(std::uint64_t address) noexcept {
  const auto at = run_ends_.find(address);
  drop_block(at->second);
  run_ends_.erase(at);
}

void pool_heap::add(const segment& s, zone& home) {
  make_room();
  block* b = make_block();
  place(*b, s.address);
  b->bytes = s.bytes;
  b->bin = static_cast<std::uint16_t>(get_size_class(s.bytes / granule));
  b->trace_address = s.trace_address;
  b->parent = s.continuous ? 0 : s.trace_address;
  b->home = &home;
  b->state.store(block_state::free, std::memory_order_relaxed);
  segments_.emplace(s.address, s);
  index_.insert(b);
  reserved_ += s.bytes;
  if (s.continuous) {
    if (const auto run = run_ends_.find(s.address); run != run_ends_.end()) {
      b->before = run->second->before;
      b->before->after = b;
      drop_run_end(s.address);
    }
    const auto next = segments_.find(s.address + s.bytes);
    if (next != segments_.end() && next->second.continuous) {
      b->after = find(next->first);
      b->after->before = b;
    } else {
      end_run(s.address + s.bytes, b);
    }
  }
  link(join(b), home);
}

const block* pool_heap::free_before(std::uint64_t address, const zone& subject) const noexcept {
  const auto run = run_ends_.find(address);
  if (run == run_ends_.end()) return nullptr;
  const block* last = run->second->before;
  const bool free = last->state.load(std::memory_order_relaxed) == block_state::free;
  return free && (last->home == &subject || last->home == zones_.front().get()) ? last : nullptr;
}

/// Removes segment `s`, which is inside the free block `b`. The rest of the block stays.
void pool_heap::cut(block* b, const segment& s) {
  zone& home = *b->home;
  const std::uint64_t end = s.address + s.bytes;
  make_room();
  unlink(b);
  if (get_end(*b) > end) {
    block* right = make_block();
    place(*right, end);
    right->bytes = get_end(*b) - end;
    right->bin = static_cast<std::uint16_t>(get_size_class(right->bytes / granule));
    right->trace_address = b->trace_address == 0 ? 0 : b->trace_address + (end - get_begin(*b));
    right->freed_at = b->freed_at;
    right->after = b->after;
    right->after->before = right;  // After a block that spans segments, there is at least the end marker.
    right->state.store(block_state::free, std::memory_order_relaxed);
    index_.insert(right);
    link(right, home);
  } else if (s.continuous) {
    if (run_ends_.contains(end)) {
      drop_run_end(end);
    } else {
      b->after->before = nullptr;
    }
  }
  if (get_begin(*b) < s.address) {
    b->bytes = s.address - get_begin(*b);
    b->bin = static_cast<std::uint16_t>(get_size_class(b->bytes / granule));
    end_run(s.address, b);
    link(b, home);
  } else {
    if (b->before != nullptr) end_run(s.address, b->before);
    index_.erase(b);
    drop_block(b);
  }
}

std::vector<segment> pool_heap::release(std::uint64_t keep_bytes) {
  std::vector<segment> whole;
  for (block* list : clean().lists) {
    for (const block* b = list; b != nullptr; b = b->next) {
      for (auto at = segments_.lower_bound(get_begin(*b));
           at != segments_.end() && at->first + at->second.bytes <= get_end(*b); ++at) {
        whole.push_back(at->second);
      }
    }
  }
  std::sort(whole.begin(), whole.end(), [](const segment& a, const segment& b) { return a.address > b.address; });
  std::vector<segment> out;
  for (const segment& s : whole) {
    if (reserved_ - s.bytes < keep_bytes) continue;
    cut(holding(s.address), s);
    segments_.erase(s.address);
    reserved_ -= s.bytes;
    out.push_back(s);
  }
  return out;
}

/// The free block that contains `address`, the start of a segment.
block* pool_heap::holding(std::uint64_t address) const noexcept {
  if (block* b = find(address)) return b;
  for (block* list : zones_.front()->lists) {
    for (block* b = list; b != nullptr; b = b->next) {
      if (get_begin(*b) < address && address < get_end(*b)) return b;
    }
  }
  return nullptr;
}

// --- totals ------------------------------------------------------------------------------------------------

std::uint64_t pool_heap::free_blocks() const noexcept {
  std::uint64_t blocks = 0;
  for (const auto& z : zones_) blocks += z->blocks;
  return blocks;
}

std::uint64_t pool_heap::largest_free() const noexcept {
  std::uint64_t largest = 0;
  for (const auto& z : zones_) {
    for (std::size_t word = z->filled.size(); word-- != 0;) {
      if (z->filled[word] == 0) continue;
      const std::size_t top = word * 64 + static_cast<std::size_t>(std::bit_width(z->filled[word])) - 1;
      for (const block* b = z->lists[top]; b != nullptr; b = b->next) largest = std::max(largest, b->bytes);
      break;
    }
  }
  return largest;
}

}  // namespace sluice::runtime::pooling
