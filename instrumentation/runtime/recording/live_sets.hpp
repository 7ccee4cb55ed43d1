#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

// When a full ring has lost allocations or frees of pool blocks, the writer no longer knows which blocks are live.
// `live_set_sender` then sends the pools' lists of blocks to the writer. This header is internal.

namespace sluice::runtime {

/// The live blocks of one pool, as sent to a recording.
struct pool_live_set {
  std::uint64_t pool = 0;            ///< key of the pool
  std::uint64_t time = 0;            ///< on the recording's clock; taken before the blocks were listed
  std::vector<std::uint64_t> words;  ///< as in `ring::pool_live_set_record`
};

/// The time limit for listing live blocks. If the limit is reached, the list is not sent and the live set remains
/// inexact.
class look_limit {
 public:
  /// The limit is reached at `until`, or as soon as `stop` is requested.
  explicit look_limit(std::chrono::steady_clock::time_point until, std::stop_token stop = {})
      : until_(until), stop_(std::move(stop)) {}
  /// Returns a limit that ends when this limit does, or `time` from now if that is earlier.
  [[nodiscard]] look_limit within(std::chrono::steady_clock::duration time) const;
  [[nodiscard]] bool reached() const { return stop_.stop_requested() || std::chrono::steady_clock::now() >= until_; }

  /// Locks `mutex`, but gives up when the limit is reached; the returned lock then owns nothing.
  [[nodiscard]] std::unique_lock<std::mutex> lock(std::mutex& mutex) const;

 private:
  std::chrono::steady_clock::time_point until_;
  std::stop_token stop_;
};

/// Sends the live blocks of all pools to the recording once memory events were lost and no more are being lost. Covers
/// all pools of all devices, because the writer treats unlisted pools as destroyed. Sends at most every 50 ms, like the
/// capture library. In a simulated recording, sends only once, at the end. Program threads wait only while a pool lists
/// its blocks, or up to 50 ms if another thread delays that. The sender's thread blocks all signals.
class live_set_sender {
 public:
  live_set_sender();
  ~live_set_sender() { end(); }
  live_set_sender(const live_set_sender&) = delete;
  live_set_sender& operator=(const live_set_sender&) = delete;
  /// Checks for losses one last time. If there are any, waits 50 ms (200 ms if losses continue)
  /// and then until the writer has read the lists: at most 0.2 s longer if the writer reads
  /// nothing, and at most `longest` in total. Pools that are not sent by then stay inexact.
  void end(std::chrono::milliseconds longest = std::chrono::seconds(1));

 private:
  void watch(const std::stop_token& stop);
  void wait_until_settled() noexcept;
  void poll(bool last, const look_limit& limit) noexcept;

  std::uint64_t covered_loss_ = 0;  ///< number of lost events that sent lists already cover
  std::uint64_t seen_ = 0;          ///< number of lost events at the last check
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace sluice::runtime
