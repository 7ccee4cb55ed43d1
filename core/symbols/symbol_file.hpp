#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/regular_file.hpp"

/// Reads functions and source lines of native code from the files it was loaded from. Never used while recording.
namespace sluice::symbols {

/// What an address stands for: a function, and a source line if there is debug information.
struct place {
  std::string function;  ///< Demangled.
  std::string file;
  std::uint64_t line = 0;  ///< 0: unknown.
  bool inlined = false;    ///< Inlined into the place that follows in the list.
  friend bool operator==(const place&, const place&) = default;
};

/// One ELF file: a program, a shared library, or separate debug information. Read with elfutils' libdw and libelf. Uses
/// pread instead of mmap: if a library is overwritten meanwhile, the result is an error, not a signal. Not thread-safe:
/// one caller at a time.
class symbol_file {
 public:
  /// `path`: where the file is. `follow_split`: also reads the files that code built with -gsplit-dwarf refers to. No
  /// other file is opened. Errors: foreign (not an ELF file).
  [[nodiscard]] static result<std::unique_ptr<symbol_file>> open(regular_file file, const std::string& path,
                                                                 bool follow_split);
  ~symbol_file();
  symbol_file(const symbol_file&) = delete;
  symbol_file& operator=(const symbol_file&) = delete;

  /// The file's build id in lower-case hexadecimal; empty if the file has none.
  [[nodiscard]] const std::string& build_id() const;

  /// Build id of the supplementary file (made by dwz) with debug information shared by several files; empty if none.
  [[nodiscard]] const std::string& supplement_id() const;
  /// Sets the supplementary file; null: not available. Without a required one `find_lines` returns nothing.
  void supplement(std::unique_ptr<symbol_file> file);

  /// Returns the places that `address` (virtual, in the file) stands for, from debug information, innermost first: an
  /// inlined function, then its caller; empty if nothing is found. The first call reads the list of compilation units.
  [[nodiscard]] std::vector<place> find_lines(std::uint64_t address);

  /// Returns the demangled name of the function that contains `address`, from the symbol table (.symtab, else .dynsym);
  /// empty if there is none. The first call sorts the table; later ones are O(log n).
  [[nodiscard]] std::string find_function(std::uint64_t address);

 private:
  struct state;
  explicit symbol_file(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::symbols
