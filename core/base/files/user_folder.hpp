#pragma once

#include <string>

namespace sluice {

/// Returns Sluice's folder for one kind of user data: the folder "sluice" in the absolute path that the environment
/// variable `variable` (XDG_STATE_HOME) contains, or else in `otherwise` (".local/state") in HOME. Empty if neither is
/// set. The folder need not exist.
[[nodiscard]] std::string user_folder(const char* variable, const char* otherwise);

}  // namespace sluice
