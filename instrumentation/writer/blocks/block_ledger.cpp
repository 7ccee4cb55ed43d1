#include "instrumentation/writer/blocks/block_ledger.hpp"

#include <algorithm>
#include <utility>

#include "core/trace/file/writer_inline.hpp"

namespace sluice::writer {

using namespace trace;

namespace {
constexpr std::size_t max_incomplete = 1024;  // `complete` searches them linearly.
/// Synchronous frees complete soon; stream-ordered frees may complete at any later time.
constexpr std::uint64_t turns_for_completion = 5;

bool holds(const alloc_event& block, std::uint64_t address) {
  const std::uint64_t bytes = std::max<std::uint64_t>({block.bytes, block.reserved_bytes, 1});
  return address - block.address < bytes;
}
/// True if a completion in layer `completed` may belong to a free in layer `freed`: a free by the driver may be for a
/// block of one of its pools.
bool may_complete(layer completed, layer freed) {
  return completed == freed || (completed == layer::driver && freed == layer::pool);
}
}  // namespace

// -------------------------------------------------------------------------------------------------------------- lookup

const alloc_event* block_ledger::containing(std::size_t place, std::uint64_t address) const {
  const alloc_event* block = live_[place].at_or_below(address);
  return block != nullptr && holds(*block, address) ? block : nullptr;
}

const alloc_event* block_ledger::find_live(std::uint64_t address) const {
  return address == 0 ? nullptr : find_in(occupied_, address);
}

/// Finds the block that contains `address`, in the highest of these tables that contains such a block.
const alloc_event* block_ledger::find_in(places where, std::uint64_t address) const {
  while (where != 0) {
    const std::size_t bit = highest_bit(where);
    where ^= places{1} << bit;
    if (const alloc_event* block = containing(place_of_bit(bit), address)) return block;
  }
  return nullptr;
}

const alloc_event* block_ledger::find_of_driver(std::uint64_t address) const {
  for (const layer layer : {layer::driver, layer::pool}) {
    if (const alloc_event* block = containing(place_of(layer, memory_kind::device), address)) return block;
  }
  return nullptr;
}

const alloc_event* block_ledger::find_physical(std::uint64_t handle) const {
  return live_[place_of(layer::driver, memory_kind::physical)].find(handle);
}

block_id block_ledger::find_inside(std::uint64_t address) const {
  if (address == 0) return block_id::none;
  if (const alloc_event* live = find_in(occupied_, address)) return live->block;
  const retired_block* freed = retired_.at_or_below(address);
  return freed != nullptr && address - freed->address < freed->bytes ? freed->block : block_id::none;
}

block_id block_ledger::find_inside_at(std::uint64_t address, time_ns when) const {
  if (address == 0) return block_id::none;
  // Only a late record is older than a free. The freed block was inside the block that is live there now.
  if (when < last_retired_) {
    const retired_block* freed = retired_.at_or_below(address);
    const bool held = freed != nullptr && address - freed->address < freed->bytes;
    if (held && freed->since <= when && when < freed->when) return freed->block;
  }
  for (places left = occupied_; left != 0;) {
    const std::size_t bit = highest_bit(left);
    left ^= places{1} << bit;
    const alloc_event* block = containing(place_of_bit(bit), address);
    if (block != nullptr && block->time <= when && block->kind != memory_kind::array) return block->block;
  }
  return block_id::none;
}

block_id block_ledger::parent_of(const alloc_event& row, std::uint64_t parent_address) const {
  const std::uint64_t address = parent_address != 0 ? parent_address : row.address;
  if (row.layer == layer::driver) {
    // In the driver's layer, the parent of a mapping is its reservation.
    if (row.kind != memory_kind::mapping) return block_id::none;
    const alloc_event* reservation = containing(place_of(layer::driver, memory_kind::reservation), address);
    return reservation == nullptr ? block_id::none : reservation->block;
  }
  const alloc_event* segment = find_in(occupied_ & below(row.layer), address);
  return segment == nullptr ? block_id::none : segment->block;
}

std::size_t block_ledger::live_blocks() const {
  std::size_t count = 0;
  for (const auto& blocks : live_) count += blocks.size();
  return count;
}

// A driver pool's blocks have no parent. Another pool's blocks are in a segment, which must not count twice.
std::uint64_t block_ledger::device_bytes_of(const alloc_event& block) {
  const bool given_out =
      block.kind == memory_kind::device || block.kind == memory_kind::managed || block.kind == memory_kind::physical;
  const bool by_driver = block.layer == layer::driver || (block.layer == layer::pool && block.parent == block_id::none);
  return given_out && by_driver && (block.flags & ipc_import) == 0 ? block.bytes : 0;
}

void block_ledger::occupy(places now) {
  occupied_ = now;
  if (now != 0) highest_ = &live_[place_of_bit(highest_bit(now))];
}

void block_ledger::put(const location& where, const alloc_event& row) {
  device_bytes_ += device_bytes_of(row);
  live_map& live = live_[where.place];
  if (live.empty()) occupy(occupied_ | bit_of(where.place));
  live.put(where.spot, row);
}

void block_ledger::erase(const location& where, const alloc_event& block) {
  device_bytes_ -= device_bytes_of(block);
  live_map& live = live_[where.place];
  live.erase(where.spot);
  if (live.empty()) occupy(occupied_ & ~bit_of(where.place));
}

// --------------------------------------------------------------------------------------------------------- allocating

block_id block_ledger::add(alloc_event& row, const block_ties& ties, const turn_clock& now) {
  const std::size_t place = place_of(row.layer, row.kind);
  const location where = locate(place, row.address);
  if (const alloc_event* there = live_[place].find(where.spot)) {
    if (ties.shared) {
      ++held_again_[there->block];
      return there->block;
    }
    const bool same = (row.flags & born_before) != 0 && there->bytes == row.bytes;
    if (same) return there->block;  // Recorded twice: at the start of the recording, and by its own call.
    // The previous block's free was lost, or another thread has yet to write it.
    displaced_.emplace(address_key{place, row.address}, displaced_block{*there, row.time, now});
    retire(*there, place, row.time);
    erase(where, *there);
  }
  row.block = static_cast<block_id>(++last_block_);
  row.parent = parent_of(row, ties.parent);
  row.id = file_.start(row).id;
  if (row.kind == memory_kind::mapping) hold_physical(row, ties.owner);
  if ((row.flags & graph_memory) != 0 && ties.owner != 0) {
    auto& graph = graphs_[ties.owner];
    if (graph == nullptr) graph = std::make_shared<memory_of_graph>();
    graph->addresses.push_back(row.address);
  }
  if (!match_early_free(row, place, now)) put(where, row);
  return row.block;
}

/// Looks for a free that arrived before this allocation but has a later time.
bool block_ledger::match_early_free(const alloc_event& row, std::size_t place, const turn_clock& now) {
  if (early_frees_.empty()) return false;
  const auto [first, last] = early_frees_.equal_range({place, row.address});
  for (auto f = first; f != last; ++f) {
    if (f->second.request.row.time < row.time) continue;
    free_request request = f->second.request;
    request.row.block = row.block;
    early_frees_.erase(f);
    retire(row, place, request.row.time);
    await_completion(request, now);
    return true;
  }
  return false;
}

// ------------------------------------------------------------------------------------------------------------ freeing

/// The block to free, and its location. Null if there is none; `where` is then its hypothetical location.
alloc_event* block_ledger::live_block(const free_request& request, location& where) {
  if (alloc_event* found = live_[where.place].find(where.spot)) return found;
  if (request.kind != memory_kind::unknown) return nullptr;
  const auto look_at = [&](std::size_t place) -> alloc_event* {
    const location other = locate(place, request.row.address);
    alloc_event* const found = live_[place].find(other.spot);
    if (found != nullptr) where = other;
    return found;
  };
  // cuMemFree also accepts memory from cuMemAllocAsync, and vice versa.
  if (request.row.layer == layer::driver || request.row.layer == layer::pool) {
    const layer beside = request.row.layer == layer::driver ? layer::pool : layer::driver;
    if (alloc_event* found = look_at(place_of(beside, memory_kind::device))) return found;
  }
  for (const memory_kind kind : {memory_kind::mapping, memory_kind::physical, memory_kind::reservation}) {
    if (alloc_event* found = look_at(place_of(request.row.layer, kind))) return found;
  }
  return nullptr;
}

void block_ledger::remove(free_request& request, const turn_clock& now) {
  if (request.range != 0) remove_within(request, now);
  location where = locate(place_of(request.row.layer, request.kind), request.row.address);
  const alloc_event* found = live_block(request, where);
  if (found != nullptr && request.row.time >= found->time) {
    if (!held_again_.empty() && let_go(found->block)) return;
    if (found->kind == memory_kind::physical && release_physical(request, *found)) return;
    if (found->kind == memory_kind::mapping) let_go_of_physical(request, *found);
    request.row.block = found->block;
    request.row.layer = found->layer;
    retire(*found, where.place, request.row.time);
    erase(where, *found);
    await_completion(request, now);
    return;
  }
  // The free is older than the current block: it belongs to the previous block at this address.
  if (match_displaced(request, where.place, now)) return;
  early_frees_.emplace(address_key{where.place, request.row.address}, waiting_free{request, now});
}

/// Ends one use of the block. Returns true if other uses remain.
bool block_ledger::let_go(block_id block) {
  const auto again = held_again_.find(block);
  if (again == held_again_.end()) return false;
  if (--again->second == 0) held_again_.erase(again);
  return true;
}

/// Frees the mappings that begin inside an unmapped range but after its first address, from the end down.
void block_ledger::remove_within(free_request& request, const turn_clock& now) {
  const std::uint64_t first = request.row.address;
  std::uint64_t below = first + std::exchange(request.range, 0);
  while (below > first) {
    const alloc_event* mapping = live_[place_of(request.row.layer, memory_kind::mapping)].at_or_below(below - 1);
    if (mapping == nullptr || mapping->address <= first) return;
    free_request one = request;
    below = one.row.address = mapping->address;
    remove(one, now);
  }
}

bool block_ledger::match_displaced(free_request& request, std::size_t place, const turn_clock& now) {
  const auto [first, last] = displaced_.equal_range({place, request.row.address});
  for (auto d = first; d != last; ++d) {
    if (request.row.time < d->second.block.time) continue;
    request.row.block = d->second.block.block;
    displaced_.erase(d);
    await_completion(request, now);
    return true;
  }
  return false;
}

void block_ledger::await_completion(const free_request& request, const turn_clock& now) {
  // A framework's free is complete immediately. If a completion is recorded later, it becomes an attribute.
  const bool by_framework = request.row.layer == layer::framework || request.row.layer == layer::user;
  if (by_framework || request.row.completed != unknown_time) {
    write(request);
    return;
  }
  incomplete_.push_back({request, now});
  if (incomplete_.size() - first_incomplete_ > max_incomplete) write_oldest_incomplete();
}

void block_ledger::write_oldest_incomplete() {
  write(incomplete_[first_incomplete_++].request);
  if (first_incomplete_ < max_incomplete) return;
  incomplete_.erase(incomplete_.begin(), incomplete_.begin() + static_cast<std::ptrdiff_t>(first_incomplete_));
  first_incomplete_ = 0;
}

void block_ledger::complete(layer layer, std::uint64_t address, time_ns when, const turn_clock& now) {
  for (std::size_t i = incomplete_.size(); i-- > first_incomplete_;) {
    free_request& waiting = incomplete_[i].request;
    if (waiting.row.address != address || !may_complete(layer, waiting.row.layer)) continue;
    waiting.row.completed = when;
    write(waiting);
    incomplete_.erase(incomplete_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
  const auto early = std::find_if(early_frees_.begin(), early_frees_.end(), [&](const auto& e) {
    return e.second.request.row.address == address && may_complete(layer, e.second.request.row.layer);
  });
  if (early != early_frees_.end()) {
    early->second.request.row.completed = when;
    early->second.since = now;
    return;
  }
  const event_id* const written = written_frees_.find(address);
  if (written == nullptr) return;
  attribute_event attribute;
  attribute.time = when;
  attribute.target = *written;
  attribute.key = file_.intern("completed");
  attribute.integer = when;
  file_.add(attribute);
  written_frees_.erase(address);
}

void block_ledger::write(const free_request& request) {
  const event_id id = file_.start(request.row).id;
  if (request.row.completed != unknown_time) return;
  if (request.row.address != 0) written_frees_.put(request.row.address, id);
}

void block_ledger::retire(const alloc_event& block, std::size_t place, time_ns when) {
  const bool a_reservation = place % spaces == 1 || place % spaces == 2;
  if (a_reservation) return;  // Device work never refers to these.
  retired_.put(block.address, {block.address, block.block,
                               std::max<std::uint64_t>({block.bytes, block.reserved_bytes, 1}), block.time, when});
  last_retired_ = std::max(last_retired_, when);
}

// ----------------------------------------------------------------------------------------------------------- settling

void block_ledger::settle(const turn_clock& now, bool everything) {
  while (first_incomplete_ < incomplete_.size() &&
         (everything || now.is_over(incomplete_[first_incomplete_].since, turns_for_completion))) {
    write_oldest_incomplete();
  }
  for (auto d = displaced_.begin(); d != displaced_.end();) {
    if (!everything && !now.is_over(d->second.since)) {
      ++d;
      continue;
    }
    // No free has arrived, but another block is at this address now.
    const alloc_event& block = d->second.block;
    free_request inferred;
    inferred.row.time = d->second.displaced_at;
    inferred.row.process = block.process;
    inferred.row.source = provenance::inferred;
    inferred.row.block = block.block;
    inferred.row.layer = block.layer;
    inferred.row.address = block.address;
    write(inferred);
    d = displaced_.erase(d);
  }
  settle_early_frees(now, everything);
}

void block_ledger::write_freed() {
  while (first_incomplete_ < incomplete_.size()) write_oldest_incomplete();
}

void block_ledger::settle_early_frees(const turn_clock& now, bool everything) {
  for (auto f = early_frees_.begin(); f != early_frees_.end();) {
    if (!everything && !now.is_over(f->second.since)) {
      ++f;
      continue;
    }
    write(f->second.request);  // The allocation was not recorded.
    f = early_frees_.erase(f);
  }
}

}  // namespace sluice::writer
