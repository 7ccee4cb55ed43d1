#include "instrumentation/runtime/pool/pool_core.hpp"

#include <algorithm>

#include "instrumentation/backend/driver_log.hpp"
#include "instrumentation/backend/simulated/clock.hpp"
#include "instrumentation/runtime/device/device_state.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/graph/capture_list.hpp"
#include "instrumentation/runtime/recording/layer_log.hpp"

namespace sluice::runtime::pooling {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

std::uint64_t chosen_front_bytes(const pool_options& options, const backend::device_description& device) {
  if (options.front_bytes != 0) return options.front_bytes;
  std::uint64_t bytes = std::min(64 * mib, device.memory_bytes / 512);
  if (options.limit_bytes != 0) bytes = std::min(bytes, options.limit_bytes / 16);
  return bytes;
}

}  // namespace

pool_core::pool_core(const device_ref& device, memory_space space, std::unique_ptr<growth> source, pool_options options)
    : device_(device),
      space_(space),
      host_reachable_(space != memory_space::device),
      options_(std::move(options)),
      front_bytes_(chosen_front_bytes(options_, device.description())),
      clock_(device.backend().clock()),
      trace_key_(layer_log::next_pool_key()),
      ordinal_(device.description().ordinal),
      hash_(static_cast<unsigned>(trace_key_ % pool_streams_remembered)),
      source_(std::move(source)) {
  (void)withheld();  // Created now: later there may be no memory for it.
}

// --- pool_streams --------------------------------------------------------------------------------------------------

pool_stream& pool_core::pool_stream_of(front& f, std::uint64_t stream) {
  pool_stream* found = nullptr;
  for (const auto& l : f.pool_streams) {
    if (l->in_use && l->is_of(stream)) found = l.get();
  }
  if (found == nullptr) {
    (void)heap_.zone_of(stream);  // Draining a pool_stream must not allocate.
    for (const auto& l : f.pool_streams) {
      if (!l->in_use) found = l.get();
    }
    if (found == nullptr) {
      f.pool_streams.push_back(std::make_unique<pool_stream>(f, front_bytes_));
      found = f.pool_streams.back().get();
    }
    found->stream.store(stream, std::memory_order_relaxed);
    found->in_use = true;
    found->names = {};
  }
  pool_streams_here[stream_ref::hash_of(stream) ^ hash_].set(this, *found);
  return *found;
}

void pool_core::drain(pool_stream& l) noexcept {
  if (l.room_bytes == front_bytes_) return;
  zone& to = heap_.zone_of(l.stream.load(std::memory_order_relaxed));
  for (std::size_t at = 0; at < pool_stream_classes; ++at) {
    pool_stream::bin& bin = l.bins[at];
    while (block* b = bin.head) {
      bin.head = b->next;
      heap_.give(b, to);
    }
    bin.room = max_of_class[at];
    bin.refill = 1;
  }
  l.room_bytes = front_bytes_;
}

void pool_core::drain_fronts() noexcept {
  const claim all(fronts_);
  for (const auto& f : fronts_) {
    for (const auto& l : f->pool_streams) drain(*l);
  }
}

/// Fetches extra blocks after repeated misses in this list, so that the thread misses less often.
void pool_core::refill(pool_stream& l, std::uint64_t bytes, zone& from) {
  const std::size_t at = class_of(bytes / granule);
  pool_stream::bin& bin = l.bins[at];
  for (std::uint32_t more = bin.refill - 1; more != 0 && bin.room != 0; --more) {
    if (bytes > l.room_bytes) break;
    block* b = heap_.take(bytes, from);
    if (b == nullptr) break;
    push(l, l.bins[b->bin], b);
  }
  bin.refill = std::min<std::uint32_t>(bin.refill * 2, max_of_class[at] / 2u);
}

void pool_core::flush_half(pool_stream& l, std::size_t at) noexcept {
  pool_stream::bin& bin = l.bins[at];
  zone& to = heap_.zone_of(l.stream.load(std::memory_order_relaxed));
  for (std::uint32_t left = (max_of_class[at] - bin.room) / 2; left != 0; --left) {
    block* b = bin.head;
    bin.head = b->next;
    ++bin.room;
    l.room_bytes += b->bytes;
    heap_.give(b, to);
  }
}

/// Counts for the calling thread's front, or for threads that have ended if it has none.
void pool_core::count(front* f, const block& b, std::int64_t sign) noexcept {
  if (f != nullptr) return sign > 0 ? f->count_given(b.bytes, b.requested) : f->count_returned(b.bytes, b.requested);
  const auto bytes = static_cast<std::int64_t>(b.bytes), asked = static_cast<std::int64_t>(b.requested);
  gone_.used += sign * bytes;
  gone_.requested += sign * asked;
  gone_.blocks += sign;
  gone_.peak = std::max(gone_.peak, gone_.used);
}

