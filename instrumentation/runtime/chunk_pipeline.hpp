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

/// How pieces of the input get where the device can copy from at the link's speed.
enum class chunk_source : std::uint8_t {
  automatic,   ///< whichever of the next two a trial of the first pieces finds faster
  staged,      ///< the readers pread into pinned memory: a copy by the CPU, good for any file
  registered,  ///< the readers register pieces of a read-only mapping with the driver: no copy by the CPU
  pinned,      ///< the whole mapping is page-locked already (`mapped_file::pin`): nothing to do
};

[[nodiscard]] const char* to_string(chunk_source source) noexcept;

struct chunk_options {
  /// A piece; the last one may be shorter. On a PCIe Gen5 link copies of 4 MiB reach 95 % of the rate of large ones, of 8 MiB
  /// 98 %, of 16 MiB 99 %.
  std::size_t chunk_bytes = 8u << 20;
  /// Pieces in flight, each with a pinned slot, device memory and a stream of its own. 64 MiB in all stay in a server's cache;
  /// more were slower.
  unsigned depth = 8;
  /// Threads that read pieces, and write results back, in parts of 1 MiB; no more of them are used than parts are in flight.
  /// One thread preads 4 to 9 GB/s.
  unsigned readers = 8;
  bool overlap = true;  ///< false: the plain loop, one piece at a time, straight from the mapping
  /// With overlap. A mapping that is page-locked already is used as it is, whatever this says.
  chunk_source source = chunk_source::automatic;
};

/// A piece of the file in device memory. Work on it goes on the stream given with it.
struct chunk {
  std::uint64_t index = 0;
  std::uint64_t offset = 0;       ///< in the file, in bytes
  std::span<std::byte> device{};  ///< where the result is expected, too
};

struct chunk_report {
  std::uint64_t bytes = 0;  ///< of the pieces that were processed whole
  std::uint64_t chunks = 0;
  bool stopped = false;  ///< the stop token asked before the end
  /// Where most pieces came from; staged for the plain loop's ordinary memory, too.
  chunk_source source = chunk_source::staged;
  /// What the trial found that the readers can make ready, in bytes a second; 0 where there was none: the source was
  /// given, registering is not possible, or the file has too few pieces.
  double staged_rate = 0;
  double registered_rate = 0;
};

/// A piece could not be read, computed or written. The first `good_bytes` of the output are whole results; each piece
/// after them is as it was or whole, but for one that a failing write may have begun.
class chunk_error : public error {
 public:
  chunk_error(backend::failure what, std::uint64_t good_bytes) : error(std::move(what)), good_bytes_(good_bytes) {}
  [[nodiscard]] std::uint64_t good_bytes() const noexcept { return good_bytes_; }

 private:
  std::uint64_t good_bytes_;
};

/// Runs a file through a device, piece by piece: read, copy to the device, compute, and, with an output, copy back
/// and write.
///
/// With overlap, `readers` threads make piece k+1.. ready while piece k computes and piece k-1 is copied back and
/// written: both directions of the link, the device and the disk work at once. Without, every step waits for the one
/// before. Memory: depth * chunk_bytes pinned and the same on the device, taken when the pipeline is made and kept for
/// its next run.
///
/// Where the copies come from is found by measuring, in a run of at least 4 * depth pieces: the first `depth` are
/// staged, the next two registered, and from piece 2 * depth on all go the way of which the readers make more bytes
/// ready in a second, by the medians of what a piece took (chunk_run.hpp has the reasons). Registering needs a read-only
/// mapping, pieces of whole pages and half of the machine's memory, since all pieces stay page-locked to the end. The
/// report says what was found.
///
/// Files cut short under it are errors, not signals, with overlap; the plain loop checks the length before each piece,
/// which leaves a small window. One run at a time.
class chunk_pipeline {
 public:
  /// Enqueues the work on one piece on the stream; called on the thread that runs the pipeline, in order of the
  /// pieces.
  using compute = std::function<void(const chunk&, const stream_ref&)>;
  /// Hears after each piece has been enqueued; the share done, 0..1.
  using progress = std::function<void(double)>;

  /// Throws error for sizes of 0; out_of_memory.
  explicit chunk_pipeline(chunk_options options = {}, const device_ref& device = current_device());
  ~chunk_pipeline();
  chunk_pipeline(chunk_pipeline&&) noexcept;
  chunk_pipeline& operator=(chunk_pipeline&&) noexcept;

  /// `out` may be null, or the input itself, else it must be at least as long. Blocks until done. After a stop, each
  /// piece of the output is as it was or whole. Throws chunk_error: what reading, writing or the device met at the
  /// earliest piece; what `work` threw, as it is.
  chunk_report run(const mapped_file& in, mapped_file* out, const compute& work, const progress& tell = {},
                   const std::stop_token& stop = {}) const;

 private:
  struct slots;

  chunk_report run_plain(const mapped_file& in, mapped_file* out, const compute& work, const progress& tell,
                         const std::stop_token& stop) const;

  chunk_options options_;
  device_ref device_;
  std::unique_ptr<slots> slots_;  // null for the plain loop
};

}  // namespace sluice::runtime
