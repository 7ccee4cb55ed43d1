// sluice attach: says why it does not.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli/number_option.hpp"
#include "app/cli/verbs.hpp"

namespace sluice::cli {

/// Recording needs our library in the process before its first CUDA call: the driver loads it at cuInit only, and CUPTI has to
/// see contexts being created. To load it into a running process would mean to stop its threads with a debugger and call the
/// loader inside them, wherever they are: in the allocator, in the loader, with the driver's locks held. That can hang or kill
/// hours of work, and what was allocated before would be missing all the same.
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
