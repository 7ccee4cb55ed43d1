#pragma once

#include <string>

namespace sluice {

/// Returns Sluice's folder for one kind of user data: "sluice" below the absolute path in `variable` (XDG_STATE_HOME),
/// else below `otherwise` (".local/state") in HOME. Empty if neither is set. The folder need not exist.
[[nodiscard]] std::string user_folder(const char* variable, const char* otherwise);

}  // namespace sluice
