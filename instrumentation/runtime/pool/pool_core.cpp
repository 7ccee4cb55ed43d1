#include "instrumentation/runtime/pool/pool_core.hpp"

#include <algorithm>

#include "instrumentation/backend/simulated/clock.hpp"
#include "instrumentation/runtime/state/device_state.hpp"
#include "instrumentation/runtime/state/layer_log.hpp"

namespace sluice::runtime::pooling {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

std::uint64_t chosen_front_bytes(const pool_options& options, const backend::device_description& device) {
  if (options.front_bytes != 0) return options.front_bytes;
  std::uint64_t bytes = std::min(64 * mib, device.memory_bytes / 512);
  if (options.limit_bytes != 0) bytes = std::min(bytes, options.limit_bytes / 16);
  return bytes;
}

/// Counts bytes that are being requested, so that other threads respect the limit. The pool's mutex must be held when
/// the object begins and ends.
class bytes_on_their_way {
 public:
  bytes_on_their_way(std::uint64_t& sum, std::uint64_t bytes) : sum_(sum), bytes_(bytes) { sum_ += bytes_; }
  ~bytes_on_their_way() { sum_ -= bytes_; }
  bytes_on_their_way(const bytes_on_their_way&) = delete;
  bytes_on_their_way& operator=(const bytes_on_their_way&) = delete;

 private:
  std::uint64_t& sum_;
  std::uint64_t bytes_;
};

}  // namespace

pool_core::pool_core(const device_ref& device, memory_space space, std::unique_ptr<growth> source, pool_options options)
    : device_(device),
      host_reachable_(space != memory_space::device),
      options_(std::move(options)),
      clock_(device.backend().clock()),
      trace_key_(layer_log::next_pool_key()),
      source_(std::move(source)),
      fronts_(heap_, chosen_front_bytes(options_, device.description()), trace_key_),
      zones_(device_, heap_, arenas_, mutex_),
      records_(device_, space, trace_key_, options_.name, heap_, fronts_) {
  (void)zones_.withheld();  // Created now: later there may be no memory for it.
}

// --- allocation --------------------------------------------------------------------------------------------

block* pool_core::allocate(const stream_ref& stream, std::uint64_t bytes) {
  const std::uint64_t want = size_for(bytes), on = stream.identity();
  front* f = front_here();
  const std::lock_guard lock(mutex_);
  zone& own = heap_.find_zone(on);
  pool_stream* l = nullptr;
  try {
    if (f != nullptr && !host_reachable_) l = &fronts_.open(*f, on);
  } catch (const std::bad_alloc&) {
    // Out of memory: without a pool_stream, the next allocation is only slower.
  }
  // The thread may have forgotten this pool_stream (it remembers only the latest), which may hold a block.
  if (block* b = pool_fronts::take(l, on, bytes)) return b;
  block* b = find(stream, want);
  if (b == nullptr) return nullptr;
  try {
    if (l != nullptr && want <= largest_rounded) fronts_.refill(*l, want, own);
  } catch (const std::bad_alloc&) {
    // A smaller refill is fine.
  }
  hand_out(f, *b, bytes);
  return b;
}

void pool_core::hand_out(front* f, block& b, std::uint64_t bytes) noexcept {
  b.requested = bytes;
  const bool held = b.arena.load(std::memory_order_relaxed) != nullptr;
  b.state.store(held ? block_state::held : block_state::used, std::memory_order_relaxed);
  fronts_.count(f, b, 1);
  peak_taken_ = std::max(peak_taken_, heap_.taken_bytes());
  // Reusing another thread's block synchronizes the clocks, like a message from that thread.
  if (clock_ != nullptr) clock_->advance_to(b.freed_at);
  records_.record_state_if_changed();
}

block* pool_core::find(const stream_ref& stream, std::uint64_t bytes) {
  if (host_reachable_) return find_idle(bytes);
  zone& own = heap_.find_zone(stream.identity());
  if (block* b = heap_.take(bytes, own)) return b;
  zones_.clean_idle_streams();
  if (block* b = heap_.take(bytes, own)) return b;
  if (heap_.taken_bytes() > fronts_.used_about()) {
    // Much more expensive than a hit, but much cheaper than new memory.
    fronts_.drain();
    zones_.clean_idle_streams();
  }
  if (block* b = heap_.take_any(bytes, own)) return b;
  if (block* b = take_grown(bytes, own)) return b;
  zones_.steal(stream);
  if (block* b = heap_.take_any(bytes, own)) return b;
  return find_by_waiting(bytes, own);
}

