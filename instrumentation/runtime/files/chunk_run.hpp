#pragma once

#include <atomic>
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
  [[nodiscard]] bool simulated() const { return clock_ != nullptr; }

 private:
  backend::simulated_clock* clock_;
};

/// Decides where each piece comes from: by trial, if that is asked for and possible. Called under the run's mutex.
///
/// Measured on the host of an H100 (driver 580), 8 GiB in the page cache: preading goes faster with each reader (25 GB/s with
/// 4, 38 to 43 with 8, 66 with 16), registering does not (14 to 26 GB/s with 1 to 8 threads: the driver does one range at a
/// time), and unregistering takes up to half as long again. So a trial needs no run of either: what one piece takes its
/// thread tells what all threads make.
class chunk_source_choice {
 public:
  /// `count` pieces of `parts` parts are to come, `depth` pieces of them in flight, by `readers` threads.
  chunk_source_choice(chunk_source wanted, bool can_register, std::uint64_t count, std::uint64_t parts,
                      std::uint64_t depth, unsigned readers);

  /// False until the pieces that decide about piece `i` have been made ready. Those are long before it.
  [[nodiscard]] bool known(std::uint64_t i) const noexcept;
  [[nodiscard]] chunk_source of(std::uint64_t i) const;
  /// `bytes` of piece `i` were made ready at `now`, which took a thread `ns`.
  void filled(std::uint64_t i, chunk_source source, std::size_t bytes, std::int64_t ns, std::int64_t now);
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
  std::uint64_t parts_, depth_;
  unsigned readers_;
  std::vector<double> staged_, registered_;  // bytes a second that one thread made, in the trial
  std::int64_t decided_at_ = 0;
};

/// The calling thread enqueues pieces in order. The readers make pieces ready and retire them part by part, in order, each
/// taking the next part that nobody has taken: so all of them work on the pieces that are needed next, copies may be large
/// while few pieces are in flight, and a slow thread holds nobody up. Whoever takes part k of piece i first retires part k
/// of piece i - depth, which was in the same place: waits for the device and writes the result. On the simulated device
/// each reader has its own parts, so that every run takes the same time.
///
/// Whatever ends the run early says from which piece on nothing is to be done; everything before goes on to its end.
class chunk_run {
 public:
  chunk_run(const chunk_options& options, const device_ref& device,
            const std::vector<std::unique_ptr<chunk_slot>>& slots, const mapped_file& in, mapped_file* out);

  chunk_report run(const chunk_pipeline::compute& work, const chunk_pipeline::progress& tell,
                   const std::stop_token& stop);

 private:
  static constexpr std::int64_t not_yet = -1;
  /// Smaller ones cost calls, larger ones memory in flight.
  static constexpr std::size_t largest_part = 1u << 20;

  /// A part of a piece, in bytes of the piece; empty where the last piece is shorter.
  struct range {
    std::size_t begin, bytes;
  };

  [[nodiscard]] unsigned reader_count() const;
  [[nodiscard]] range part(std::uint64_t i, std::uint64_t k) const;
  [[nodiscard]] std::size_t bytes_of(std::uint64_t i) const;
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t i) const { return i * options_.chunk_bytes; }
  [[nodiscard]] chunk_slot& slot_of(std::uint64_t i) const { return *slots_[i % depth_]; }
  [[nodiscard]] std::byte* mapped(std::uint64_t i) const;

  void launch_all(const chunk_pipeline::compute& work, const chunk_pipeline::progress& tell,
                  const std::stop_token& stop);
  void launch(std::uint64_t i, const chunk_pipeline::compute& work);
  void read(unsigned reader, unsigned readers, std::int64_t start) noexcept;
  void fill(std::uint64_t i, std::uint64_t k) noexcept;
  [[nodiscard]] std::span<std::byte> staging(std::uint64_t i, range which) const;
  void stage(std::uint64_t i, range which) const;
  [[nodiscard]] bool register_piece(std::uint64_t i, std::int64_t& ns);
  /// Piece i cannot be registered: its parts are staged, and later pieces. Returns the parts that readers have left to whoever
  /// registers: their places in the slot are free, those of other parts may hold results that are still to be written.
  [[nodiscard]] std::vector<std::uint64_t> stage_instead(std::uint64_t i);
  void retire(std::uint64_t i, std::uint64_t k) noexcept;
  void unregister_all() noexcept;

  // Nothing from piece `end` on is to be begun; `error` at piece `at` is why.
  void stop_at(std::uint64_t end);
  void fail_at(std::uint64_t at, std::uint64_t end, std::exception_ptr error);
  // False if that will not happen any more.
  bool await_filled(std::uint64_t i);
  bool await_launched(std::uint64_t i);
  // For part k of the piece. Automatic if the piece will not be needed any more.
  chunk_source await_source(std::uint64_t i, std::uint64_t k);
  [[noreturn]] void rethrow() const;

  const chunk_options& options_;
  const device_ref& device_;
  const std::vector<std::unique_ptr<chunk_slot>>& slots_;
  const mapped_file& in_;
  mapped_file* out_;
  chunk_clock time_;
  std::uint64_t count_;
  std::uint64_t depth_;
  std::uint64_t parts_;             // of a piece
  std::vector<chunk_source> from_;  // by piece; whoever has its first part writes it before that is filled
  std::atomic<std::uint64_t> next_{0};

  std::mutex registering_;
  std::mutex mutex_;                       // guards what follows
  std::condition_variable filled_more_;    // the calling thread waits for it
  std::condition_variable launched_more_;  // the readers do
  chunk_source_choice choice_;
  std::vector<chunk_source> planned_;               // by piece
  std::vector<std::vector<std::uint64_t>> passed_;  // by piece: parts that need not be staged if part 0 registers it
  std::vector<std::int64_t> filled_, launched_;     // when, by piece
  std::vector<std::int64_t> filled_at_;             // when the latest part was
  std::vector<std::uint64_t> to_fill_, to_retire_;  // parts, by piece
  std::uint64_t launched_count_ = 0;
  std::uint64_t end_;
  std::int64_t latest_ = 0;  // when the last reader was done
  std::exception_ptr error_;
  std::uint64_t failed_at_;  // the earliest piece that failed
  chunk_report report_;
};

}  // namespace sluice::runtime
