#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/files/local_files.hpp"
#include "core/symbols/symbol_file.hpp"

namespace sluice::symbols {

/// Whether a name was found for an address and, if not, why.
enum class verdict : std::uint8_t {
  found,
  no_symbols,   ///< The file is the one that was recorded, but it has no symbol for the address.
  other_build,  ///< The file at the path is a different build, so its symbols would be wrong.
  no_file,      ///< The file is not on this machine.
  unreadable,
  untrusted  ///< For this recording, no local file may be read: see local_files.
};

struct resolution {
  verdict why = verdict::no_file;
  std::vector<code_location> places;  ///< Innermost first. Empty unless `why` is `found`.
};

struct resolver_options {
  /// Which local files may be read. By default, no file may be read.
  local_files local{};
  /// Root folders for separate debug information, which is at ROOT/.build-id/ab/cdef....debug.
  std::vector<std::string> debug_roots{"/usr/lib/debug"};
};

/// Translates native addresses to functions and source lines, on the machine where the recording is read, and caches
/// the results. A file is used only if its build id is the recorded one, or if no build id was recorded. Thread-safe. A
/// call may read hundreds of megabytes of debug information, so do not call it from the drawing thread.
class resolver {
 public:
  explicit resolver(resolver_options options = {}) : options_(std::move(options)) {}

  /// `module`: the path of the file that contains the code. `build_id`: in hexadecimal; empty if it was not recorded.
  /// `address`: an address within the instruction in question, relative to the file (program counter - load bias). For
  /// the frame of a caller, this is its return address minus one.
  [[nodiscard]] resolution find(std::string_view module, std::string_view build_id, std::uint64_t address);

 private:
  struct module {
    std::mutex mutex;
    bool opened = false;
    verdict why = verdict::no_file;         ///< The reason why neither file could be opened.
    std::unique_ptr<symbol_file> code;      ///< The loaded file.
    std::unique_ptr<symbol_file> separate;  ///< The file with the debug information, if the debug information is in a
                                            ///< separate file.
    std::unordered_map<std::uint64_t, resolution> known;
  };

  void open(module& which, const std::string& path, const std::string& build_id) const;
  [[nodiscard]] result<std::unique_ptr<symbol_file>> open_file(const std::string& path) const;
  [[nodiscard]] std::unique_ptr<symbol_file> open_by_build_id(const std::string& build_id) const;
  /// Opens the debug information beside a file: FILE.debug, of the same build. Null if there is none.
  [[nodiscard]] std::unique_ptr<symbol_file> open_beside(const std::string& path, const std::string& build_id) const;
  [[nodiscard]] static resolution look_up(module& in, std::uint64_t address);

  const resolver_options options_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<module>> modules_;  ///< Keyed by path and build id.
};

}  // namespace sluice::symbols
