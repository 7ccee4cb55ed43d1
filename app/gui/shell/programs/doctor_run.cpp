// Runs `sluice doctor`. A page in a browser cannot.
#include "app/gui/shell/programs/doctor_dialog.hpp"
#include "core/base/system/child_process.hpp"

namespace sluice::gui {

result<std::string> run_doctor(const std::string& program) {
  auto started = child_process::start({.words = {program, "doctor"}, .output = child_stream::pipe});
  if (!started) return tl::unexpected(started.error());
  return started->read_output({.timeout = std::chrono::seconds(60)});
}

}  // namespace sluice::gui
