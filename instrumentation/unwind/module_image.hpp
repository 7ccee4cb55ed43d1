#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "instrumentation/unwind/eh_frame.hpp"

namespace sluice::unwind {

/// The unwind tables of an ELF file, copied out of the file. Addresses are those in the file (before the load bias).
///
/// The file belongs to another process and may be hostile, or change while it is read: everything is read by copying
/// (never mapped, because a truncated mapping would kill the reader), checked, and limited to `max_table_bytes`.
/// Immutable, so threads may share it.
class module_image {
 public:
  /// Reads `count` bytes at `offset` of the file into `to`; returns the number of bytes that were read.
  using source = std::function<std::size_t(std::uint64_t offset, void* to, std::size_t count)>;

  /// Limit for the tables of one file. The largest known (PyTorch's libraries) have about 30 MB.
  static constexpr std::size_t max_table_bytes = std::size_t{128} << 20;

  /// A source that reads a descriptor by pread. Does not take ownership.
  [[nodiscard]] static source read_from(int descriptor);

  /// Reads the headers and tables; null if this is not an ELF file with code for x86-64. A file whose tables are missing
  /// or damaged gives an image without rules. O(bytes of the tables).
  [[nodiscard]] static std::shared_ptr<const module_image> read(const source& file);
  /// The image of the virtual library that the kernel maps into each process ([vdso]): that of this process. Null if
  /// there is none.
  [[nodiscard]] static std::shared_ptr<const module_image> read_vdso();

  ~module_image();
  module_image(const module_image&) = delete;
  module_image& operator=(const module_image&) = delete;

  /// The address of the byte at `offset` of the file; none if it is not loaded. If two segments share its page, that of
  /// the code counts.
  [[nodiscard]] std::optional<std::uint64_t> find_address(std::uint64_t offset) const;
  /// The offset in the file of the byte at `address`; none if it is not in the file.
  [[nodiscard]] std::optional<std::uint64_t> find_offset(std::uint64_t address) const;
  /// See `find_unwind_rule`.
  [[nodiscard]] unwind_rule find_rule(std::uint64_t address) const;
  [[nodiscard]] std::uint64_t begin() const { return begin_; }  ///< The first loaded page.
  [[nodiscard]] std::uint64_t end() const { return end_; }      ///< After the last loaded byte.
  [[nodiscard]] const std::vector<std::uint8_t>& build_id() const { return build_id_; }

 private:
  struct segment {
    std::uint64_t address, offset, file_bytes, memory_bytes;
    bool executable;
  };
  module_image() = default;
  bool read_headers(const source& file);
  void read_build_id(const source& file, std::uint64_t offset, std::uint64_t bytes);
  void read_tables(const source& file);
  /// Copies file content at `address` to its place in `memory_`. Returns the number of bytes copied.
  std::uint64_t copy(const source& file, std::uint64_t address, std::uint64_t bytes);

  std::vector<segment> segments_;
  std::vector<std::uint8_t> build_id_;
  std::uint64_t begin_ = 0, end_ = 0;
  std::uint64_t table_address_ = 0;  ///< Address of .eh_frame_hdr; 0 if there is none.
  void* memory_ = nullptr;           ///< Mapping that holds the tables, as far apart as in the file.
  std::uint64_t memory_begin_ = 0, memory_bytes_ = 0;
  code_image image_;
};

}  // namespace sluice::unwind
