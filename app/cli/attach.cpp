// sluice attach: explains why attaching to a running process is not supported.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli/number_option.hpp"
#include "app/cli/verbs.hpp"

namespace sluice::cli {

/// Recording needs our library in the process before the first CUDA call: the driver loads it only at cuInit, and CUPTI
/// must see contexts being created. Loading it later would require stopping the threads with a debugger and calling the
/// loader inside them, wherever they are: in the allocator, in the loader, holding the driver's locks. That can hang or
/// destroy hours of work, and earlier allocations would still be missing.
action declare_attach(CLI::App& command) {
  const auto pid = std::make_shared<long>(0);
  command.add_option("PID", *pid, "A running process")->required()->check(whole_between(1, 1 << 22));
  return [pid] {
    complain(
        "process " + std::to_string(*pid) +
        " is left alone: a running program cannot be recorded safely. The recorder has to be there before the first "
        "CUDA call, and loading it into threads that may hold the driver's locks can hang the program. Start it with "
        "sluice record -- CMD; --delay leaves its beginning out, --ring keeps its last part only");
    return status_failed;
  };
}

}  // namespace sluice::cli
