#include "instrumentation/runtime/pool/pool_arena.hpp"

#include <algorithm>
#include <utility>

#include "instrumentation/runtime/device/device_state.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/graph/capture_list.hpp"
#include "instrumentation/runtime/pool/pool_core.hpp"

namespace sluice::runtime::pooling {

bool pool_core::is_out_of_reach(std::uint64_t stream) const noexcept {
  // One that was announced may begin on any stream, and does not say when.
  if (stream == no_stream || capture_list::get().announced.load(std::memory_order_relaxed) != 0) return true;
  const auto handle = streams().handle_of(stream);
  if (handle == backend::stream_handle::null) return capturing();
  // Whoever began it: to ask a captured stream whether it is idle ends its capture.
  const auto info = device_.backend().stream_capture(handle);
  return !info || info->status != backend::capture_status::none;
}

/// The arena of a capture, made at its first allocation. The capture keeps it, and its graph after that.
capture_arena& pool_core::arena_of(active_capture& capture) {
  auto& place = arenas_[capture.id()];
  if (place == nullptr) {
    place = std::make_unique<capture_arena>();
    const std::shared_ptr<void> owner(
        place.get(), [core = shared_from_this(), id = capture.id()](void*) { core->release_arena(id); });
    place->owner = owner;
    capture.keep(owner);
  }
  return *place;
}

block* pool_core::allocate_captured(active_capture& capture, const stream_ref& stream, std::uint64_t bytes) {
  const std::uint64_t want = size_for(bytes);
  front* f = front_here();
  const std::lock_guard lock(mutex_);
  capture_arena& arena = arena_of(capture);
  auto& freed = arena.free[stream.identity()];
  // Twice the size at most: the rest of a block is not cut off here.
  const auto fits = [&](const block* b) { return b->bytes >= want && b->bytes / 2 <= want; };
  // What the host writes now is there before the first node runs: each block once.
  const auto again = host_reachable_ ? freed.rend() : std::find_if(freed.rbegin(), freed.rend(), fits);
  block* b = nullptr;
  if (again != freed.rend()) {
    b = *again;
    freed.erase(std::next(again).base());
  } else {
    // Nothing that work is still under way on: the graph may run before it, on any stream.
    zone& clean = heap_.clean();
    b = heap_.take_any(want, clean);
    if (b == nullptr && source_->grows_in_captures() && grow(want, clean)) b = heap_.take_any(want, clean);
    if (b == nullptr) return nullptr;
    b->arena = &arena;
    arena.all.push_back(b);
  }
  hand_out(f, *b, bytes);
  return b;
}

void pool_core::give_back_captured(const std::shared_ptr<active_capture>& capture, std::uint64_t stream,
                                   block* b) noexcept {
  const std::lock_guard lock(mutex_);
  count(nullptr, *b, -1);
  auto* arena = static_cast<capture_arena*>(b->arena.load(std::memory_order_relaxed));
  // Its graph has gone since the caller looked, on another thread: a block like others.
  if (arena == nullptr && capture == nullptr) return heap_.give(b, zone_or_wait(stream));
  b->state.store(block_state::cached, std::memory_order_relaxed);
  // From before the capture, and used by its nodes: the graph's from now on. What the stream did before may go on.
  const auto take = [&] {
    capture_arena& taken_by = arena_of(*capture);
    b->arena.store(&taken_by, std::memory_order_relaxed);
    taken_by.all.push_back(b);
    hold_for(*b, zone_or_wait(stream));
  };
  if (arena == nullptr) return take();
  const auto own = capture == nullptr ? arenas_.end() : arenas_.find(capture->id());
  if (own != arenas_.end() && own->second.get() == arena) {
    arena->free[stream].push_back(b);
    return;
  }
  if (capture == nullptr) return hold_for(*b, zone_or_wait(stream));
  // Another graph's nodes used it, too: its graph keeps the block's.
  if (auto owner = arena->owner.lock()) {
    hold_for(*b, zone_or_wait(stream));
    return capture->keep(std::move(owner));
  }
  // The block's graph is going, and waits for the mutex to give back what it has.
  std::erase(arena->all, b);
  take();
}

/// A freed block of a graph's goes to that zone when the graph does.
void pool_core::hold_for(block& b, zone& to) noexcept {
  b.home = &to;
  ++to.held;
}

/// Every free block of `from` moves to `to`, at once or when the graph that holds it goes.
void pool_core::retag(zone& from, zone& to) noexcept {
  heap_.retag(from, to);
  if (from.held == 0 || &from == &to) return;
  for (const auto& [id, arena] : arenas_) {
    for (block* b : arena->all) {
      if (b->home == &from) hold_for(*b, to);
    }
  }
  from.held = 0;
}

/// The graph and all that was made of it are gone, and so is its work; what streams did with the blocks besides may go on. What a
/// caller still has becomes an ordinary block.
void pool_core::release_arena(std::uint64_t capture) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = arenas_.find(capture);
  if (at == arenas_.end()) return;
  for (block* b : at->second->all) {
    const bool freed = b->state.load(std::memory_order_relaxed) == block_state::cached;
    // From here on a caller that has it may free it without our lock. Who sees that it has no arena sees this, too.
    if (!freed) b->state.store(block_state::used, std::memory_order_release);
    b->arena.store(nullptr, std::memory_order_release);
    if (!freed) continue;
    zone& to = b->home != nullptr ? *b->home : heap_.clean();
    if (b->home != nullptr) --to.held;
    heap_.give(b, to);
  }
  arenas_.erase(at);
  if (!closed_.load(std::memory_order_relaxed)) return;
  // A stream that was being captured when the pool went is not waited for yet, and may be gone, too.
  {
    const auto busy = heap_.busy_zones();
    const captures_held_off held;
    if (!busy.empty() && !capturing() && device_.backend().synchronize()) {
      for (zone* z : busy) retag(*z, heap_.clean());
    }
  }
  finish_closing();
}

}  // namespace sluice::runtime::pooling
