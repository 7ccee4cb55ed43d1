#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "instrumentation/unwind/copied_stack.hpp"
#include "instrumentation/unwind/module_image.hpp"
#include "instrumentation/unwind/symbol_table.hpp"

namespace sluice::unwind {

/// Images of files, shared by the processes that have loaded them. An image lives as long as a process uses it. Not
/// thread-safe.
class image_cache {
 public:
  /// The image of the open file; null if it is not an ELF file with code.
  [[nodiscard]] std::shared_ptr<const module_image> find(int descriptor);
  /// The functions of the open file; null if it is not a regular file. They live as long as a process uses them.
  [[nodiscard]] std::shared_ptr<const symbol_table> find_symbols(int descriptor);
  /// The image of the kernel's virtual library.
  [[nodiscard]] std::shared_ptr<const module_image> find_vdso();

 private:
  /// Device, inode, size, and time of the last change: a file that was replaced is another file.
  using identity = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;
  [[nodiscard]] static std::optional<identity> identify(int descriptor);
  std::map<identity, std::weak_ptr<const module_image>> images_;
  std::map<identity, std::weak_ptr<const symbol_table>> symbols_;
  std::shared_ptr<const module_image> vdso_;
};

/// Executable memory of a process.
struct code_mapping {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t offset = 0;  ///< Of `begin` in the file.
  std::uint64_t inode = 0;
  std::string path;  ///< As the process sees it; empty if this is no file.

  bool operator==(const code_mapping&) const = default;
};

/// Reads the executable mappings from text of the form of /proc/PID/maps. Ignores lines that are not of that form. At
/// most `max_mappings`.
[[nodiscard]] std::vector<code_mapping> parse_code_mappings(std::string_view text);
inline constexpr std::size_t max_mappings = 16384;

/// The code that a process has loaded, seen from outside: its executable mappings (/proc/PID/maps) and the tables of the
/// files in them. Opens the files in the process's own root folder. Nothing here reads the memory of the process or
/// stops it. Not thread-safe.
class process_code : public code_reader {
 public:
  using clock = std::chrono::steady_clock;

  /// A file of code at its place in the process.
  struct loaded_file {
    std::string path;
    std::uint64_t base = 0;              ///< Address in the process minus address in the file.
    std::uint64_t begin = 0, end = 0;    ///< Addresses in the process.
    std::vector<std::uint8_t> build_id;  ///< Empty if there is none.
    std::shared_ptr<const module_image> image;
  };

  /// `images` must outlive this object.
  process_code(pid_t pid, image_cache& images) : pid_(pid), images_(images) {}

  /// Cached for each pc: O(1), otherwise O(log mappings + log functions). The first look-up in a file reads its tables.
  [[nodiscard]] unwind_rule find_rule(std::uint64_t pc) override;
  [[nodiscard]] bool follows_call(std::uint64_t pc) override;

  /// The file that contains `pc`; null if none does. Valid until the next call of a method that is not const.
  [[nodiscard]] const loaded_file* find_file(std::uint64_t pc);
  /// The name of the function that contains `pc`, as the linker knows it (mangled); empty if it is unknown. The first
  /// call for a file reads its symbols; later ones read one name.
  [[nodiscard]] std::string find_name(std::uint64_t pc);

  /// Reads the mappings again if that was last done before `now` minus `age`. Call this regularly: a file that replaces
  /// an unloaded one at the same addresses is noticed only here.
  void refresh(clock::time_point now, std::chrono::milliseconds age);

  /// The number of times that mappings went away: what was found earlier at an address may no longer be there.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

 private:
  struct mapped {
    code_mapping where;
    bool read = false;                            ///< True if `file` was looked for.
    loaded_file file;                             ///< Without an image, the code is not in an ELF file.
    std::shared_ptr<const symbol_table> symbols;  ///< Null until a name is looked for.
  };
  struct known_code {
    unwind_rule rule;
    enum : std::uint8_t { unknown, yes, no } call = unknown;
  };

  mapped* find_mapping(std::uint64_t pc);
  void read_file(mapped& m);
  [[nodiscard]] int open_file(const code_mapping& where) const;

  pid_t pid_;
  image_cache& images_;
  std::vector<mapped> mappings_;  ///< In order of their addresses.
  std::unordered_map<std::uint64_t, known_code> rules_;
  clock::time_point refreshed_{};
  std::uint64_t changes_ = 0;
};

}  // namespace sluice::unwind
