#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>

#include "instrumentation/runtime/mapped_file.hpp"
#include "instrumentation/runtime/stream.hpp"

namespace sluice::runtime {

/// How pieces of the input file are made available for fast copies to the device.
enum class chunk_source : std::uint8_t {
  automatic,   ///< times `staged` and `registered` on the first pieces, then uses the faster of the two
  staged,      ///< the readers pread into pinned memory: a CPU copy, works for any file
  registered,  ///< the readers register pieces of a read-only mapping with the driver: no CPU copy
  pinned,      ///< the whole mapping is already page-locked (`mapped_file::pin`)
};

[[nodiscard]] const char* to_string(chunk_source source) noexcept;

struct chunk_options {
  /// Size of a piece; the last one may be shorter. On a PCIe Gen5 link, copies
  /// of 4 MiB reach 95 % of the rate of large copies, 8 MiB 98 %, 16 MiB 99 %.
  std::size_t chunk_bytes = 8u << 20;
  /// Number of pieces in flight. Each has its own pinned buffer, device buffer and stream.
  /// 64 MiB in total still fit into a server CPU's cache; larger totals were slower.
  unsigned depth = 8;
  /// Number of threads that read pieces and write results back, in parts of 1 MiB. No
  /// more threads are used than there are parts in flight. One thread preads 4 to 9 GB/s.
  unsigned readers = 8;
  bool overlap = true;  ///< false: a plain loop, one piece at a time, directly from the mapping
  /// Used only with `overlap`. A mapping that is already page-locked is always used directly, whatever the value of
  /// this option.
  chunk_source source = chunk_source::automatic;
};

/// A piece of the file in device memory. Enqueue work on it only on the stream that is passed with it.
struct chunk {
  std::uint64_t index = 0;
  std::uint64_t offset = 0;       ///< offset in the file, in bytes
  std::span<std::byte> device{};  ///< the input; the result must be written here as well
};

struct chunk_report {
  std::uint64_t bytes = 0;  ///< total size of the fully processed pieces
  std::uint64_t chunks = 0;
  bool stopped = false;  ///< true if the stop token ended the run early
  /// The source of most pieces. `staged` also if the plain loop copied from ordinary memory.
  chunk_source source = chunk_source::staged;
  /// Rates that the trial measured for all readers together, in bytes per second. 0 if there was no trial, because the
  /// source was fixed, registering is impossible, or the file has too few pieces.
  double staged_rate = 0;
  double registered_rate = 0;
};

/// Thrown if reading, computing or writing a piece fails. The first `good_bytes` bytes of the output are complete.
/// Each later piece is either complete or unchanged; only a piece whose write failed may be partially written.
class chunk_error : public error {
 public:
  chunk_error(backend::failure failure, std::uint64_t good_bytes)
      : error(std::move(failure)), good_bytes_(good_bytes) {}
  [[nodiscard]] std::uint64_t good_bytes() const noexcept { return good_bytes_; }

 private:
  std::uint64_t good_bytes_;
};

/// Streams a file through a device, piece by piece. The steps for each piece are: read it, copy it to the device and
/// compute; with an output file, also copy it back and write it.
///
/// With overlap, `readers` threads prepare piece k+1 and later while piece k computes and piece k-1
/// is copied back and written. So both directions of the link, the device and the disk work at the
/// same time. Without overlap, each step waits for the previous step. The constructor allocates depth *
/// chunk_bytes of pinned memory and as much device memory, and keeps both for later runs.
///
/// With chunk_source::automatic, a run of at least 4 * depth pieces measures which source is faster. The first `depth`
/// pieces are staged and the next two are registered. From piece 2 * depth on, all pieces use the source with the
/// higher rate (computed from the median times per piece; chunk_run.hpp has the reasons). Registering needs a read-only
/// mapping, pieces of whole pages, and a file of at most half of the machine's memory, because all pieces stay
/// page-locked to the end. The report names the result.
///
/// If a file is cut short during an overlapped run, the run fails with an error, not with SIGBUS. The plain
/// loop checks the length before each piece, which leaves a short window. An object supports one run at a time.
class chunk_pipeline {
 public:
  /// Enqueues the work on one piece on the given stream. The pipeline calls it on the thread that called run(), in
  /// order of the pieces.
  using compute = std::function<void(const chunk&, const stream_ref&)>;
  /// The pipeline calls this after each piece has been enqueued, with the completed share from 0 to 1.
  using progress = std::function<void(double)>;

  /// Throws error if an option is 0, or out_of_memory.
  explicit chunk_pipeline(chunk_options options = {}, const device_ref& device = current_device());
  ~chunk_pipeline();
  chunk_pipeline(chunk_pipeline&&) noexcept;
  chunk_pipeline& operator=(chunk_pipeline&&) noexcept;

  /// `out` may be null or the input itself; otherwise it must be at least as long as the input. Blocks until the run
  /// ends. After a stop, each piece of the output is complete or unchanged. Throws chunk_error with the
  /// failure of the earliest piece (reading, writing or device). Exceptions of `work` are passed on unchanged.
  chunk_report run(const mapped_file& in, mapped_file* out, const compute& work, const progress& on_progress = {},
                   const std::stop_token& stop = {}) const;

 private:
  struct slots;

  chunk_report run_plain(const mapped_file& in, mapped_file* out, const compute& work, const progress& on_progress,
                         const std::stop_token& stop) const;

  chunk_options options_;
  device_ref device_;
  std::unique_ptr<slots> slots_;  // null without overlap
};

}  // namespace sluice::runtime
