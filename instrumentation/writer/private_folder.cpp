#include "instrumentation/writer/private_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "instrumentation/ring/protocol.hpp"

namespace sluice::writer {
namespace {

constexpr const char* name_begin = "sluice-";
constexpr std::size_t name_random = 6;
constexpr const char* socket_name = "socket";
constexpr const char* alive_name = "alive";
constexpr const char* alive_draft = "alive.new";

/// The names in a folder; empty if it cannot be read.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const reading = again < 0 ? nullptr : ::fdopendir(again);
  if (reading == nullptr) {
    if (again >= 0) ::close(again);
    return names;
  }
  while (const dirent* entry = ::readdir(reading)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(reading);
  return names;
}

bool is_named_as_ours(std::string_view name) {
  if (!name.starts_with(name_begin) || name.size() != std::strlen(name_begin) + name_random) return false;
  const std::string_view random = name.substr(std::strlen(name_begin));
  return std::all_of(random.begin(), random.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

/// True for files that we or recorded processes put there: a socket, the lock file, and notes (symbolic links).
bool is_our_entry(int folder, const std::string& name) {
  struct stat found {};
  if (::fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (name.starts_with(ring::note_prefix)) return S_ISLNK(found.st_mode);
  if (found.st_uid != ::geteuid()) return false;
  if (name == socket_name || name == live_socket_name) return S_ISSOCK(found.st_mode);
  return name == alive_name && S_ISREG(found.st_mode) && found.st_size == 0;
}

/// Locks the folder of an ended process and returns the lock file's descriptor; -1 if the owner still runs, or the
/// folder is not ours.
int lock_of_dead(int folder) {
  struct stat found {};
  const bool ours = ::fstat(folder, &found) == 0 && found.st_uid == ::geteuid() && (found.st_mode & 07777) == 0700;
  if (!ours) return -1;
  const int lock = ::openat(folder, alive_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
  if (lock >= 0) ::close(lock);
  return -1;
}

void remove_if_dead(int place, const std::string& name) {
  const int folder = ::openat(place, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  const int lock = lock_of_dead(folder);
  if (lock >= 0) {
    const std::vector<std::string> entries = names_in(folder);
    if (std::all_of(entries.begin(), entries.end(), [&](const auto& entry) { return is_our_entry(folder, entry); })) {
      for (const std::string& entry : entries) ::unlinkat(folder, entry.c_str(), 0);
      ::unlinkat(place, name.c_str(), AT_REMOVEDIR);
    }
    ::close(lock);
  }
  ::close(folder);
}

void remove_dead_in(const std::string& path) {
  const int place = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (place < 0) return;
  for (const std::string& name : names_in(place)) {
    if (is_named_as_ours(name)) remove_if_dead(place, name);
  }
  ::close(place);
}

}  // namespace

std::unique_ptr<private_folder> private_folder::make() {
  std::error_code none;
  for (const std::filesystem::path& place :
       {std::filesystem::temp_directory_path(none), std::filesystem::path("/tmp")}) {
    std::string name = (place / (name_begin + std::string(name_random, 'X'))).string();
    if (place.empty() || name.size() + sizeof "/socket" > ring::writer_address::longest_name) continue;
    remove_dead_in(place.string());
    if (::mkdtemp(name.data()) != nullptr) return std::make_unique<private_folder>(std::move(name));
  }
  return nullptr;
}

private_folder::private_folder(std::string path) : path_(std::move(path)), owner_(::getpid()) { say_alive(); }

/// Creates the lock file. It gets its name after it is locked, so other processes only see it locked. A folder without
/// a lock file is never removed.
void private_folder::say_alive() {
  const std::string draft = path_ + "/" + alive_draft;
  alive_ = ::open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (alive_ < 0 || ::flock(alive_, LOCK_EX | LOCK_NB) != 0) return;
  static_cast<void>(::rename(draft.c_str(), (path_ + "/" + alive_name).c_str()));
}

private_folder::~private_folder() {
  if (::getpid() != owner_) return;  // A copy of this object in a forked child.
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (alive_ >= 0) ::close(alive_);
}

}  // namespace sluice::writer
