#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/assembler/catalogue.hpp"

namespace sluice::collector {

/// The code files that one process has loaded, by address.
struct process_modules {
  struct module {
    module_record record{};
    trace::string_id path{};  ///< Valid if `named`.
    bool named = false;       ///< True if its row has been written, because a frame is in it.
  };
  std::map<std::uint64_t, module> by_begin;  ///< By start address. Modules do not overlap.
  std::uint64_t replaced =
      0;  ///< Incremented when addresses of a module may now belong to another one. Earlier results stay right for
          ///< their own time, but later uses must be resolved again.
};

/// Turns program counters of recorded processes into modules and addresses inside them. Not thread-safe.
///
/// Why modules are known in time: a thread sends a module's record before the first stack with an
/// address in it, unless another thread already sent it. Module and stack records are processed on
/// arrival, but events one turn later. So when the first event uses a stack, its modules are known.
class module_map {
 public:
  module_map(trace::file_writer& file, const catalogue& names) : file_(file), names_(names) {}

  struct place {
    trace::string_id module{};  ///< The path of a `module_row`; none: unknown module.
    std::uint64_t address = 0;  ///< Program counter minus load bias; without a module, the program counter.
  };

  /// Defines a module and removes modules whose addresses it overlaps. False: the module is invalid, or there are too
  /// many, so it is rejected. O(log modules + replaced).
  bool define(process_modules& process, const module_record& record);

  /// Resolves `pc` with the current modules. Writes a module's row at the first hit in it. O(log modules).
  [[nodiscard]] place resolve(process_modules& process, trace::process_id owner, std::uint64_t pc);

 private:
  static constexpr std::size_t most_modules = std::size_t{1}
                                              << 16;  ///< Limit for hostile processes; large trainings have 1,000.

  void write_row(process_modules::module& module, trace::process_id owner);

  trace::file_writer& file_;
  const catalogue& names_;
  std::uint64_t last_module_ = 0;
};

}  // namespace sluice::collector
