#pragma once

#include <vector>

#include "app/gui/views/welcome.hpp"

namespace sluice::cli {

/// The demos that `sluice demo` knows, as the window's menu lists them.
[[nodiscard]] std::vector<gui::demo_entry> demos_of_program();

}  // namespace sluice::cli
