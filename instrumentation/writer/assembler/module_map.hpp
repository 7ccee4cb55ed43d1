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

/// The files of code that one process has loaded, by address.
struct process_modules {
  struct module {
    module_record record{};
    trace::string_id path{};  ///< Once `named`.
    bool named = false;       ///< Its row has been written: a frame lies in it.
  };
  std::map<std::uint64_t, module> by_begin;  ///< They do not overlap.
  std::uint64_t replaced =
      0;  ///< Grows when an address that was a module's may have become another's: what was resolved
          ///< before then stays right for its own time, and is to be resolved anew for later ones.
};

/// Turns program counters of recorded processes into modules and addresses in them. Not thread-safe.
///
/// Order: a recorded thread sends a module's record before the first stack with a program counter in it, or finds that
/// another thread has; records of modules and stacks are taken as they arrive, and an event that names a stack is written a
/// turn later. So whoever resolves a stack when the first event names it finds its modules.
class module_map {
 public:
  module_map(trace::file_writer& file, const catalogue& names) : file_(file), names_(names) {}

  struct place {
    trace::string_id module{};  ///< The path of a `module_row`; none: no module that was told of.
    std::uint64_t address = 0;  ///< The program counter less the load bias; in no module, the program counter itself.
  };

  /// Those whose addresses it covers are there no more. False: it makes no sense or there are too many, and it is left out.
  /// O(log modules + replaced).
  bool define(process_modules& process, const module_record& record);

  /// Where `pc` lies now. Writes the module's row the first time one of its addresses is resolved. O(log modules).
  [[nodiscard]] place resolve(process_modules& process, trace::process_id owner, std::uint64_t pc);

 private:
  static constexpr std::size_t most_modules = std::size_t{1}
                                              << 16;  ///< Of a hostile process; large trainings have 1,000.

  void write_row(process_modules::module& module, trace::process_id owner);

  trace::file_writer& file_;
  const catalogue& names_;
  std::uint64_t last_module_ = 0;
};

}  // namespace sluice::collector
