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

// Internal: one overlapped run of a chunk_pipeline, which streams a file through a device in pieces.

namespace sluice::runtime {

/// The buffers of one piece in flight. Readers wait for `done` by sleeping, because spinning would take CPU time from
/// the threads that read and from the thread that enqueues.
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

/// Passes simulated times between threads, along with the pieces. Does nothing on real clocks.
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

/// Decides whether a piece is staged or registered, by a trial if requested and possible. Call all functions with the
/// run's mutex held.
///
/// Measured on the host of an H100 (driver 580), 8 GiB in the page cache: preading scales with readers (25 GB/s
/// with 4, 38 to 43 with 8, 66 with 16). Registering does not (14 to 26 GB/s with 1 to 8 threads; the driver
/// registers one range at a time), and unregistering takes up to half as long as registering. So single pieces suffice
/// to estimate both rates.
class chunk_source_choice {
 public:
  /// A run of `count` pieces with `parts` parts each; `depth` pieces are in flight, read by `readers` threads.
  chunk_source_choice(chunk_source wanted, bool can_register, std::uint64_t count, std::uint64_t parts,
                      std::uint64_t depth, unsigned readers);

  /// True if the source of piece `i` is decided. The decision may need measurements of pieces long before piece `i`.
  [[nodiscard]] bool known(std::uint64_t i) const noexcept;
  [[nodiscard]] chunk_source of(std::uint64_t i) const;
  /// Reports that `bytes` of piece `i` are ready at time `now`, after `ns` nanoseconds of work in one thread.
  void filled(std::uint64_t i, chunk_source source, std::size_t bytes, std::int64_t ns, std::int64_t now);
  /// Call if the driver cannot register this memory: all later pieces are then staged.
  void cannot_register() noexcept;
  /// The time at which the last piece of the trial was ready; threads that waited for the trial need it.
  [[nodiscard]] std::int64_t decided_at() const noexcept { return decided_at_; }

  void add_to(chunk_report& report) const;

 private:
  static constexpr std::uint64_t registered_trials = 2;  // few pieces, because registering holds the driver's lock

  [[nodiscard]] bool decided() const noexcept;
  [[nodiscard]] double staged_rate() const;
  [[nodiscard]] double registered_rate() const;

  chunk_source fixed_ = chunk_source::automatic;  // automatic: decided by the trial
  std::uint64_t parts_, depth_;
  unsigned readers_;
  std::vector<double> staged_, registered_;  // bytes per second per thread, measured in the trial
  std::int64_t decided_at_ = 0;
};

/// The calling thread enqueues the pieces in order. The readers fill and retire the pieces part by part. Each reader
/// takes the next part that is not yet taken. So all readers work on the pieces needed next, copies can be large with
/// few pieces in flight, and a slow thread delays no other. The reader of part k of piece i first retires part k of
/// piece i - depth, which used the same buffer. To retire a part, it waits for the device and writes the result. On the
/// simulated device each reader has fixed parts, so that every run takes the same time. If a run ends early, no piece
/// from `end_` on may begin; earlier pieces are completed.
class chunk_run {
 public:
  chunk_run(const chunk_options& options, const device_ref& device,
            const std::vector<std::unique_ptr<chunk_slot>>& slots, const mapped_file& in, mapped_file* out);

  chunk_report run(const chunk_pipeline::compute& work, const chunk_pipeline::progress& on_progress,
                   const std::stop_token& stop);

 private:
  static constexpr std::int64_t not_yet = -1;
  /// Smaller parts would need more calls; larger parts would need more memory in flight.
  static constexpr std::size_t largest_part = 1u << 20;

  /// A part of a piece: a byte range in the piece. Can be empty in a shorter last piece.
  struct range {
    std::size_t begin, bytes;
  };

  [[nodiscard]] unsigned reader_count() const;
  [[nodiscard]] range part(std::uint64_t i, std::uint64_t k) const;
  [[nodiscard]] std::size_t get_bytes(std::uint64_t i) const;
  [[nodiscard]] std::uint64_t get_offset(std::uint64_t i) const { return i * options_.chunk_bytes; }
  [[nodiscard]] chunk_slot& get_slot(std::uint64_t i) const { return *slots_[i % depth_]; }
  [[nodiscard]] std::byte* mapped(std::uint64_t i) const;

  void launch_all(const chunk_pipeline::compute& work, const chunk_pipeline::progress& on_progress,
                  const std::stop_token& stop);
  void launch(std::uint64_t i, const chunk_pipeline::compute& work);
  void read(unsigned reader, unsigned readers, std::int64_t start) noexcept;
  void fill(std::uint64_t i, std::uint64_t k) noexcept;
  [[nodiscard]] std::span<std::byte> staging(std::uint64_t i, range which) const;
  void stage(std::uint64_t i, range which) const;
  [[nodiscard]] bool register_piece(std::uint64_t i, std::int64_t& ns);
  /// Stages piece i and all later ones, because piece i cannot be registered. Returns the parts that readers skipped,
  /// for the caller to stage. Their buffer space is free; the space of other parts may still hold results.
  [[nodiscard]] std::vector<std::uint64_t> stage_instead(std::uint64_t i);
  void retire(std::uint64_t i, std::uint64_t k) noexcept;
  void unregister_all() noexcept;

  // Stops the run: no piece from `end` on may begin. fail_at also stores `error`, which happened at piece `at`.
  void stop_at(std::uint64_t end);
  void fail_at(std::uint64_t at, std::uint64_t end, std::exception_ptr error);
  // Waits until piece i is filled or launched; false if the run ended first.
  bool await_filled(std::uint64_t i);
  bool await_launched(std::uint64_t i);
  // Waits until the source for part k of piece i is decided. Returns `automatic` if the piece is no longer needed.
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
  std::uint64_t parts_;             // per piece
  std::vector<chunk_source> from_;  // by piece; written by the reader of part 0, before that part counts as filled
  std::atomic<std::uint64_t> next_{0};

  std::mutex registering_;
  std::mutex mutex_;                       // guards all members below
  std::condition_variable filled_more_;    // wakes the calling thread
  std::condition_variable launched_more_;  // wakes the readers
  chunk_source_choice choice_;
  std::vector<chunk_source> planned_;               // by piece
  std::vector<std::vector<std::uint64_t>> passed_;  // by piece: parts that readers skipped, see stage_instead
  std::vector<std::int64_t> filled_, launched_;     // times, by piece
  std::vector<std::int64_t> filled_at_;             // time of the latest filled part, by piece
  std::vector<std::uint64_t> to_fill_, to_retire_;  // number of missing parts, by piece
  std::uint64_t launched_count_ = 0;
  std::uint64_t end_;
  std::int64_t latest_ = 0;  // time at which the last reader finished
  std::exception_ptr error_;
  std::uint64_t failed_at_;  // the earliest piece that failed
  chunk_report report_;
};

}  // namespace sluice::runtime
