#include "instrumentation/runtime/pool_memory_resource.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "instrumentation/backend/simulated/clock.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/pool/pool_core.hpp"
#include "instrumentation/runtime/recording/live_sets.hpp"
#include "instrumentation/runtime/state/device_state.hpp"
#include "instrumentation/runtime/state/layer_log.hpp"

namespace sluice::runtime {

using pooling::block;

namespace {

std::uint64_t get_bytes(double fraction, const device_ref& device) {
  if (!(fraction >= 0 && fraction <= 1)) {
    throw error({status::invalid_value, 0, "pool_memory_resource",
                 fmt::format("limit_fraction {}: expected 0 (no limit) to 1 (the whole device)", fraction)});
  }
  return static_cast<std::uint64_t>(fraction * static_cast<double>(device.description().memory_bytes));
}

/// Sets `limit_bytes` to the lower of the two limits.
pool_options with_limit(pool_options options, const device_ref& device) {
  const std::uint64_t part = get_bytes(options.limit_fraction, device);
  if (part != 0) options.limit_bytes = options.limit_bytes == 0 ? part : std::min(options.limit_bytes, part);
  return options;
}

/// Mapped growth if it is possible and not excluded by the options; null: use upstream.
std::unique_ptr<pooling::growth> mapped_growth(const resource_ptr& upstream, const pool_options& options) {
  if (options.ipc_capable || dynamic_cast<const device_memory_resource*>(upstream.get()) == nullptr) return nullptr;
  const device_ref& device = upstream->device();
  // Reserves addresses for the whole device's memory, because the limit may be raised later and addresses cost nothing.
  auto source = pooling::growth_by_mapping::open(device, device.description().memory_bytes);
  // Mapped pieces have at least 2 MiB; pools with smaller steps or limits use upstream blocks.
  constexpr std::uint64_t steps_in_limit = 16;
  const auto counts_in_steps = [&](std::uint64_t step) {
    return options.growth_bytes >= step && (options.limit_bytes == 0 || options.limit_bytes >= steps_in_limit * step);
  };
  return source && counts_in_steps((*source)->step()) ? std::move(*source) : nullptr;
}

}  // namespace

pool_memory_resource::pool_memory_resource(resource_ptr upstream, pool_options options)
    : memory_resource(upstream->device(), upstream->space()), upstream_(std::move(upstream)) {
  pool_options chosen = with_limit(std::move(options), device());
  auto source = mapped_growth(upstream_, chosen);
  mapping_ = source != nullptr;
  if (!mapping_) source = std::make_unique<pooling::growth_from_upstream>(upstream_);
  core_ = std::make_shared<pooling::pool_core>(device(), space(), std::move(source), std::move(chosen));
  // Register before a recording knows the pool, because the writer treats a pool missing from live sets as destroyed.
  device().state()->observe(this);
  try {
    core_->records().define();
    reserve_initial();
  } catch (...) {
    device().state()->forget(this);
    throw;
  }
}

void pool_memory_resource::reserve_initial() {
  const std::uint64_t initial = core_->options().initial_bytes;
  if (initial == 0 || core_->reserve(initial)) return;
  throw out_of_memory({status::out_of_memory, 0, "pool_memory_resource",
                       fmt::format("pool '{}' cannot reserve its initial {} bytes", name(), initial)},
                      {initial, device().id(), 0, true, core_->stats()});
}

pool_memory_resource::~pool_memory_resource() {
  device().state()->forget(this);
  core_->close();
}

// Rare cases are in separate functions, called last, so that a hit saves no registers for them.

SLUICE_HOT void* pool_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  const std::uint64_t on = stream.plain_identity();
  const unsigned hash = stream.hash();
  if (capturing() || on == 0) [[unlikely]]
    return allocate_with_a_look(stream, bytes);
  pooling::pool_stream* own = core_->fronts().pool_stream_by_hash(hash);
  block* b = pooling::pool_fronts::take(own, on, bytes);
  if (b == nullptr) [[unlikely]]
    return allocate_slowly(stream, bytes);
  if (layer_log::on()) return core_->records().note_taken_from_front(*own, stream, *b);
  return b->pointer();
}

