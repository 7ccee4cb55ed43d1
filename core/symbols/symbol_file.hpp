#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/files/regular_file.hpp"

/// Reads the functions and source lines of native code from the files that contain the code. The recorder never uses
/// this code.
namespace sluice::symbols {

/// The location of an address in the source: a function and, if there is debug information, a source line.
struct code_location {
  std::string function;  ///< Demangled.
  std::string file;
  std::uint64_t line = 0;  ///< 0: unknown.
  bool inlined = false;    ///< True if the function is inlined into the function of the next location in the list.
  friend bool operator==(const code_location&, const code_location&) = default;
};

/// One ELF file: a program, a shared library, or separate debug information. Read with libdw and libelf of elfutils.
/// Uses pread instead of mmap, so that an overwritten library causes an error instead of a signal. Not thread-safe:
/// only one thread may use it at a time.
class symbol_file {
 public:
  /// `path`: the path of `file`. `follow_split`: also reads the files to which code that was built with -gsplit-dwarf
  /// refers. No other file is opened. Errors: foreign (not an ELF file).
  [[nodiscard]] static result<std::unique_ptr<symbol_file>> open(regular_file file, const std::string& path,
                                                                 bool follow_split);
  ~symbol_file();
  symbol_file(const symbol_file&) = delete;
  symbol_file& operator=(const symbol_file&) = delete;

  /// The file's build id in lower-case hexadecimal; empty if the file has none.
  [[nodiscard]] const std::string& build_id() const;

  /// The build id of the supplementary file, which dwz creates for debug information that several files share; empty if
  /// there is none.
  [[nodiscard]] const std::string& supplement_id() const;
  /// Sets the supplementary file. Null means that the file is not available. If the file is needed but not available,
  /// `find_lines` returns nothing.
  void supplement(std::unique_ptr<symbol_file> file);

  /// Returns the locations of `address` (a virtual address in the file) from the debug information, innermost first: an
  /// inlined function comes before its caller. Empty if nothing is found. The first call reads the list of compilation
  /// units.
  [[nodiscard]] std::vector<code_location> find_lines(std::uint64_t address);

  /// Returns the demangled name of the function that contains `address`, from the symbol table (.symtab, else .dynsym).
  /// Empty if there is none. The first call sorts the table; later calls take O(log n).
  [[nodiscard]] std::string find_function(std::uint64_t address);

 private:
  struct state;
  explicit symbol_file(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::symbols
