#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace sluice::gui {

/// Starts the program at the path `words[0]`, with `words` as its arguments and with the window's environment. Returns
/// 0 and sets `child`, or returns an errno value.
[[nodiscard]] int spawn(std::vector<std::string> words, const posix_spawn_file_actions_t& files, pid_t& child);

}  // namespace sluice::gui
