#include "app/gui/shell/programs/editor.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "app/processes/command_line.hpp"
#include "core/base/recorded_path.hpp"
#include "core/base/system/child_process.hpp"

namespace sluice::gui {
namespace {

constexpr std::array<std::string_view, 8> in_terminals = {"vi", "vim", "nvim", "nano", "micro", "hx", "helix", "joe"};
constexpr std::array<std::string_view, 5> with_goto = {"code", "codium", "code-insiders", "cursor", "windsurf"};
constexpr std::array<std::string_view, 3> with_colon = {"subl", "zed", "atom"};

bool is_one_of(const auto& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

std::vector<std::string> editor_command(const std::string& editor, const std::string& file, std::uint64_t line) {
  auto words = processes::split_words(editor);
  if (!words || words->empty()) return {};
  const std::string name = std::filesystem::path(words->front()).filename().string();
  const std::string number = std::to_string(line);
  if (is_one_of(with_goto, name)) {
    words->insert(words->end(), {"--goto", file + ":" + number});
  } else if (is_one_of(with_colon, name)) {
    words->push_back(file + ":" + number);
  } else {
    if (line > 0) words->push_back("+" + number);
    words->push_back(file);
  }
  const bool emacs_in_terminal =
      name.starts_with("emacs") && std::any_of(words->begin(), words->end(), [](const std::string& w) {
        return w == "-nw" || w == "-t" || w == "-tty";
      });
  if (is_one_of(in_terminals, name) || emacs_in_terminal) words->insert(words->begin(), {"x-terminal-emulator", "-e"});
  return *words;
}

result<void> open_in_editor(const std::string& file, std::uint64_t line) {
  std::error_code failed;
  if (!is_absolute_path(file))
    return fail(error_code::invalid_argument, "the recording does not contain the full path", file);
  if (!std::filesystem::is_regular_file(file, failed))
    return fail(error_code::not_found, "no such file on this machine", file);
  const char* named = std::getenv("VISUAL");
  if (named == nullptr || *named == '\0') named = std::getenv("EDITOR");
  const std::vector<std::string> words = editor_command(named == nullptr ? "" : named, file, line);
  if (words.empty())
    return fail(error_code::invalid_argument, "no editor is set", file, "set $VISUAL or $EDITOR, for example to code");
  return child_process::start_detached(
      {.words = words, .output = child_stream::inherited, .errors = child_stream::inherited});
}

}  // namespace sluice::gui
