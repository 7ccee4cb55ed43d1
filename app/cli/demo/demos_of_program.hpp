#pragma once

#include <vector>

#include "app/gui/shell/application_options.hpp"

namespace sluice::cli {

/// The demos that `sluice demo` can run, for the window's menu.
[[nodiscard]] std::vector<gui::demo_entry> demos_of_program();

}  // namespace sluice::cli
