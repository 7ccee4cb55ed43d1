#include "instrumentation/runtime/recording/live_sets.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/producer_losses.hpp"
#include "instrumentation/ring/producer_state.hpp"
#include "instrumentation/runtime/state/device_state.hpp"
#include "instrumentation/runtime/state/layer_log.hpp"

namespace sluice::runtime {

namespace {

using namespace std::chrono_literals;

constexpr auto period = 50ms;
constexpr std::size_t words_each = 3;
constexpr std::size_t max_words = ring::max_in_live_set_part * words_each;
constexpr std::size_t max_bytes = max_words * sizeof(std::uint64_t) + sizeof(ring::pool_live_set_record);
static_assert(2 * max_bytes <= ring::minimum_ring_bytes / 4 * 3);

/// Polling interval for threads that can wait.
constexpr auto moment = 200us;

/// Blocks only this thread, never the program's threads. Returns false if the limit is reached: then the writer is
/// stuck, and the next period tries again.
bool wait_for_room(const look_limit& limit) {
  if (limit.reached()) return false;
  constexpr auto until_stuck = 200ms;
  for (const look_limit now = limit.within(until_stuck); !ring::has_room(max_bytes);) {
    if (now.reached()) return false;
    std::this_thread::sleep_for(moment);
  }
  return true;
}

/// Sends a set. Returns false if the set was not sent completely.
bool send(const pool_live_set& set, const look_limit& limit) {
  const std::span<const std::uint64_t> values = set.words;
  const auto part = [&](std::uint32_t place, std::span<const std::uint64_t> words) {
    ring::pool_live_set_record r{};
    r.header.time = set.time;
    r.pool = set.pool;
    r.count = static_cast<std::uint32_t>(words.size() / words_each);
    r.last = place;
    return wait_for_room(limit) &&
           ring::emit_with(&r.header, ring::record_type::pool_live_set, sizeof r, words.data(), words.size());
  };
  bool whole = part(ring::live_set_begins, {});
  for (std::size_t at = 0; whole && at < values.size(); at += max_words) {
    whole = part(ring::live_set_part, values.subspan(at, std::min(max_words, values.size() - at)));
  }
  return whole && part(ring::live_set_ends, {});
}

/// Reports that the sets of all pools, taken after `since`, have been sent.
bool send_end(std::uint64_t since, const look_limit& limit) {
  ring::live_sets_complete_record r{};
  r.header.time = layer_log::latest();
  r.since = since;
  return wait_for_room(limit) && ring::emit(r);
}

}  // namespace

look_limit look_limit::within(std::chrono::steady_clock::duration time) const {
  return look_limit(std::min(until_, std::chrono::steady_clock::now() + time), stop_);
}

std::unique_lock<std::mutex> look_limit::lock(std::mutex& mutex) const {
  std::unique_lock taken(mutex, std::try_to_lock);
  while (!taken && !reached()) {
    std::this_thread::sleep_for(moment);
    taken = std::unique_lock(mutex, std::try_to_lock);
  }
  return taken;
}

live_set_sender::live_set_sender() {
  // With a simulated clock, threads have different times: only the end is the same moment for all of them.
  if (layer_log::recording_clock.load(std::memory_order_acquire) != nullptr) return;
  // The new thread inherits the signal mask, so it never handles a signal.
  const ring::detail::signals_held here;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  } catch (const std::system_error&) {
    // No thread could be started: only the check at the end remains.
  }
}

void live_set_sender::end(std::chrono::milliseconds longest) {
  const look_limit limit(std::chrono::steady_clock::now() + longest);
  if (thread_.joinable()) {
    thread_.request_stop();  // Makes a running check give up.
    thread_.join();
  }
  wait_until_settled();
  poll(true, limit);
}

/// A set ignores blocks that changed just before it (`live_set_motion_ns`), because they have records of their own; but
/// these may be lost, too. So wait until losses stop, but not forever. With a simulated clock, nothing changes any
/// more.
void live_set_sender::wait_until_settled() noexcept {
  static_assert(period > std::chrono::nanoseconds(ring::live_set_motion_ns));
  constexpr int max_periods = 4;
  if (layer_log::recording_clock.load(std::memory_order_acquire) != nullptr) return;
  for (int i = 0; i < max_periods; ++i) {
    const std::uint64_t lost = ring::lost_memory_events();
    if (lost == covered_loss_) return;
    std::this_thread::sleep_for(period);
    if (lost == ring::lost_memory_events()) return;
  }
}

void live_set_sender::watch(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "sluice-live");
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, period, [] { return false; });
    poll(false, look_limit(std::chrono::steady_clock::time_point::max(), stop));
  }
}

void live_set_sender::poll(bool last, const look_limit& limit) noexcept {
  const std::uint64_t lost = ring::lost_memory_events();
  const bool settled = lost == std::exchange(seen_, lost);
  if (lost == covered_loss_ || !(settled || last)) return;
  try {
    const std::uint64_t since = layer_log::latest();
    std::vector<pool_live_set> sets;
    const auto devices = device_state::all();
    // The program's threads wait while a device lists its blocks.
    const look_limit briefly = last ? limit : limit.within(period);
    const auto list = [&](const auto& device) { return device->list_live(sets, briefly); };
    const auto sent = [&](const pool_live_set& set) { return send(set, limit); };
    const bool listed = std::all_of(devices.begin(), devices.end(), list);
    if (listed && std::all_of(sets.begin(), sets.end(), sent) && send_end(since, limit)) covered_loss_ = lost;
  } catch (const std::bad_alloc&) {
    // Retry in the next period.
  }
}

}  // namespace sluice::runtime
