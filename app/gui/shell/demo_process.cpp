#include "app/gui/shell/demo_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <vector>

extern char** environ;

namespace sluice::gui {

demo_process::~demo_process() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    // A demo handles SIGTERM between two steps. The wait is limited in case it does not.
    for (int i = 0; i < 100 && pid_ > 0; ++i) {
      if (ended()) break;
      usleep(20'000);
    }
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
}

result<void> demo_process::start(const std::string& program, const std::string& name, const std::string& device) {
  if (pid_ > 0) return fail(error_code::invalid_argument, "a demo is running already", name_, "stop it first");
  auto made = scratch_folder::make();
  if (!made) return tl::unexpected(made.error());
  const std::string folder = folders_.emplace_back(std::move(*made)).path();
  recording_ = folder + "/" + name + ".sluice";
  errors_ = folder + "/errors.txt";
  std::vector<std::string> words = {program, "demo", name, "--pace", "-o", recording_};
  if (!device.empty()) words.insert(words.end(), {"--device", device});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors_.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return fail(error_code::io, "the demo cannot start: " + describe_errno(failed), program);
  pid_ = child;
  stopping_ = false;
  status_ = 0;
  name_ = name;
  return {};
}

void demo_process::stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  stopping_ = true;
}

bool demo_process::ended() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  pid_ = 0;
  return true;
}

std::string demo_process::last_words() const {
  std::ifstream file(errors_);
  std::string last;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace sluice::gui
