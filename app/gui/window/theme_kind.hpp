#pragma once

#include <cstdint>

namespace sluice::gui {

/// Apart from the colours, so that settings need nothing that draws.
enum class theme_kind : std::uint8_t { dark, light };

}  // namespace sluice::gui
