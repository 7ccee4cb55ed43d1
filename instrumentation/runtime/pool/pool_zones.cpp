#include "instrumentation/runtime/pool/pool_zones.hpp"

#include <new>

#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/graph/capture_list.hpp"
#include "instrumentation/runtime/state/device_state.hpp"

namespace sluice::runtime::pooling {

zone& pool_zones::zone_or_wait(std::uint64_t stream) noexcept {
  try {
    return heap_.find_zone(stream);
  } catch (const std::bad_alloc&) {
    // Without a zone of the stream, the block must be free for every stream.
    return wait_for(stream) ? heap_.clean() : withheld();
  }
}

void pool_zones::retag(zone& old, zone& to) noexcept {
  heap_.retag(old, to);
  arenas_.rehome(old, to);
}

bool pool_zones::is_out_of_reach(std::uint64_t stream) const noexcept {
  // An announced capture may begin on any stream at any time.
  if (stream == no_stream || capture_list::get().announced.load(std::memory_order_relaxed) != 0) return true;
  const auto handle = streams().get_handle(stream);
  if (handle == backend::stream_handle::null) return capturing();
  // A capture by any code counts: querying whether a captured stream is idle breaks its capture.
  const auto info = device_.backend().stream_capture(handle);
  return !info || info->status != backend::capture_status::none;
}

void pool_zones::clean_idle_streams() {
  const captures_held_off held;
  const backend::beside_captures here(device_.backend());
  for (zone* z : heap_.busy_zones()) {
    if (is_out_of_reach(z->stream) || streams().is_of_another_thread(z->stream)) continue;
    const auto idle = device_.backend().stream_idle(streams().get_handle(z->stream));
    if (idle && *idle) retag(*z, heap_.clean());
  }
}

void pool_zones::steal(const stream_ref& stream) {
  backend::device& d = device_.backend();
  zone& own = heap_.find_zone(stream.identity());
  const captures_held_off held;
  for (zone* z : heap_.busy_zones()) {
    if (z == &own || is_out_of_reach(z->stream)) continue;
    // The event covers all frees on that stream so far.
    const auto event = d.create_event({});
    if (!event) continue;
    if (d.record_event(*event, streams().get_handle(z->stream)) && d.wait_event(stream.handle(), *event)) {
      retag(*z, own);
    }
    d.destroy_event(*event);
  }
}

// --- waits -------------------------------------------------------------------------------------------------

backend::event_handle pool_zones::event_behind(std::uint64_t stream) noexcept {
  const captures_held_off held;
  if (is_out_of_reach(stream)) return backend::event_handle::null;
  backend::device& d = device_.backend();
  const auto event = d.create_event({});
  if (!event) return backend::event_handle::null;
  if (d.record_event(*event, streams().get_handle(stream))) return *event;
  d.destroy_event(*event);
  return backend::event_handle::null;
}

bool pool_zones::wait_for(std::uint64_t stream) noexcept {
  backend::device& d = device_.backend();
  const backend::beside_captures here(d);
  const backend::event_handle event = event_behind(stream);
  if (event == backend::event_handle::null) return false;
  const bool done = d.sync_event(event).has_value();
  d.destroy_event(event);
  return done;
}

void pool_zones::wait_without_mutex(const std::vector<zone*>& zones) noexcept {
  backend::device& d = device_.backend();
  std::vector<backend::event_handle> behind;
  for (const zone* z : zones) {
    const backend::event_handle event = event_behind(z->stream);
    if (event != backend::event_handle::null) behind.push_back(event);
  }
  const without_mutex meanwhile(&mutex_);
  const backend::beside_captures here(d);
  for (const backend::event_handle event : behind) {
    (void)d.sync_event(event);
    d.destroy_event(event);
  }
}

void pool_zones::wait_for_streams() noexcept {
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

}  // namespace sluice::runtime::pooling
