#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace sluice::gui {

/// The command that shows `file` at `line` (0: at its begin) in the editor that `editor` names, as $VISUAL and $EDITOR
/// do: a program, maybe with arguments. Editors that need a terminal are put into one. Empty if `editor` is.
[[nodiscard]] std::vector<std::string> editor_command(const std::string& editor, const std::string& file,
                                                      std::uint64_t line);

/// Starts the editor of $VISUAL or $EDITOR for a source line, and does not wait for it. Errors: not_found if there is no
/// such regular file on this machine; invalid_argument if the path is not absolute or no editor is named; io.
[[nodiscard]] result<void> open_in_editor(const std::string& file, std::uint64_t line);

}  // namespace sluice::gui
