#include "app/gui/shell/programs/recorder_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/processes/command_line.hpp"
#include "core/base/files/user_folder.hpp"

namespace sluice::gui {
namespace {

namespace fs = std::filesystem;

/// The path NAME.sluice in `folder`; if that is taken, NAME-2.sluice and so on.
fs::path free_path(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  // A dangling link also occupies a name.
  const auto is_taken = [&](const fs::path& path) { return fs::exists(fs::symlink_status(path, ignored)); };
  fs::path path = folder / (name + ".sluice");
  for (int number = 2; is_taken(path); ++number) path = folder / (name + "-" + std::to_string(number) + ".sluice");
  return path;
}

/// Escapes percent signs as %%, because `sluice record` replaces %r and %h in the name of its output.
std::string literal(const std::string& output) {
  std::string text;
  for (const char c : output) text += c == '%' ? std::string("%%") : std::string(1, c);
  return text;
}

/// The last `lines` lines of `text`.
std::string last_lines(std::string text, std::size_t lines) {
  std::size_t at = text.size();
  if (at > 0 && text[at - 1] == '\n') --at;  // This newline ends the last line; it does not start another line.
  for (std::size_t i = 0; i < lines; ++i) {
    at = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    if (at == std::string::npos) return text;
  }
  return text.substr(at + 1);
}

/// True if files can be created in `folder`. Checking the permissions is not enough, because root has all of them, even
/// in /proc.
bool takes_files(const fs::path& folder) {
  int fd = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) {  // Some file systems do not support unnamed files.
    std::string name = folder / ".sluice-XXXXXX";
    fd = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0) return false;
    ::unlink(name.c_str());
  }
  ::close(fd);
  return true;
}

}  // namespace

result<std::string> recording_place(const record_request& request) {
  constexpr std::size_t longest_name = 200;  // bytes; a file name may have 255
  std::error_code failed;
  const fs::path runs_in = request.folder.empty() ? fs::current_path(failed) : fs::absolute(request.folder, failed);
  if (failed || !fs::is_directory(runs_in, failed))
    return fail(error_code::not_found, "no such folder", request.folder.empty() ? "." : request.folder,
                "enter the path of a folder");
  std::string name = request.command.empty() ? std::string() : fs::path(request.command.front()).filename().string();
  if (name.empty()) name = "recording";
  name.resize(std::min(name.size(), longest_name));
  fs::path folder = runs_in.lexically_normal();
  if (!takes_files(folder)) folder = user_folder("XDG_DATA_HOME", ".local/share");
  if (folder.empty())
    return fail(error_code::io, "the folder is not writable, and HOME is not set", runs_in.string(),
                "choose another folder");
  return free_path(folder, name).string();
}

std::vector<std::string> record_words(const record_request& request, const std::string& output) {
  std::vector<std::string> words = {"record",       "--mode", request.mode,   "--stacks",
                                    request.stacks, "-o",     literal(output)};
  if (request.ring_bytes > 0) words.insert(words.end(), {"--ring", std::to_string(request.ring_bytes)});
  if (request.find_duplicates) words.emplace_back("--find-duplicates");
  if (request.sources) words.emplace_back("--sources");
  words.emplace_back("--");
  if (!request.environment.empty()) {
    words.emplace_back("/usr/bin/env");
    words.insert(words.end(), request.environment.begin(), request.environment.end());
  }
  words.insert(words.end(), request.command.begin(), request.command.end());
  return words;
}

recorder_process::~recorder_process() {
  // The process handles SIGTERM between two steps. The wait is limited in case the process does not end.
  process_.end({}, std::chrono::seconds(2));
}

result<std::string> recorder_process::new_folder() {
  if (running())
    return fail(error_code::invalid_argument, is_demo_ ? "a demo is already running" : "a recording is already running",
                name_, "stop it first");
  auto built = scratch_folder::make();
  if (!built) return tl::unexpected(built.error());
  return folders_.emplace_back(std::move(*built)).path();
}

result<void> recorder_process::start_demo(const std::string& program, const std::string& name,
                                          const std::string& device) {
  auto folder = new_folder();
  if (!folder) return tl::unexpected(folder.error());
  is_demo_ = true;
  name_ = name;
  recording_ = *folder + "/" + name + ".sluice";
  errors_ = *folder + "/errors.txt";
  std::vector<std::string> words = {program, "demo", name, "--pace", "-o", recording_};
  if (!device.empty()) words.insert(words.end(), {"--device", device});
  return start(std::move(words), {});
}

result<void> recorder_process::start_recording(const std::string& program, const record_request& request) {
  if (request.command.empty())
    return fail(error_code::invalid_argument, "no program to record", {}, "enter its command line");
  for (const std::string& each : request.environment)
    if (each.find('=') == std::string::npos || each.starts_with('='))
      return fail(error_code::invalid_argument, "the environment contains a word that is not NAME=value", each);
  auto folder = new_folder();
  if (!folder) return tl::unexpected(folder.error());
  auto place = recording_place(request);
  if (!place) return tl::unexpected(place.error());
  std::error_code failed;
  fs::create_directories(fs::path(*place).parent_path(), failed);
  if (failed) return fail(error_code::io, "the folder cannot be created: " + failed.message(), *place);
  is_demo_ = false;
  name_ = processes::joined_words(request.command);
  recording_ = std::move(*place);
  errors_ = *folder + "/output.txt";
  std::vector<std::string> words = record_words(request, recording_);
  words.insert(words.begin(), program);
  return start(std::move(words), request.folder);
}

/// Starts the process. A demo's standard output is of no interest; that of a recording goes where its errors go.
result<void> recorder_process::start(std::vector<std::string> words, const std::string& folder) {
  auto started = child_process::start({.words = std::move(words),
                                       .folder = folder,
                                       .output = is_demo_ ? child_file(child_stream::null) : child_file(errors_),
                                       .errors = errors_});
  if (!started) return tl::unexpected(started.error());
  process_ = std::move(*started);
  stopping_ = false;
  return {};
}

void recorder_process::stop() {
  if (!running()) return;
  process_.send_signal(SIGTERM);
  stopping_ = true;
}

bool recorder_process::ended() { return running() && process_.poll(); }

std::string recorder_process::output() const {
  std::ifstream file(errors_, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, file.tellg()));
  const std::size_t begin = size > max_output ? size - max_output : 0;
  std::string text(size - begin, '\0');
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return last_lines(std::move(text), max_lines);
}

std::string recorder_process::last_words() const {
  const std::string text = output();
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return {};
  const std::size_t before = text.rfind('\n', end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end + 1 - begin);
}

}  // namespace sluice::gui
