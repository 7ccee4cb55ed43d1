#include "instrumentation/runtime/pool/live_sets.hpp"

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
#include "instrumentation/runtime/device/device_state.hpp"
#include "instrumentation/runtime/recording/layer_log.hpp"

namespace sluice::runtime {

namespace {

using namespace std::chrono_literals;

constexpr auto period = 50ms;
constexpr std::size_t words_each = 3;
constexpr std::size_t most_words = collector::most_in_live_set_part * words_each;
constexpr std::size_t most_bytes = most_words * sizeof(std::uint64_t) + sizeof(collector::pool_live_set_record);
static_assert(2 * most_bytes <= collector::minimum_ring_bytes / 4 * 3);

/// Polling interval for threads that can wait.
constexpr auto moment = 200us;

/// Only this thread waits, never the program's. If it takes longer, the writer is stuck: try again next period.
bool wait_for_room(const look_limit& limit) {
  if (limit.reached()) return false;
  constexpr auto until_stuck = 200ms;
  for (const look_limit now = limit.within(until_stuck); !collector::has_room(most_bytes);) {
    if (now.reached()) return false;
    std::this_thread::sleep_for(moment);
  }
  return true;
}

/// False: the set was not sent completely.
bool send(const pool_live_set& set, const look_limit& limit) {
  const std::span<const std::uint64_t> all = set.words;
  const auto part = [&](std::uint32_t place, std::span<const std::uint64_t> words) {
    collector::pool_live_set_record r{};
    r.header.time = set.time;
    r.pool = set.pool;
    r.count = static_cast<std::uint32_t>(words.size() / words_each);
    r.last = place;
    return wait_for_room(limit) &&
           collector::emit_with(&r.header, collector::record_type::pool_live_set, sizeof r, words.data(), words.size());
  };
  bool whole = part(collector::live_set_begins, {});
  for (std::size_t at = 0; whole && at < all.size(); at += most_words) {
    whole = part(collector::live_set_part, all.subspan(at, std::min(most_words, all.size() - at)));
  }
  return whole && part(collector::live_set_ends, {});
}

/// Reports that the sets of all pools, taken after `since`, have been sent.
bool send_end(std::uint64_t since, const look_limit& limit) {
  collector::live_sets_complete_record r{};
  r.header.time = layer_log::latest();
  r.since = since;
  return wait_for_room(limit) && collector::emit(r);
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
  // With a simulated clock, threads have different times: only the end is one moment for all of them.
  if (layer_log::recording_clock.load(std::memory_order_acquire) != nullptr) return;
  // The new thread inherits the signal mask, so it never handles a signal.
  const collector::detail::signals_held here;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  } catch (const std::system_error&) {
    // No thread available: only the check at the end remains.
  }
}

void live_set_sender::end(std::chrono::milliseconds longest) {
  const look_limit limit(std::chrono::steady_clock::now() + longest);
  if (thread_.joinable()) {
    thread_.request_stop();  // A running check gives up.
    thread_.join();
  }
  wait_until_settled();
  look(true, limit);
}

/// Blocks that changed just before a set (`live_set_motion_ns`) are left to their own records, which may be
/// lost, too. So wait until losses stop, but not forever. With a simulated clock nothing changes any more.
void live_set_sender::wait_until_settled() noexcept {
  static_assert(period > std::chrono::nanoseconds(collector::live_set_motion_ns));
  constexpr int most_periods = 4;
  if (layer_log::recording_clock.load(std::memory_order_acquire) != nullptr) return;
  for (int i = 0; i < most_periods; ++i) {
    const std::uint64_t lost = collector::lost_memory_events();
    if (lost == covered_loss_) return;
    std::this_thread::sleep_for(period);
    if (lost == collector::lost_memory_events()) return;
  }
}

void live_set_sender::watch(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "sluice-live");
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, period, [] { return false; });
    look(false, look_limit(std::chrono::steady_clock::time_point::max(), stop));
  }
}

void live_set_sender::look(bool last, const look_limit& limit) noexcept {
  const std::uint64_t lost = collector::lost_memory_events();
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
    // The next period tries again.
  }
}

}  // namespace sluice::runtime
