#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"

namespace sluice::writer {

/// The code files that one process has loaded, indexed by address.
struct process_modules {
  struct module {
    ring::module_record record{};
    trace::string_id path{};  ///< Valid if `named`.
    bool named = false;       ///< True if the module's row has been written, because it contains a frame.
  };
  std::map<std::uint64_t, module> by_begin;  ///< Keyed by start address. Modules do not overlap.
  std::uint64_t replaced =
      0;  ///< Incremented when addresses of a module may now belong to another module. Addresses that were resolved
          ///< earlier must then be resolved again for later events.
};

/// Turns program counters of recorded processes into modules and addresses inside them. Not thread-safe.
///
/// Modules are known in time: a thread sends a module's record before the first stack that contains an address
/// in the module, unless another thread has already sent the record. Module and stack records are processed on
/// arrival, but events one turn later. So when the first event uses a stack, the stack's modules are known.
class module_map {
 public:
  module_map(trace::file_writer& file, const catalogue& names) : file_(file), names_(names) {}

  struct location {
    trace::string_id module{};  ///< The path of a `module_row`; none if the module is unknown.
    std::uint64_t address = 0;  ///< Program counter minus load bias; without a module, the program counter.
  };

  /// Defines a module and removes modules at overlapping addresses. Returns false if the module is rejected, because it
  /// is invalid or there are too many. O(log modules + removed modules).
  bool define(process_modules& process, const ring::module_record& record);

  /// Resolves `pc` with the current modules. Writes a module's row the first time an address in it is resolved.
  /// O(log modules).
  [[nodiscard]] location resolve(process_modules& process, trace::process_id owner, std::uint64_t pc);

 private:
  static constexpr std::size_t max_modules = std::size_t{1}
                                             << 16;  ///< Limit for hostile processes; large training runs have 1,000.

  void write_row(process_modules::module& module, trace::process_id owner);

  trace::file_writer& file_;
  const catalogue& names_;
  std::uint64_t last_module_ = 0;
};

}  // namespace sluice::writer
