#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "instrumentation/unwind/module_image.hpp"

namespace sluice::unwind {

/// The functions of an ELF file, by address. Names stay in the file: PyTorch's libraries have 100 MB of them. The file
/// may be hostile, as for `module_image`. Immutable, so threads may share it.
class symbol_table {
 public:
  /// More symbols than the largest known library has (300,000).
  static constexpr std::size_t max_symbols = std::size_t{1} << 21;
  /// Longer names are cut. Names of C++ templates reach several KB.
  static constexpr std::size_t max_name = 4096;

  /// Reads the functions of `.symtab` or, if the file has none, of `.dynsym`. A damaged file gives an empty table.
  /// O(symbols * log symbols).
  [[nodiscard]] static std::shared_ptr<const symbol_table> read(const module_image::source& file);

  /// The name of the function that contains `address`, as the linker knows it (mangled); empty if there is none. A
  /// function without a size contains nothing, because the next function need not have a symbol. `file`: the file from
  /// which this table was read. O(log symbols), and one read.
  [[nodiscard]] std::string find_name(const module_image::source& file, std::uint64_t address) const;

  [[nodiscard]] std::size_t size() const { return functions_.size(); }

 private:
  struct function {
    std::uint64_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t name = 0;  ///< Offset in the string table.
  };
  std::vector<function> functions_;  ///< In order of `begin`.
  std::uint64_t names_ = 0;          ///< Offset of the string table in the file.
  std::uint64_t names_bytes_ = 0;
};

}  // namespace sluice::unwind
