#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>

#include "instrumentation/runtime/mapped_file.hpp"
#include "instrumentation/runtime/stream.hpp"

namespace sluice::runtime {

struct chunk_options {
  std::size_t chunk_bytes = 4u << 20;  ///< a piece; the last one may be shorter
  unsigned depth = 8;    ///< pieces in flight, each with a pinned slot, device memory and a stream of its own
  unsigned readers = 4;  ///< threads that read pieces, and write results back
  bool overlap = true;   ///< false: the plain loop, one piece at a time, straight from the mapping
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
};

/// Runs a file through a device, piece by piece: read, copy to the device, compute, and, with an output, copy back
/// and write.
///
/// With overlap, `readers` threads pread piece k+1.. into pinned slots while piece k computes and piece k-1 is copied
/// back and written: both directions of the link, the device and the disk work at once. Without, every step waits for
/// the one before. Memory: depth * chunk_bytes pinned and the same on the device. Files cut short under it are
/// errors, not signals, with overlap; the plain loop checks the length before each piece, which leaves a small
/// window.
///
/// After an error or a stop, every piece of the output is either as it was or whole.
class chunk_pipeline {
 public:
  /// Enqueues the work on one piece on the stream; called on the thread that runs the pipeline, in order of the
  /// pieces.
  using compute = std::function<void(const chunk&, const stream_ref&)>;
  /// Hears after each piece has been enqueued; the share done, 0..1.
  using progress = std::function<void(double)>;

  /// Throws error for sizes of 0.
  explicit chunk_pipeline(chunk_options options = {}, const device_ref& device = current_device());

  /// `out` may be null, or the input itself, else it must be at least as long. Blocks until done. Throws error:
  /// what reading, writing, the device or `work` met first.
  chunk_report run(const mapped_file& in, mapped_file* out, const compute& work, const progress& tell = {},
                   const std::stop_token& stop = {}) const;

 private:
  chunk_report run_plain(const mapped_file& in, mapped_file* out, const compute& work, const progress& tell,
                         const std::stop_token& stop) const;
  chunk_report run_overlapped(const mapped_file& in, mapped_file* out, const compute& work, const progress& tell,
                              const std::stop_token& stop) const;

  chunk_options options_;
  device_ref device_;
};

}  // namespace sluice::runtime