block* pool_core::find_idle(std::uint64_t bytes) {
  zone& clean = heap_.clean();
  zones_.clean_idle_streams();
  if (block* b = heap_.take_any(bytes, clean)) return b;
  if (block* b = take_grown(bytes, clean)) return b;
  return find_by_waiting(bytes, clean);
}

/// Last resort: returns free memory that is scattered over segments to upstream, then allocates a segment of the right
/// size.
block* pool_core::find_by_waiting(std::uint64_t bytes, zone& own) {
  zones_.wait_for_streams();
  if (block* b = heap_.take_any(bytes, own)) return b;
  release(0, trace::pool_operation::trim);
  if (block* b = heap_.take_any(bytes, own)) return b;
  return take_grown(bytes, own);
}

/// Takes new memory. Retries, because another thread may take it while the mutex is released. Null if out of memory.
block* pool_core::take_grown(std::uint64_t bytes, zone& own) {
  for (;;) {
    const bool grown = grow(bytes, own);
    if (block* b = heap_.take_any(bytes, own)) return b;
    if (!grown) return nullptr;
  }
}

bool pool_core::grow(std::uint64_t bytes, const zone& own) {
  const std::uint64_t step = source_->step();
  const auto in_steps = [&](std::uint64_t b) {
    return b > ~std::uint64_t{0} - step ? b / step * step : (b + step - 1) / step * step;
  };
  const std::uint64_t step_up = in_steps(options_.growth_bytes);
  const std::uint64_t at = source_->next_address(std::max(in_steps(bytes), step_up));
  // The new segment can extend free memory before it. Otherwise it is free for every stream.
  const block* joined = heap_.free_before(at, own);
  zone& home = joined != nullptr ? *joined->home : heap_.clean();
  const std::uint64_t least = in_steps(bytes - (joined != nullptr ? std::min(joined->bytes, bytes - 1) : 0));
  std::uint64_t wanted = std::max(least, step_up);
  if (options_.limit_bytes != 0) {
    const std::uint64_t reserved = heap_.reserved() + growing_;
    const std::uint64_t room = options_.limit_bytes > reserved ? options_.limit_bytes - reserved : 0;
    wanted = std::min(wanted, room / step * step);
    if (wanted < least) return false;
  }
  const auto grown = grow_between(least, wanted, at);
  if (!grown) {
    if (grown.error().code == status::out_of_memory) return false;
    throw error(grown.error());
  }
  heap_.add(*grown, home);
  peak_reserved_ = std::max(peak_reserved_, heap_.reserved());
  records_.record_state(trace::pool_operation::grow);
  return true;
}

backend::device_result<segment> pool_core::grow_between(std::uint64_t least, std::uint64_t wanted, std::uint64_t at) {
  const bool unlocks = source_->may_call_back();
  const bytes_on_their_way counted(growing_, unlocks ? wanted : 0);
  const without_mutex meanwhile(unlocks ? &mutex_ : nullptr);
  auto grown = source_->grow(wanted, at);
  const bool refused = !grown && grown.error().code == status::out_of_memory;
  // A segment smaller than the growth step is better than none.
  return refused && least != wanted ? source_->grow(least, at) : std::move(grown);
}

bool pool_core::reserve(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return grow(pool_heap::round_up(bytes), heap_.clean());
}

// --- deallocation ------------------------------------------------------------------------------------------

void pool_core::give_back(std::uint64_t stream, block* b) noexcept {
  front* f = nullptr;
  try {
    f = front_here();
  } catch (const std::bad_alloc&) {
    // Out of memory for a front: free directly to the heap.
  }
  const std::lock_guard lock(mutex_);
  fronts_.count(f, *b, -1);
  records_.record_state_if_changed();
  zone& to = zones_.zone_or_wait(stream);
  try {
    if (f != nullptr && !host_reachable_ && fronts_.keep_after_flush(*f, stream, b)) return;
  } catch (const std::bad_alloc&) {
    // Out of memory for a pool_stream: free directly to the heap.
  }
  heap_.give(b, to);
}

void pool_core::withhold(block* b) noexcept {
  const std::lock_guard lock(mutex_);
  fronts_.count(nullptr, *b, -1);
  records_.note_withheld(b->bytes);
  heap_.give(b, zones_.withheld());
}

