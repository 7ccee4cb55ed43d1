#include "core/base/files/scratch_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/base/files/full_disk.hpp"

namespace sluice {
namespace {

tl::unexpected<error> cannot_make(const char* subject, const std::string& name, int why) {
  return fail(code_of_failed_write(why), std::string("cannot make a scratch ") + subject + ": " + describe_errno(why),
              name, "name a folder with space in TMPDIR");
}

}  // namespace

std::string scratch_place() {
  const char* named = std::getenv("TMPDIR");
  for (const char* place : {named, "/tmp", "/var/tmp"}) {
    std::error_code ignored;
    if (place == nullptr || place[0] != '/' || !std::filesystem::is_directory(place, ignored)) continue;
    if (::access(place, W_OK | X_OK) == 0) return place;
  }
  return "/tmp";
}

scratch_file::scratch_file(int fd) : fd_(fd), path_("/proc/self/fd/" + std::to_string(fd)) {}

result<scratch_file> scratch_file::make() {
  const std::string place = scratch_place();
  int fd = ::open(place.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return scratch_file(fd);
  // Some file systems do not support O_TMPFILE.
  std::string name = place + "/sluice-XXXXXX";
  fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return cannot_make("file", name, errno);
  ::unlink(name.c_str());
  return scratch_file(fd);
}

scratch_folder::scratch_folder(std::string path, unfinished_name registered)
    : path_(std::move(path)), unfinished_(std::move(registered)) {}

scratch_folder::scratch_folder(scratch_folder&& other) noexcept
    : path_(std::exchange(other.path_, {})), unfinished_(std::move(other.unfinished_)) {}

scratch_folder& scratch_folder::operator=(scratch_folder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(unfinished_, other.unfinished_);
  return *this;
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

result<scratch_folder> scratch_folder::make() {
  std::uint64_t random = 0;
  if (::getentropy(&random, sizeof random) != 0) return cannot_make("folder", scratch_place(), errno);
  std::string name = scratch_place() + "/sluice-" + std::to_string(random);
  // Register the name before creating the folder: otherwise, a signal in between would leave the folder behind.
  unfinished_name registered(name);
  if (::mkdir(name.c_str(), 0700) != 0) return cannot_make("folder", name, errno);
  return scratch_folder(std::move(name), std::move(registered));
}

}  // namespace sluice
