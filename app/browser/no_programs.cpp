// A page cannot start programs. These replacements of the desktop's functions return an error that says so.
#include "app/gui/shell/programs/doctor_dialog.hpp"
#include "app/gui/shell/programs/editor.hpp"
#include "app/gui/shell/programs/recorder_process.hpp"
#include "core/remote/address.hpp"

namespace sluice::gui {
namespace {

tl::unexpected<error> no_programs() {
  return fail(error_code::unavailable, "a page in a browser cannot start programs", {},
              "record with the program `sluice`, then open the recording here");
}

}  // namespace

std::vector<std::string> record_words(const record_request& /*request*/, const std::string& /*output*/) { return {}; }
result<std::string> recording_place(const record_request& /*request*/) { return no_programs(); }
recorder_process::~recorder_process() = default;
result<void> recorder_process::start_demo(const std::string& /*program*/, const std::string& /*name*/,
                                          const std::string& /*device*/) {
  return no_programs();
}
result<void> recorder_process::start_recording(const std::string& /*program*/, const record_request& /*request*/) {
  return no_programs();
}
result<std::string> run_doctor(const std::string& /*program*/) { return no_programs(); }
void recorder_process::stop() {}
bool recorder_process::ended() { return false; }
std::string recorder_process::last_words() const { return {}; }
std::string recorder_process::output() const { return {}; }

std::vector<std::string> editor_command(const std::string& /*editor*/, const std::string& /*file*/,
                                        std::uint64_t /*line*/) {
  return {};
}
result<void> open_in_editor(const std::string& /*file*/, std::uint64_t /*line*/) { return no_programs(); }

}  // namespace sluice::gui

namespace sluice {

child_process::~child_process() = default;

}  // namespace sluice

namespace sluice::remote {

result<opened_address> open_address(const std::string& address, const trace::reader_options& /*options*/,
                                    const std::function<bool()>& /*cancelled*/) {
  return fail(error_code::unavailable, "a page in a browser cannot connect to other machines", address,
              "use the program `sluice`");
}

}  // namespace sluice::remote
