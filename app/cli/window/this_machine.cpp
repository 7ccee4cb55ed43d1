#include "app/cli/window/this_machine.hpp"

#include "app/processes/gpu_driver.hpp"
#include "core/base/printable.hpp"
#include "instrumentation/capture/start/launch_environment.hpp"

namespace sluice::cli {

void describe_machine(gui::platform_services& around) {
  around.gpu_driver = processes::has_gpu_driver();
  const auto library = capture::find_capture_library(capture::own_program());
  if (!around.gpu_driver) {
    around.recording_problem = "No NVIDIA driver on this machine: recording here would see no GPU.";
  } else if (!library) {
    around.recording_problem =
        printable("The capture library is missing, so no GPU activity can be recorded: " + library.error().hint + ".");
  }
}

}  // namespace sluice::cli
