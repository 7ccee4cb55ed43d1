// sluice attach: explains why attaching to a running process is not supported.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli/options/number_option.hpp"
#include "app/cli/options/verbs.hpp"

namespace sluice::cli {

/// Recording requires the capture library to be in the process before the first CUDA call: the driver loads the library
/// only in cuInit, and CUPTI must see contexts being created. To load it later, Sluice would have to stop the threads
/// with a debugger and call the loader inside one of them, wherever that thread is: in the allocator, in the loader,
/// holding the driver's locks. That can hang the program or destroy hours of work, and earlier allocations would still
/// be missing.
action declare_attach(CLI::App& command) {
  const auto pid = std::make_shared<long>(0);
  command.add_option("PID", *pid, "A running process")->required()->check(whole_between(1, 1 << 22));
  return [pid] {
    complain(
        "process " + std::to_string(*pid) +
        " was not changed: a running program cannot be recorded safely. The recorder must be loaded before the first "
        "CUDA call, and loading it into threads that may hold the driver's locks can hang the program. Start it with "
        "sluice record -- CMD; --delay omits the start of the program, --ring keeps only the last part of the "
        "recording");
    return status_failed;
  };
}

}  // namespace sluice::cli
