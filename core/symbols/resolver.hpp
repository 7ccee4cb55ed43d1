#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/local_files.hpp"
#include "core/symbols/symbol_file.hpp"

namespace sluice::symbols {

/// Whether an address has a name, and if not, why.
enum class verdict : std::uint8_t {
  found,
  no_symbols,   ///< The file is the recorded one, but has no symbol for the address.
  other_build,  ///< There is a file at that path, but of another build: its symbols would be wrong.
  no_file,      ///< The file is not on this machine.
  unreadable,
  untrusted  ///< No local file may be read for this recording: see local_files.
};

struct resolution {
  verdict why = verdict::no_file;
  std::vector<place> places;  ///< Innermost first; empty unless found.
};

struct resolver_options {
  /// Which files may be read; none by default.
  local_files local{};
  /// Where separate debug information is found: ROOT/.build-id/ab/cdef....debug.
  std::vector<std::string> debug_roots{"/usr/lib/debug"};
};

/// Translates native addresses to functions and source lines, on the machine where the recording is read, and caches
/// the results. A file is used only if its build id is the recorded one, or none was recorded. Thread-safe. A call may
/// read hundreds of megabytes of debug information: do not call it from the drawing thread.
class resolver {
 public:
  explicit resolver(resolver_options options = {}) : options_(std::move(options)) {}

  /// `module`: the path of the file with the code. `build_id`: hexadecimal, empty if not recorded. `address`: in the
  /// file's own addresses (program counter - load bias), inside the instruction in question: for a caller frame, its
  /// return address minus one.
  [[nodiscard]] resolution find(std::string_view module, std::string_view build_id, std::uint64_t address);

 private:
  struct module {
    std::mutex mutex;
    bool opened = false;
    verdict why = verdict::no_file;         ///< If neither file could be opened: the reason.
    std::unique_ptr<symbol_file> code;      ///< The loaded file.
    std::unique_ptr<symbol_file> separate;  ///< The debug information, if that is in a separate file.
    std::unordered_map<std::uint64_t, resolution> known;
  };

  void open(module& which, const std::string& path, const std::string& build_id) const;
  [[nodiscard]] result<std::unique_ptr<symbol_file>> open_file(const std::string& path) const;
  [[nodiscard]] std::unique_ptr<symbol_file> open_by_build_id(const std::string& build_id) const;
  [[nodiscard]] static resolution look_up(module& in, std::uint64_t address);

  const resolver_options options_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<module>> modules_;  ///< By path and build id.
};

}  // namespace sluice::symbols
