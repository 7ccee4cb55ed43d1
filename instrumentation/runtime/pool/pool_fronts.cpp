#include "instrumentation/runtime/pool/pool_fronts.hpp"

#include <algorithm>

namespace sluice::runtime::pooling {

void pool_fronts::remove(const front* f) noexcept {
  for (const auto& l : f->pool_streams) drain(*l);
  const front_counts c = f->counts();
  gone_.used += c.used;
  gone_.requested += c.requested;
  gone_.blocks += c.blocks;
  gone_.peak += c.peak;
  std::erase_if(fronts_, [&](const auto& other) { return other.get() == f; });
}

pool_stream& pool_fronts::open(front& f, std::uint64_t stream) {
  pool_stream* found = nullptr;
  for (const auto& l : f.pool_streams) {
    if (l->in_use && l->is_of(stream)) found = l.get();
  }
  if (found == nullptr) {
    (void)heap_.find_zone(stream);  // Draining a pool_stream must not allocate.
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
  pool_streams_here[stream_ref::compute_hash(stream) ^ hash_].set(this, *found);
  return *found;
}

void pool_fronts::drain(pool_stream& l) noexcept {
  if (l.room_bytes == front_bytes_) return;
  zone& to = heap_.find_zone(l.stream.load(std::memory_order_relaxed));
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

void pool_fronts::drain() noexcept {
  const claim claimed(fronts_);
  for (const auto& f : fronts_) {
    for (const auto& l : f->pool_streams) drain(*l);
  }
}

void pool_fronts::forget_stream(std::uint64_t stream) noexcept {
  const auto is_kept = [&](const auto& l) { return l->in_use && l->is_of(stream); };
  const bool kept = std::any_of(fronts_.begin(), fronts_.end(), [&](const auto& f) {
    return std::any_of(f->pool_streams.begin(), f->pool_streams.end(), is_kept);
  });
  if (!kept) return;
  const claim claimed(fronts_);
  for (const auto& f : fronts_) {
    for (const auto& l : f->pool_streams) {
      if (!is_kept(l)) continue;
      drain(*l);
      l->in_use = false;
      l->stream.store(no_stream, std::memory_order_relaxed);
    }
  }
}

void pool_fronts::refill(pool_stream& l, std::uint64_t bytes, zone& source) {
  const std::size_t at = get_size_class(bytes / granule);
  pool_stream::bin& bin = l.bins[at];
  for (std::uint32_t more = bin.refill - 1; more != 0 && bin.room != 0; --more) {
    if (bytes > l.room_bytes) break;
    block* b = heap_.take(bytes, source);
    if (b == nullptr) break;
    push(l, l.bins[b->bin], b);
  }
  bin.refill = std::min<std::uint32_t>(bin.refill * 2, max_of_class[at] / 2u);
}

bool pool_fronts::keep_after_flush(front& f, std::uint64_t stream, block* b) {
  if (b->bin >= pool_stream_classes) return false;
  pool_stream& l = open(f, stream);
  pool_stream::bin& bin = l.bins[b->bin];
  if (bin.room == 0) flush_half(l, b->bin);
  if (bin.room == 0 || b->bytes > l.room_bytes) return false;
  push(l, bin, b);
  return true;
}

void pool_fronts::flush_half(pool_stream& l, std::size_t at) noexcept {
  pool_stream::bin& bin = l.bins[at];
  zone& to = heap_.find_zone(l.stream.load(std::memory_order_relaxed));
  for (std::uint32_t left = (max_of_class[at] - bin.room) / 2; left != 0; --left) {
    block* b = bin.head;
    bin.head = b->next;
    ++bin.room;
    l.room_bytes += b->bytes;
    heap_.give(b, to);
  }
}

// --- counts ------------------------------------------------------------------------------------------------

void pool_fronts::count(front* f, const block& b, std::int64_t sign) noexcept {
  if (f != nullptr) return sign > 0 ? f->count_given(b.bytes, b.requested) : f->count_returned(b.bytes, b.requested);
  const auto bytes = static_cast<std::int64_t>(b.bytes), asked = static_cast<std::int64_t>(b.requested);
  gone_.used += sign * bytes;
  gone_.requested += sign * asked;
  gone_.blocks += sign;
  gone_.peak = std::max(gone_.peak, gone_.used);
}

front_counts pool_fronts::counts() const noexcept {
  constexpr int attempts = 4;
  for (int i = 0; i < attempts; ++i) {
    front_counts sum = gone_;
    if (collect(fronts_, sum)) return sum;
  }
  const claim claimed(fronts_);
  front_counts sum = gone_;
  (void)collect(fronts_, sum);  // No thread can change the fronts now.
  return sum;
}

std::uint64_t pool_fronts::used_about() const noexcept {
  std::int64_t used = gone_.used;
  for (const auto& f : fronts_) used += f->used.load(std::memory_order_relaxed);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, used));
}

void pool_fronts::reset_peaks() noexcept {
  const claim claimed(fronts_);
  for (const auto& f : fronts_) f->peak.store(f->used.load(std::memory_order_relaxed), std::memory_order_relaxed);
  gone_.peak = gone_.used;
}

}  // namespace sluice::runtime::pooling
