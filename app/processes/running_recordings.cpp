#include "app/processes/running_recordings.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "app/processes/command_line.hpp"

namespace sluice::processes {
namespace {

namespace fs = std::filesystem;

/// The words of a process's command line. `process`: its folder in /proc.
std::vector<std::string> get_words(const fs::path& process) {
  std::ifstream file(process / "cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

/// The path of the recording that a process has open; empty if there is none, or the recording has no name yet.
std::string written_by(const fs::path& process) {
  std::error_code failed;
  for (fs::directory_iterator at(process / "fd", failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code unknown;
    std::string file = fs::read_symlink(at->path(), unknown).string();
    if (!unknown && file.starts_with('/') && file.ends_with(".sluice")) return file;
  }
  return {};
}

}  // namespace

std::vector<running_recording> running_recordings() {
  std::vector<running_recording> found;
  std::error_code failed;
  for (fs::directory_iterator at("/proc", failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    running_recording recording;
    const auto [last, bad] = std::from_chars(name.data(), name.data() + name.size(), recording.pid);
    struct stat owner {};
    if (bad != std::errc() || last != name.data() + name.size() || stat(at->path().c_str(), &owner) != 0 ||
        owner.st_uid != getuid())
      continue;
    const std::vector<std::string> words = get_words(at->path());
    if (words.size() < 3 || words[1] != "record" || fs::path(words[0]).filename() != "sluice") continue;
    const auto dashes = std::find(words.begin(), words.end(), "--");
    const auto named = std::find_if(words.begin(), dashes, [](const auto& w) { return w == "-o" || w == "--output"; });
    if (dashes != words.end()) recording.command = joined_words({dashes + 1, words.end()});
    recording.file = written_by(at->path());
    if (recording.file.empty() && dashes - named > 1) {
      std::error_code unknown;
      const fs::path folder = fs::read_symlink(at->path() / "cwd", unknown);
      recording.file = (folder / *(named + 1)).lexically_normal().string();
    }
    found.push_back(std::move(recording));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.pid > b.pid; });
  return found;
}

}  // namespace sluice::processes