block* pool_core::look_again(const void* address) noexcept {
  const std::lock_guard lock(mutex_);
  return heap_.find(reinterpret_cast<std::uint64_t>(address));
}

void pool_core::retire(std::uint64_t stream) noexcept {
  const std::lock_guard lock(mutex_);
  fronts_.forget_stream(stream);
  auto busy = heap_.busy_zones();
  std::erase_if(busy, [&](const zone* z) { return z->stream != stream; });
  if (!busy.empty()) zones_.wait_without_mutex(busy);
  for (zone* z : heap_.busy_zones()) {
    if (z->stream != stream) continue;
    const bool waited = zones_.wait_for(stream);
    if (!waited) records_.note_withheld(z->bytes);
    zones_.retag(*z, waited ? heap_.clean() : zones_.withheld());
  }
  heap_.forget_zone(stream);
}

std::uint64_t pool_core::release(std::uint64_t keep_bytes, trace::pool_operation operation) noexcept {
  std::uint64_t bytes = 0;
  const auto segments = heap_.release(keep_bytes);
  if (!segments.empty()) {
    // Keep the source alive: another thread may close the pool before this one has the mutex again.
    const std::shared_ptr<growth> source = source_;
    const without_mutex meanwhile(source->may_call_back() ? &mutex_ : nullptr);
    for (const segment& s : segments) {
      source->shrink(s);
      bytes += s.bytes;
    }
  }
  if (bytes != 0) records_.record_state(operation);
  return bytes;
}

std::uint64_t pool_core::trim(std::uint64_t keep_bytes) {
  const std::lock_guard lock(mutex_);
  fronts_.drain();
  zones_.wait_for_streams();
  return release(keep_bytes, trace::pool_operation::trim);
}

void pool_core::set_limit(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  options_.limit_bytes = bytes;
}

void pool_core::close() noexcept {
  const std::lock_guard lock(mutex_);
  fronts_.drain();
  zones_.wait_for_streams();
  closed_.store(true, std::memory_order_release);
  finish_closing();
}

/// Memory held by graphs is released when they are destroyed.
void pool_core::finish_closing() noexcept {
  release(0, trace::pool_operation::shrink);
  if (!arenas_.empty()) return;
  std::shared_ptr<growth> source = std::move(source_);
  const without_mutex meanwhile(&mutex_);
  source.reset();  // Also releases the upstream resource, which may be a pool.
}

// --- statistics --------------------------------------------------------------------------------------------

pool_stats pool_core::stats() {
  const std::lock_guard lock(mutex_);
  return stats_from(fronts_.counts());
}

pool_stats pool_core::stats_from(const front_counts& counts) const noexcept {
  pool_stats s;
  s.used = static_cast<std::uint64_t>(counts.used);
  s.requested = static_cast<std::uint64_t>(counts.requested);
  s.reserved = heap_.reserved();
  s.kept = heap_.taken_bytes() - s.used;
  s.kept_for_graphs = arenas_.free_bytes();
  // The threads' peaks may be from different moments, and not all memory outside the heap was used.
  s.peak_used = std::max(s.used, std::min(static_cast<std::uint64_t>(counts.peak), peak_taken_));
  s.withheld = heap_.get_bytes(no_stream);
  s.peak_reserved = peak_reserved_;
  s.largest_free = heap_.largest_free();
  s.limit = options_.limit_bytes;
  s.used_blocks = static_cast<std::uint64_t>(counts.blocks);
  s.free_blocks = heap_.free_blocks() + heap_.taken_blocks() - s.used_blocks;
  s.segments = heap_.segments();
  s.refused_frees = records_.refused_frees();
  return s;
}

void pool_core::reset_peaks() noexcept {
  const std::lock_guard lock(mutex_);
  fronts_.reset_peaks();
  peak_taken_ = heap_.taken_bytes();
  peak_reserved_ = heap_.reserved();
}

// --- recordings --------------------------------------------------------------------------------------------

void pool_core::announce() noexcept {
  const std::lock_guard lock(mutex_);
  records_.announce();
}

std::optional<pool_live_set> pool_core::live_set(const look_limit& limit) {
  const std::unique_lock lock = limit.lock(mutex_);
  return lock ? records_.live_set(limit) : std::nullopt;
}

}  // namespace sluice::runtime::pooling
