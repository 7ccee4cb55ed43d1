#pragma once

#include "app/gui/shell/platform_services.hpp"

namespace sluice::cli {

/// Sets what the window says about recording on this machine: whether there is a driver, and what is missing. Looks at
/// some files, and loads nothing; `sluice doctor` checks more.
void describe_machine(gui::platform_services& around);

}  // namespace sluice::cli
