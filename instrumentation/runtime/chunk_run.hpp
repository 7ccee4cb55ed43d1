#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "instrumentation/backend/simulated/clock.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/chunk_pipeline.hpp"

// One overlapped run of a chunk_pipeline. Internal.

namespace sluice::runtime {

/// What one piece in flight needs. Readers sleep until the device is done: those that spin take the processors from those
/// that read, and from the thread that enqueues.
struct chunk_slot {
  chunk_slot(std::size_t bytes, const device_ref& device)
      : work(device),
        pinned(bytes, work, "chunk staging"),
        there(bytes, work, "chunk"),
        done(device, event_wait::sleep) {}

  stream work;
  pinned_buffer pinned;
  device_buffer there;
  event done;
};

/// Times that a piece carries from thread to thread on the simulated device; real clocks need no telling.
class chunk_clock {
 public:
  explicit chunk_clock(backend::simulated_clock* clock) : clock_(clock) {}
  /// The calling thread's time, in ns.
  [[nodiscard]] std::int64_t now() const;
  void receive(std::int64_t time) const {
    if (clock_) clock_->advance_to(time);
  }
  void begin_at(std::int64_t time) const {
    if (clock_) clock_->adopt(time);
  }

 private:
  backend::simulated_clock* clock_;
};

/// Decides where each piece comes from: by trial, if that is asked for and possible. Called under the run's mutex.
///
/// Measured on one H100 and one H200 host (driver 580), 8 GiB in the page cache: preading goes faster with each reader (38
/// to 52 GB/s with 8, 66 with 16), registering does not (23 GB/s with 1 to 8 threads: the driver does one range at a
/// time), and unregistering takes about half as long again. So a trial needs no run of either: what one piece takes its
/// thread tells what all threads make.
class chunk_source_choice {
 public:
  /// `count` pieces of `bytes` are to come, `depth` of them in flight, by `readers` threads.
  chunk_source_choice(chunk_source wanted, bool can_register, std::uint64_t count, std::size_t bytes,
                      std::uint64_t depth, unsigned readers);

  /// False until the pieces that decide about piece `i` have been made ready. Those are long before it.
  [[nodiscard]] bool known(std::uint64_t i) const noexcept;
  [[nodiscard]] chunk_source of(std::uint64_t i) const;
  /// Piece `i` was made ready at `now`, which took its thread `ns`.
  void filled(std::uint64_t i, chunk_source source, std::int64_t ns, std::int64_t now);
  /// The driver registers no such memory: everything is staged from now on.
  void cannot_register() noexcept;
  /// When the last piece of the trial was ready, for those who waited for it.
  [[nodiscard]] std::int64_t decided_at() const noexcept { return decided_at_; }

  void tell(chunk_report& report) const;

 private:
  static constexpr std::uint64_t registered_trials = 2;  // pieces: each takes the driver's lock for a while

  [[nodiscard]] bool decided() const noexcept;
  [[nodiscard]] double staged_rate() const;
  [[nodiscard]] double registered_rate() const;

  chunk_source fixed_ = chunk_source::automatic;  // automatic: by trial
  double bytes_;
  std::uint64_t depth_;
  unsigned readers_;
  std::vector<std::int64_t> staged_ns_, registered_ns_;  // of the trial's pieces
  std::int64_t decided_at_ = 0;
};

/// The calling thread enqueues pieces in order. Each slot belongs to one reader, which fills it with its next piece and,
/// before that, retires the one that was in it: waits for the device and writes the result. Whatever ends the run early
/// says from which piece on nothing is to be done; everything before goes on to its end.
class chunk_run {
 public:
  chunk_run(const chunk_options& options, const device_ref& device,
            const std::vector<std::unique_ptr<chunk_slot>>& slots, const mapped_file& in, mapped_file* out);

  chunk_report run(const chunk_pipeline::compute& work, const chunk_pipeline::progress& tell,
                   const std::stop_token& stop);

 private:
  static constexpr std::int64_t not_yet = -1;

  [[nodiscard]] unsigned reader_count() const;
  [[nodiscard]] std::size_t bytes_of(std::uint64_t i) const;
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t i) const { return i * options_.chunk_bytes; }
  [[nodiscard]] chunk_slot& slot_of(std::uint64_t i) const { return *slots_[i % depth_]; }
  [[nodiscard]] std::byte* mapped(std::uint64_t i) const;

  void launch_all(const chunk_pipeline::compute& work, const chunk_pipeline::progress& tell,
                  const std::stop_token& stop);
  void launch(std::uint64_t i, const chunk_pipeline::compute& work);
  void read(unsigned reader, unsigned readers, std::int64_t start) noexcept;
  void fill(std::uint64_t i);
  [[nodiscard]] bool register_piece(std::uint64_t i, std::int64_t& ns);
  void retire(std::uint64_t i) noexcept;
  void unregister_all() noexcept;

  // Nothing from piece `end` on is to be begun; `error` at piece `at` is why.
  void stop_at(std::uint64_t end);
  void fail_at(std::uint64_t at, std::uint64_t end, std::exception_ptr error);
  void publish(std::vector<std::int64_t>& times, std::uint64_t i);
  // False if that will not happen any more.
  bool await(const std::vector<std::int64_t>& times, std::uint64_t i);
  chunk_source await_source(std::uint64_t i);
  [[noreturn]] void rethrow() const;

  const chunk_options& options_;
  const device_ref& device_;
  const std::vector<std::unique_ptr<chunk_slot>>& slots_;
  const mapped_file& in_;
  mapped_file* out_;
  chunk_clock time_;
  std::uint64_t count_;
  std::uint64_t depth_;
  std::vector<chunk_source> from_;  // by piece; its reader writes it before it publishes the piece

  std::mutex registering_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  chunk_source_choice choice_;
  std::vector<std::int64_t> filled_, launched_;  // when, by piece
  std::uint64_t launched_count_ = 0;
  std::uint64_t end_;
  std::int64_t latest_ = 0;  // when the last reader was done
  std::exception_ptr error_;
  std::uint64_t failed_at_;  // the earliest piece that failed
  chunk_report report_;
};

}  // namespace sluice::runtime
