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

/// Why an address has a name, or none.
enum class verdict : std::uint8_t {
  found,
  no_symbols,   ///< The file is the recorded one, but says nothing about the address.
  other_build,  ///< A file of that name is there, but not the recorded one: its symbols would be wrong.
  no_file,      ///< Not on this machine.
  unreadable,
  untrusted  ///< Nothing of this machine may be read for this recording: see local_files.
};

struct resolution {
  verdict why = verdict::no_file;
  std::vector<place> places;  ///< Innermost first; empty unless found.
};

struct resolver_options {
  /// Which files may be read; none unless said.
  local_files local{};
  /// Where separate debug information lies: in ROOT/.build-id/ab/cdef....debug.
  std::vector<std::string> debug_roots{"/usr/lib/debug"};
};

/// Finds what native addresses stand for, on the machine where a recording is read, and keeps what it found. A file counts
/// only if its build id is the recorded one; where none was recorded, its path is believed. Thread-safe. A question may read
/// hundreds of megabytes of debug information: not for the thread that draws.
class resolver {
 public:
  explicit resolver(resolver_options options = {}) : options_(std::move(options)) {}

  /// `module`: the path of the code's file. `build_id`: hexadecimal, empty if not recorded. `address`: in the file's own
  /// addresses (program counter - load bias), inside the instruction that is asked about: for a caller, one before the
  /// address it returns to.
  [[nodiscard]] resolution find(std::string_view module, std::string_view build_id, std::uint64_t address);

 private:
  struct module {
    std::mutex mutex;
    bool opened = false;
    verdict why = verdict::no_file;         ///< Of a module without any file.
    std::unique_ptr<symbol_file> code;      ///< What was loaded.
    std::unique_ptr<symbol_file> separate;  ///< Its debug information, when that lies apart.
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
