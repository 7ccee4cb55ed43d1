#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

// After a full ring lost allocations or frees of pools' blocks the writer does not know what is live any more; the pools do, and say
// it. Internal.

namespace sluice::runtime {

/// What a pool has given out, as a recording is told it.
struct pool_live_set {
  std::uint64_t pool = 0;            ///< key
  std::uint64_t time = 0;            ///< before it was looked up, on the recording's clock
  std::vector<std::uint64_t> words;  ///< as in `collector::pool_live_set_record`
};

/// When a look at what is live gives up: what it would have told stays in doubt.
class look_limit {
 public:
  /// At `until`, or as soon as somebody asks `stop`.
  explicit look_limit(std::chrono::steady_clock::time_point until, std::stop_token stop = {})
      : until_(until), stop_(std::move(stop)) {}
  /// The same, and not later than `time` from now.
  [[nodiscard]] look_limit within(std::chrono::steady_clock::duration time) const;
  [[nodiscard]] bool reached() const { return stop_.stop_requested() || std::chrono::steady_clock::now() >= until_; }

  /// Its owner may hold it for long, and who looks cannot wait for that. Owns nothing once the limit was reached.
  [[nodiscard]] std::unique_lock<std::mutex> lock(std::mutex& mutex) const;

 private:
  std::chrono::steady_clock::time_point until_;
  std::stop_token stop_;
};

/// Tells the present recording what the pools of the process hold, each time that memory events were lost and no more are being lost: all
/// pools, whatever device they are of, for all tell it of their blocks, and one that is not listed counts as gone. It is told of
/// a set of a pool every 50 ms at most, as the capture library does with what it knows. The program's threads never wait for it
/// longer than a pool takes to list its blocks, and 50 ms where another one of them keeps it from that. Signals are blocked in its thread. Of a simulated recording only at its end.
class live_set_teller {
 public:
  live_set_teller();
  ~live_set_teller() { end(); }
  live_set_teller(const live_set_teller&) = delete;
  live_set_teller& operator=(const live_set_teller&) = delete;
  /// Looks once more, for whatever was lost since, and never again. If there is something, that takes 50 ms, or 200 if more is lost
  /// meanwhile, and as long as the writer takes for the sets: 0.2 s longer where it takes nothing, and `longest` for all of it. What
  /// is not told by then stays in doubt.
  void end(std::chrono::milliseconds longest = std::chrono::seconds(1));

 private:
  void watch(const std::stop_token& stop);
  void wait_until_settled() noexcept;
  void look(bool last, const look_limit& limit) noexcept;

  std::uint64_t told_ = 0;  ///< losses that the writer has been given sets for
  std::uint64_t seen_ = 0;  ///< as of the last look
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace sluice::runtime
