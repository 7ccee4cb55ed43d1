#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/python_samples/memory_batch.hpp"

namespace sluice::capture {

/// A few regions of memory, read twice in a row, so that one can see what changed in between. Pieces that are close
/// together are read as one region, because the system's cost is per piece (0.3 us) and hardly per byte. Not
/// thread-safe. All bytes zero is an empty image.
class memory_image {
 public:
  /// The bytes of a piece in both reads, and how many bytes of its region follow its start.
  struct piece {
    const char *before, *after;
    std::size_t bytes;
  };

  void clear() noexcept { count_ = bytes_ = last_ = 0; }
  /// Adds the `bytes` bytes at `begin`, and up to 128 bytes after them in the same page. They are read at the next
  /// `read`. Call it for addresses that were readable: the sum must be an address. Returns false if the image is full.
  bool add(std::uint64_t begin, std::size_t bytes) noexcept;

  /// Reads everything twice by one system call. Before, between and after these reads it calls `add(batch, which)` with
  /// 0, 1 and 2, which may add parts. Returns false if something is not readable.
  template <class Add>
  [[nodiscard]] bool read(memory_batch& batch, Add add) noexcept {
    batch.clear();
    lay_out();
    add(batch, 0);
    add_regions(batch, before_);
    add(batch, 1);
    add_regions(batch, after_);
    add(batch, 2);
    readable_ = batch.read() == batch.count();
    return readable_;
  }

  /// Finds a piece as of the last `read`. Returns false if it is not in the image, as for a `begin` that is no address.
  [[nodiscard]] bool find(std::uint64_t begin, std::size_t bytes, piece& found) noexcept;

 private:
  static constexpr std::size_t max_regions = 480, max_bytes = std::size_t{1} << 17;
  static constexpr std::uint64_t max_gap = 1024, max_region = 8192;

  struct region {
    std::uint64_t begin, end;
    std::size_t offset;  ///< In both buffers; `unread` until the next `read`.
  };
  static constexpr std::size_t unread = ~std::size_t{0};

  void lay_out() noexcept;
  void add_regions(memory_batch& batch, char* to) const noexcept;

  region regions_[max_regions];
  std::size_t count_, bytes_, last_;
  bool readable_;
  char before_[max_bytes], after_[max_bytes];
};

}  // namespace sluice::capture