/// For streams that may be captured, or that differ between threads.
SLUICE_RARE void* pool_memory_resource::allocate_with_a_look(const stream_ref& stream, std::size_t bytes) {
  if (capturing() || stream.may_be_captured_by_others()) {
    require_own(stream);
    const auto capture = capture_by_anybody(stream);
    if (capture != nullptr) {
      return allocated_or_throw(core_->allocate_captured(*capture, stream, bytes), stream, bytes, 0);
    }
  }
  const std::uint64_t on = stream.identity();
  pooling::pool_stream* own = core_->fronts().own_pool_stream(on);
  block* b = pooling::pool_fronts::take(own, on, bytes);
  if (b == nullptr) return allocate_slowly(stream, bytes);
  return layer_log::on() ? core_->records().note_taken_from_front(*own, stream, *b) : b->pointer();
}

void pool_memory_resource::require_own(const stream_ref& stream) const {
  if (stream.device() == device()) return;
  throw error({status::invalid_value, 0, "pool_memory_resource::allocate",
               fmt::format("the stream belongs to {}, but pool '{}' serves only streams of its device, {}",
                           stream.device().name(), name(), device().name())});
}

SLUICE_RARE void* pool_memory_resource::allocate_slowly(const stream_ref& stream, std::size_t bytes) {
  require_own(stream);
  const std::uint64_t begin = layer_log::on() ? layer_log::now() : 0;
  return allocated_or_throw(core_->allocate(stream, bytes), stream, bytes, begin);
}

void* pool_memory_resource::allocated_or_throw(block* b, const stream_ref& stream, std::size_t bytes,
                                               std::uint64_t begin) {
  if (b == nullptr) {
    const pool_stats held = core_->stats();
    core_->records().note_failed(stream, bytes);
    throw out_of_memory(
        {status::out_of_memory, 0, "pool_memory_resource::allocate",
         fmt::format("{} bytes from pool '{}' on {}: {} used of {} reserved{}, largest free block {}", bytes, name(),
                     device().name(), held.used, held.reserved,
                     held.limit != 0 ? fmt::format(" (limit {})", held.limit) : std::string(), held.largest_free)},
        {bytes, device().id(), stream.get(), true, held});
  }
  if (layer_log::on()) core_->records().note_allocated(stream, *b, begin);
  return b->pointer();
}

SLUICE_HOT void pool_memory_resource::do_deallocate(const stream_ref& stream, void* address,
                                                    std::size_t /*bytes*/) noexcept {
  (void)try_deallocate(stream, address);
}

template <bool recorded>
SLUICE_INLINE bool pool_memory_resource::deallocate_quickly(const stream_ref& stream, void* address,
                                                            std::uint64_t now) noexcept {
  pooling::pool_core& core = *core_;
  const std::uint64_t on = stream.fixed_identity();
  const unsigned hash = stream.hash();
  block* b = core.used_block_at_once(address);
  if (b == nullptr || on == 0 || capturing() || core.clock() != nullptr) [[unlikely]]
    return deallocate_slowly(stream, address, now);
  pooling::pool_stream* own = core.fronts().pool_stream_by_hash(hash);
  if (own == nullptr) [[unlikely]]
    return deallocate_slowly(stream, address, now);
  if constexpr (recorded) core.records().note_freed(*own, on, stream, *b, now);
  if (!pooling::pool_fronts::keep(own, on, b)) [[unlikely]]
    return give_back(own, stream, b);
  return true;
}

SLUICE_HOT bool pool_memory_resource::try_deallocate(const stream_ref& stream, void* address) noexcept {
  return layer_log::on() ? deallocate_recorded(stream, address) : deallocate_quickly<false>(stream, address, 0);
}

