#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/regular_file.hpp"

/// Functions and source lines of native code, read from the files that it was loaded from. Never used while recording.
namespace sluice::symbols {

/// What an address stands for: a function, and a line of source where debug information says so.
struct place {
  std::string function;  ///< Demangled.
  std::string file;
  std::uint64_t line = 0;  ///< 0: not known.
  bool inlined = false;    ///< Into the place that follows it.
  friend bool operator==(const place&, const place&) = default;
};

/// One ELF file: a program, a shared library, or the separate debug information of one. Read with elfutils' libdw and libelf.
/// Files are read with pread, not mapped: a library that is overwritten meanwhile is an error, not a signal.
/// Not thread-safe: one caller at a time.
class symbol_file {
 public:
  /// `path`: where the file lies. `follow_split`: code that was compiled with -gsplit-dwarf names further files, which are read too.
  /// No other file is opened. Errors: foreign (not an ELF file).
  [[nodiscard]] static result<std::unique_ptr<symbol_file>> open(regular_file file, const std::string& path,
                                                                 bool follow_split);
  ~symbol_file();
  symbol_file(const symbol_file&) = delete;
  symbol_file& operator=(const symbol_file&) = delete;

  /// Lower-case hexadecimal; empty if the file has none.
  [[nodiscard]] const std::string& build_id() const;

  /// The build id of the file that holds what several files' debug information has in common (made by dwz); empty if there is none.
  [[nodiscard]] const std::string& supplement_id() const;
  /// That file; null: it is not to be had. Without it `find_lines` finds nothing, if there is to be one.
  void supplement(std::unique_ptr<symbol_file> file);

  /// From debug information: the places that `address` (a virtual address of the file) stands for, innermost first: an inlined
  /// function, then the one it was inlined into. Empty where there is none. The first call reads the file's list of units.
  [[nodiscard]] std::vector<place> find_lines(std::uint64_t address);

  /// From the symbol table (.symtab, else .dynsym): the demangled name of the function around `address`; empty if none is.
  /// The first call sorts the table; later ones are O(log n).
  [[nodiscard]] std::string find_function(std::uint64_t address);

 private:
  struct state;
  explicit symbol_file(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::symbols
