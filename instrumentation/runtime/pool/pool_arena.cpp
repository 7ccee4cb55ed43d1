#include "instrumentation/runtime/pool/pool_arena.hpp"

#include <algorithm>
#include <utility>

#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/graph/capture_list.hpp"
#include "instrumentation/runtime/pool/pool_core.hpp"
#include "instrumentation/runtime/state/device_state.hpp"

namespace sluice::runtime::pooling {

void hold_for(block& b, zone& to) noexcept {
  b.home = &to;
  ++to.held;
}

// --- the arenas of a pool ----------------------------------------------------------------------------------

capture_arena* capture_arenas::find(std::uint64_t capture) const noexcept {
  const auto at = arenas_.find(capture);
  return at == arenas_.end() ? nullptr : at->second.get();
}

capture_arena& capture_arenas::add(std::uint64_t capture) {
  return *(arenas_[capture] = std::make_unique<capture_arena>());
}

std::uint64_t capture_arenas::free_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [id, arena] : arenas_) bytes += arena->free_bytes();
  return bytes;
}

void capture_arenas::rehome(zone& old, zone& to) noexcept {
  if (old.held == 0 || &old == &to) return;
  for (const auto& [id, arena] : arenas_) {
    for (block* b : arena->blocks) {
      if (b->home == &old) hold_for(*b, to);
    }
  }
  old.held = 0;
}

// --- allocations and frees in captures ---------------------------------------------------------------------

/// The arena of a capture, created at its first allocation. Kept alive by the capture, then by its graph.
capture_arena& pool_core::get_arena(active_capture& capture) {
  if (capture_arena* known = arenas_.find(capture.id())) return *known;
  capture_arena& arena = arenas_.add(capture.id());
  const std::shared_ptr<void> owner(&arena,
                                    [core = shared_from_this(), id = capture.id()](void*) { core->release_arena(id); });
  arena.owner = owner;
  capture.keep(owner);
  return arena;
}

block* pool_core::allocate_captured(active_capture& capture, const stream_ref& stream, std::uint64_t bytes) {
  const std::uint64_t want = size_for(bytes);
  front* f = front_here();
  const std::lock_guard lock(mutex_);
  capture_arena& arena = get_arena(capture);
  auto& freed = arena.free[stream.identity()];
  // At most twice the size, because these blocks are not split.
  const auto fits = [&](const block* b) { return b->bytes >= want && b->bytes / 2 <= want; };
  // The host writes before the first node runs, so host memory is used only once per capture.
  const auto again = host_reachable_ ? freed.rend() : std::find_if(freed.rbegin(), freed.rend(), fits);
  block* b = nullptr;
  if (again != freed.rend()) {
    b = *again;
    freed.erase(std::next(again).base());
  } else {
    // Only blocks without pending work: the graph may run before such work, on any stream.
    zone& clean = heap_.clean();
    b = heap_.take_any(want, clean);
    if (b == nullptr && source_->grows_in_captures() && grow(want, clean)) b = heap_.take_any(want, clean);
    if (b == nullptr) return nullptr;
    b->arena = &arena;
    arena.blocks.push_back(b);
  }
  hand_out(f, *b, bytes);
  return b;
}

void pool_core::give_back_captured(const std::shared_ptr<active_capture>& capture, std::uint64_t stream,
                                   block* b) noexcept {
  const std::lock_guard lock(mutex_);
  fronts_.count(nullptr, *b, -1);
  auto* arena = static_cast<capture_arena*>(b->arena.load(std::memory_order_relaxed));
  // Another thread has destroyed the block's graph since the caller checked: now it is an ordinary block.
  if (arena == nullptr && capture == nullptr) return heap_.give(b, zones_.zone_or_wait(stream));
  b->state.store(block_state::cached, std::memory_order_relaxed);
  // A block from before the capture that its nodes may use: the graph owns it now. Earlier work on it may still run.
  const auto take = [&] {
    capture_arena& taken_by = get_arena(*capture);
    b->arena.store(&taken_by, std::memory_order_relaxed);
    taken_by.blocks.push_back(b);
    hold_for(*b, zones_.zone_or_wait(stream));
  };
  if (arena == nullptr) return take();
  if (capture != nullptr && arenas_.find(capture->id()) == arena) {
    arena->free[stream].push_back(b);
    return;
  }
  if (capture == nullptr) return hold_for(*b, zones_.zone_or_wait(stream));
  // The nodes of another graph use the block: that graph keeps the block's own graph alive.
  if (auto owner = arena->owner.lock()) {
    hold_for(*b, zones_.zone_or_wait(stream));
    return capture->keep(std::move(owner));
  }
  // The block's graph is being destroyed and waits for the mutex to return its blocks.
  std::erase(arena->blocks, b);
  take();
}

/// Called when the graph and everything created from it is destroyed, so its work is done; other
/// work on the blocks may still run. Blocks that are still allocated become ordinary blocks.
void pool_core::release_arena(std::uint64_t capture) noexcept {
  const std::lock_guard lock(mutex_);
  const capture_arena* arena = arenas_.find(capture);
  if (arena == nullptr) return;
  for (block* b : arena->blocks) {
    const bool freed = b->state.load(std::memory_order_relaxed) == block_state::cached;
    // From here on, the block's user may free it without the lock. A thread that sees the null arena also sees this
    // state.
    if (!freed) b->state.store(block_state::used, std::memory_order_release);
    b->arena.store(nullptr, std::memory_order_release);
    if (!freed) continue;
    zone& to = b->home != nullptr ? *b->home : heap_.clean();
    if (b->home != nullptr) --to.held;
    heap_.give(b, to);
  }
  arenas_.erase(capture);
  if (!closed_.load(std::memory_order_relaxed)) return;
  // A stream that was being captured when the pool closed was not waited for, and may no longer exist.
  {
    const auto busy = heap_.busy_zones();
    const captures_held_off held;
    if (!busy.empty() && !capturing() && device_.backend().synchronize()) {
      for (zone* z : busy) zones_.retag(*z, heap_.clean());
    }
  }
  finish_closing();
}

}  // namespace sluice::runtime::pooling