/// Reads the clock first, because the call begins now. If it were read after the lookup, the read would wait for the
/// lookup.
SLUICE_HOT bool pool_memory_resource::deallocate_recorded(const stream_ref& stream, void* address) noexcept {
  if (!layer_log::by_counter()) [[unlikely]]
    return deallocate_slowly(stream, address, 0);
  return deallocate_quickly<true>(stream, address, ring::read_tsc());
}

/// Handles unusual cases: the first probe found no block, a graph holds the block, a per-thread
/// stream, or a simulated device or clock. `now`: the time if recording and known, else 0.
[[gnu::noinline]] bool pool_memory_resource::deallocate_slowly(const stream_ref& stream, void* address,
                                                               std::uint64_t now) noexcept {
  const bool recorded = layer_log::on();
  if (recorded && now == 0) now = layer_log::now();
  block* b = core_->used_block(address);
  if (b == nullptr) return core_->records().refuse_free(address), false;
  const std::uint64_t on = stream.identity();
  pooling::pool_stream* own = core_->fronts().own_pool_stream(on);
  if (recorded && own != nullptr) core_->records().note_freed(*own, on, stream, *b, now);
  if (recorded && own == nullptr) core_->records().note_freed_in_full(stream, *b, now);
  if (core_->clock() != nullptr) b->freed_at = core_->clock()->now();
  const bool held = b->arena.load(std::memory_order_acquire) != nullptr;
  return (!capturing() && !held && pooling::pool_fronts::keep(own, on, b)) || give_back(own, stream, b);
}

/// Frees a used block that did not go into the front on the fast path. Returns true.
SLUICE_RARE bool pool_memory_resource::give_back(pooling::pool_stream* own, const stream_ref& stream,
                                                 block* b) noexcept {
  if (!(stream.device() == device())) {
    // A stream of another device: the host waits for it, then the block counts as freed on the default stream.
    const bool waited = stream.device().backend().sync_stream(stream.handle()).has_value();
    if (!waited && b->arena.load(std::memory_order_acquire) == nullptr) return core_->withhold(b), true;
    return give_back(nullptr, stream_ref(device()), b);
  }
  const std::uint64_t on = stream.identity();
  // The caller is responsible for blocks from before a foreign capture, so the driver need not be asked.
  const bool held = b->arena.load(std::memory_order_acquire) != nullptr;
  const auto capture = held ? capture_by_anybody(stream) : find_capture(stream);
  if (capture != nullptr || held) return core_->give_back_captured(capture, on, b), true;
  if (!pooling::pool_fronts::keep(own, on, b)) core_->give_back(on, b);
  return true;
}

void pool_memory_resource::retire(backend::stream_handle stream) noexcept {
  core_->retire(device().state()->identify_recording(stream));
}

void pool_memory_resource::announce() noexcept { core_->announce(); }

bool pool_memory_resource::list_live(std::vector<pool_live_set>& to, const look_limit& limit) {
  auto set = core_->live_set(limit);
  if (set) to.push_back(std::move(*set));
  return set.has_value();
}

pool_stats pool_memory_resource::stats() const { return core_->stats(); }
void pool_memory_resource::reset_peaks() { core_->reset_peaks(); }
std::uint64_t pool_memory_resource::trim(std::uint64_t keep_bytes) { return core_->trim(keep_bytes); }
void pool_memory_resource::set_limit(std::uint64_t bytes) { core_->set_limit(bytes); }
void pool_memory_resource::set_limit_fraction(double fraction) { core_->set_limit(get_bytes(fraction, device())); }
const std::string& pool_memory_resource::name() const noexcept { return core_->options().name; }

bool pool_memory_resource::owns(const void* address) const noexcept { return core_->used_block(address) != nullptr; }

}  // namespace sluice::runtime
