#pragma once

#include <vector>

#include "app/gui/views/welcome.hpp"

namespace sluice::cli {

/// The demos that `sluice demo` can run, for the window's menu.
[[nodiscard]] std::vector<gui::demo_entry> demos_of_program();

}  // namespace sluice::cli
