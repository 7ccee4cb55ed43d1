#pragma once

#include <cstdint>

namespace sluice::gui {

/// In its own file, so that settings need not include drawing code.
enum class theme_kind : std::uint8_t { dark, light };

}  // namespace sluice::gui
