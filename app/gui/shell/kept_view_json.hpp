#pragma once

#include <nlohmann/json.hpp>

#include "app/gui/shell/kept_view.hpp"

/// The JSON form of `kept_view`, which other files contain as a part.
namespace sluice::gui {

[[nodiscard]] nlohmann::ordered_json kept_view_out(const kept_view& view);
/// Reads a view. Errors: corrupt, without a file name.
[[nodiscard]] result<kept_view> kept_view_in(const nlohmann::ordered_json& value);

}  // namespace sluice::gui
