#pragma once

#include <nlohmann/json.hpp>

#include "app/gui/shell/kept_view.hpp"

/// The form of `kept_view` within files of JSON.
namespace sluice::gui {

[[nodiscard]] nlohmann::ordered_json kept_view_out(const kept_view& view);
/// Errors: corrupt, without a file.
[[nodiscard]] result<kept_view> kept_view_in(const nlohmann::ordered_json& from);

}  // namespace sluice::gui
