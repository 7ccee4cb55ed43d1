#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace sluice::gui {

/// The command that shows `file` at `line` (0: the start) in `editor`. `editor` has the format of $VISUAL and $EDITOR:
/// a program, optionally followed by arguments. Editors that need a terminal are started in one. The result is empty if
/// `editor` is empty.
[[nodiscard]] std::vector<std::string> editor_command(const std::string& editor, const std::string& file,
                                                      std::uint64_t line);

/// Starts the editor from $VISUAL or $EDITOR at a source line, without waiting for the editor to exit. Errors:
/// not_found if this machine has no such regular file or no such editor; invalid_argument if the path is not absolute,
/// no editor is set, or it cannot be executed; unavailable.
[[nodiscard]] result<void> open_in_editor(const std::string& file, std::uint64_t line);

}  // namespace sluice::gui
