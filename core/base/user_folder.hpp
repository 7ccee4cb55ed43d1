#pragma once

#include <string>

namespace sluice {

/// This program's folder for one kind of what it keeps for a user: "sluice" below `variable` (such as XDG_STATE_HOME), if that names an
/// absolute path, else below `otherwise` (".local/state") in HOME; empty if there is neither. It need not exist.
[[nodiscard]] std::string user_folder(const char* variable, const char* otherwise);

}  // namespace sluice