// --- allocation --------------------------------------------------------------------------------------------

block* pool_core::allocate(const stream_ref& stream, std::uint64_t bytes) {
  const std::uint64_t want = size_for(bytes), on = stream.identity();
  front* f = front_here();
  const std::lock_guard lock(mutex_);
  zone& own = heap_.zone_of(on);
  pool_stream* l = nullptr;
  try {
    if (f != nullptr && !host_reachable_) l = &pool_stream_of(*f, on);
  } catch (const std::bad_alloc&) {
    // Out of memory: without a pool_stream, the next allocation is only slower.
  }
  // The thread may have forgotten this pool_stream (it remembers only the latest), which may hold a block.
  if (block* b = take_from_front(l, on, bytes)) return b;
  block* b = find(stream, want);
  if (b == nullptr) return nullptr;
  try {
    if (l != nullptr && want <= largest_rounded) refill(*l, want, own);
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
  count(f, b, 1);
  peak_taken_ = std::max(peak_taken_, heap_.taken_bytes());
  // Reusing another thread's block synchronizes the clocks, like a message from that thread.
  if (clock_ != nullptr) clock_->advance_to(b.freed_at);
  sample();
}

block* pool_core::find(const stream_ref& stream, std::uint64_t bytes) {
  if (host_reachable_) return find_idle(bytes);
  zone& own = heap_.zone_of(stream.identity());
  if (block* b = heap_.take(bytes, own)) return b;
  clean_idle_streams();
  if (block* b = heap_.take(bytes, own)) return b;
  if (heap_.taken_bytes() > used_about()) {
    // Much more expensive than a hit, but much cheaper than new memory.
    drain_fronts();
    clean_idle_streams();
  }
  if (block* b = heap_.take_any(bytes, own)) return b;
  if (block* b = take_grown(bytes, own)) return b;
  steal(stream);
  if (block* b = heap_.take_any(bytes, own)) return b;
  return find_by_waiting(bytes, own);
}

block* pool_core::find_idle(std::uint64_t bytes) {
  zone& clean = heap_.clean();
  clean_idle_streams();
  if (block* b = heap_.take_any(bytes, clean)) return b;
  if (block* b = take_grown(bytes, clean)) return b;
  return find_by_waiting(bytes, clean);
}

/// Last resort: returns free memory that is scattered over segments to upstream, then allocates a segment of the right
/// size.
block* pool_core::find_by_waiting(std::uint64_t bytes, zone& own) {
  wait_for_streams();
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

// A stream being captured, or the default stream if it synchronizes with one, cannot be queried or
// waited for: that would break the capture. Only that stream may reuse its freed blocks. No capture may begin
// between check and query. Waiting takes long, so it uses an event, which a later capture does not affect.

void pool_core::clean_idle_streams() {
  const captures_held_off held;
  const backend::beside_captures here(device_.backend());
  for (zone* z : heap_.busy_zones()) {
    if (is_out_of_reach(z->stream) || streams().is_of_another_thread(z->stream)) continue;
    const auto idle = device_.backend().stream_idle(streams().handle_of(z->stream));
    if (idle && *idle) retag(*z, heap_.clean());
  }
}

backend::event_handle pool_core::event_behind(std::uint64_t stream) noexcept {
  const captures_held_off held;
  if (is_out_of_reach(stream)) return backend::event_handle::null;
  backend::device& d = device_.backend();
  const auto event = d.create_event({});
  if (!event) return backend::event_handle::null;
  if (d.record_event(*event, streams().handle_of(stream))) return *event;
  d.destroy_event(*event);
  return backend::event_handle::null;
}

/// Waits for a stream. Returns false if the wait failed.
bool pool_core::wait_for(std::uint64_t stream) noexcept {
  backend::device& d = device_.backend();
  const backend::beside_captures here(d);
  const backend::event_handle event = event_behind(stream);
  if (event == backend::event_handle::null) return false;
  const bool done = d.sync_event(event).has_value();
  d.destroy_event(event);
  return done;
}

/// Releases the mutex for calls that may use this pool, wait for other threads, or throw. The limit includes `bytes`.
struct pool_core::without_mutex {
  pool_core* core;  ///< null: the mutex is not released
  std::uint64_t bytes;
  without_mutex(pool_core* of, std::uint64_t on_its_way) : core(of), bytes(on_its_way) {
    if (core == nullptr) return;
    core->growing_ += bytes;
    core->mutex_.unlock();
  }
  without_mutex(const without_mutex&) = delete;
  without_mutex& operator=(const without_mutex&) = delete;
  ~without_mutex() {
    if (core == nullptr) return;
    core->mutex_.lock();
    core->growing_ -= bytes;
  }
};

/// Other threads continue meanwhile; work that they add to these streams is not waited for.
void pool_core::wait_without_mutex(const std::vector<zone*>& zones) noexcept {
  backend::device& d = device_.backend();
  std::vector<backend::event_handle> behind;
  for (const zone* z : zones) {
    const backend::event_handle event = event_behind(z->stream);
    if (event != backend::event_handle::null) behind.push_back(event);
  }
  const without_mutex meanwhile(this, 0);
  const backend::beside_captures here(d);
  for (const backend::event_handle event : behind) {
    (void)d.sync_event(event);
    d.destroy_event(event);
  }
}

void pool_core::wait_for_streams() noexcept {
  // Most of the waiting happens here. Only work added meanwhile is left for the loop below.
  wait_without_mutex(heap_.busy_zones());
  clean_idle_streams();
  for (zone* z : heap_.busy_zones()) {
    if (wait_for(z->stream)) retag(*z, heap_.clean());
  }
  zone& left = withheld();
  const captures_held_off held;
  const backend::beside_captures here(device_.backend());
  if ((left.blocks != 0 || left.held != 0) && !capturing() && device_.backend().synchronize()) {
    retag(left, heap_.clean());
  }
}

void pool_core::steal(const stream_ref& stream) {
  backend::device& d = device_.backend();
  zone& own = heap_.zone_of(stream.identity());
  const captures_held_off held;
  for (zone* z : heap_.busy_zones()) {
    if (z == &own || is_out_of_reach(z->stream)) continue;
    // The event covers all frees on that stream so far.
    const auto event = d.create_event({});
    if (!event) continue;
    if (d.record_event(*event, streams().handle_of(z->stream)) && d.wait_event(stream.handle(), *event)) {
      retag(*z, own);
    }
    d.destroy_event(*event);
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
  const auto made = grow_between(least, wanted, at);
  if (!made) {
    if (made.error().code == status::out_of_memory) return false;
    throw error(made.error());
  }
  heap_.add(*made, home);
  peak_reserved_ = std::max(peak_reserved_, heap_.reserved());
  state(trace::pool_operation::grow);
  return true;
}

backend::device_result<segment> pool_core::grow_between(std::uint64_t least, std::uint64_t wanted, std::uint64_t at) {
  const without_mutex meanwhile(source_->may_call_back() ? this : nullptr, wanted);
  auto made = source_->grow(wanted, at);
  const bool refused = !made && made.error().code == status::out_of_memory;
  // A segment smaller than the growth step is better than none.
  return refused && least != wanted ? source_->grow(least, at) : std::move(made);
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
  count(f, *b, -1);
  sample();
  zone& to = zone_or_wait(stream);
  try {
    if (f != nullptr && !host_reachable_ && b->bin < pool_stream_classes) {
      pool_stream& l = pool_stream_of(*f, stream);
      pool_stream::bin& bin = l.bins[b->bin];
      if (bin.room == 0) flush_half(l, b->bin);
      if (bin.room != 0 && b->bytes <= l.room_bytes) return push(l, bin, b);
    }
  } catch (const std::bad_alloc&) {
    // Out of memory for a pool_stream: free directly to the heap.
  }
  heap_.give(b, to);
}

/// The zone for a block that was freed on `stream`.
zone& pool_core::zone_or_wait(std::uint64_t stream) noexcept {
  try {
    return heap_.zone_of(stream);
  } catch (const std::bad_alloc&) {
    // There is no memory for a zone of the stream: wait for the stream, so that the block is free for every stream.
    return wait_for(stream) ? heap_.clean() : withheld();
  }
}

void pool_core::withhold(block* b) noexcept {
  const std::lock_guard lock(mutex_);
  count(nullptr, *b, -1);
  note_withheld(b->bytes);
  heap_.give(b, withheld());
}

block* pool_core::look_again(const void* address) noexcept {
  const std::lock_guard lock(mutex_);
  return heap_.find(reinterpret_cast<std::uint64_t>(address));
}

void pool_core::retire(std::uint64_t stream) noexcept {
  const std::lock_guard lock(mutex_);
  const auto of_stream = [&](const auto& l) { return l->in_use && l->is_of(stream); };
  const bool kept = std::any_of(fronts_.begin(), fronts_.end(), [&](const auto& f) {
    return std::any_of(f->pool_streams.begin(), f->pool_streams.end(), of_stream);
  });
  if (kept) {
    const claim all(fronts_);
    for (const auto& f : fronts_) {
      for (const auto& l : f->pool_streams) {
        if (!of_stream(l)) continue;
        drain(*l);
        l->in_use = false;
        l->stream.store(no_stream, std::memory_order_relaxed);
      }
    }
  }
  auto busy = heap_.busy_zones();
  std::erase_if(busy, [&](const zone* z) { return z->stream != stream; });
  if (!busy.empty()) wait_without_mutex(busy);
  for (zone* z : heap_.busy_zones()) {
    if (z->stream != stream) continue;
    const bool waited = wait_for(stream);
    if (!waited) note_withheld(z->bytes);
    retag(*z, waited ? heap_.clean() : withheld());
  }
  heap_.forget_zone(stream);
}

std::uint64_t pool_core::release(std::uint64_t keep_bytes, trace::pool_operation operation) noexcept {
  std::uint64_t bytes = 0;
  const auto segments = heap_.release(keep_bytes);
  if (!segments.empty()) {
    // Keep the source alive: another thread may close the pool before this one has the mutex again.
    const std::shared_ptr<growth> source = source_;
    const without_mutex meanwhile(source->may_call_back() ? this : nullptr, 0);
    for (const segment& s : segments) {
      source->shrink(s);
      bytes += s.bytes;
    }
  }
  if (bytes != 0) state(operation);
  return bytes;
}

std::uint64_t pool_core::trim(std::uint64_t keep_bytes) {
  const std::lock_guard lock(mutex_);
  drain_fronts();
  wait_for_streams();
  return release(keep_bytes, trace::pool_operation::trim);
}

void pool_core::set_limit(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  options_.limit_bytes = bytes;
}

void pool_core::close() noexcept {
  const std::lock_guard lock(mutex_);
  drain_fronts();
  wait_for_streams();
  closed_.store(true, std::memory_order_release);
  finish_closing();
}

/// Memory held by graphs is released when they are destroyed.
void pool_core::finish_closing() noexcept {
  release(0, trace::pool_operation::shrink);
  if (!arenas_.empty()) return;
  std::shared_ptr<growth> source = std::move(source_);
  const without_mutex meanwhile(this, 0);
  source.reset();  // Also releases the upstream resource, which may be a pool.
}

// --- statistics --------------------------------------------------------------------------------------------

/// The sum over all fronts while other threads run, so approximate: not from a single moment.
std::uint64_t pool_core::used_about() const noexcept {
  std::int64_t used = gone_.used;
  for (const auto& f : fronts_) used += f->used.load(std::memory_order_relaxed);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, used));
}

pool_stats pool_core::stats() {
  const std::lock_guard lock(mutex_);
  constexpr int attempts = 4;
  for (int i = 0; i < attempts; ++i) {
    front_counts sum = gone_;
    if (collect(fronts_, sum)) return stats_from(sum);
  }
  const claim all(fronts_);
  front_counts sum = gone_;
  (void)collect(fronts_, sum);  // No thread can change the fronts now.
  return stats_from(sum);
}

pool_stats pool_core::stats_from(const front_counts& counts) const noexcept {
  pool_stats s;
  s.used = static_cast<std::uint64_t>(counts.used);
  s.requested = static_cast<std::uint64_t>(counts.requested);
  s.reserved = heap_.reserved();
  s.kept = heap_.taken_bytes() - s.used;
  for (const auto& [id, arena] : arenas_) s.kept_for_graphs += arena->free_bytes();
  // The threads' peaks may be from different moments, and not all memory outside the heap was used.
  s.peak_used = std::max(s.used, std::min(static_cast<std::uint64_t>(counts.peak), peak_taken_));
  s.withheld = heap_.bytes_of(no_stream);
  s.peak_reserved = peak_reserved_;
  s.largest_free = heap_.largest_free();
  s.limit = options_.limit_bytes;
  s.used_blocks = static_cast<std::uint64_t>(counts.blocks);
  s.free_blocks = heap_.free_blocks() + heap_.taken_blocks() - s.used_blocks;
  s.segments = heap_.segments();
  s.refused_frees = refused_frees_.load(std::memory_order_relaxed);
  return s;
}

void pool_core::reset_peaks() noexcept {
  const std::lock_guard lock(mutex_);
  const claim all(fronts_);
  for (const auto& f : fronts_) f->peak.store(f->used.load(std::memory_order_relaxed), std::memory_order_relaxed);
  gone_.peak = gone_.used;
  peak_taken_ = heap_.taken_bytes();
  peak_reserved_ = heap_.reserved();
}

}  // namespace sluice::runtime::pooling
