#include "app/gui/shell/programs/spawn.hpp"

extern char** environ;

namespace sluice::gui {

int spawn(std::vector<std::string> words, const posix_spawn_file_actions_t& files, pid_t& child) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return posix_spawn(&child, arguments.front(), &files, nullptr, arguments.data(), environ);
}

}  // namespace sluice::gui
