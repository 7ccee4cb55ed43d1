#include "core/base/files/replacement.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "core/base/files/full_disk.hpp"
#include "core/base/files/privacy.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_name = 255;  // The NAME_MAX of all common file systems.

/// Returns a name next to `place` with a random, unpredictable suffix.
std::string name_next_to(const fs::path& place) {
  std::uint64_t number = 0;
  while (::getentropy(&number, sizeof number) != 0) {
  }
  char ending[32];
  const int length = std::snprintf(ending, sizeof ending, ".part-%016llx", static_cast<unsigned long long>(number));
  std::string name = place.filename().string();
  name.resize(std::min(name.size(), longest_name - static_cast<std::size_t>(length)));
  return (place.parent_path() / (name + ending)).string();
}

/// Resolves `target` to an absolute path, and follows links. Errors: io, invalid_argument.
result<std::string> get_place(const std::string& target) {
  struct stat link {};
  std::error_code problem;
  std::string plain = target;
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  const fs::path absolute = fs::absolute(plain, problem);
  if (problem) return fail(error_code::io, "cannot create: " + problem.message(), target);
  if (::lstat(absolute.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return absolute.string();
  if (link.st_uid != ::geteuid() && link.st_uid != 0)
    return fail(error_code::invalid_argument, "is a link that belongs to another user", target, "choose another name");
  const fs::path found = fs::canonical(absolute, problem);
  if (problem)
    return fail(error_code::invalid_argument, "is a link to a file that does not exist", target,
                "remove the link, or choose another name");
  return found.string();
}

/// Syncs the file to disk, including what was written through other descriptors.
bool sync_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = ::fsync(file) == 0;
  const int why = errno;
  ::close(file);
  errno = why;
  return done;
}

}  // namespace

replacement::replacement(std::string named, std::string place, bool folder)
    : named_(std::move(named)), place_(std::move(place)), folder_(folder) {}

replacement::replacement(replacement&& other) noexcept
    : named_(std::move(other.named_)),
      place_(std::move(other.place_)),
      path_(std::exchange(other.path_, {})),
      replaced_(other.replaced_),
      folder_(other.folder_),
      unnamed_(other.unnamed_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      claimed_(std::exchange(other.claimed_, -1)),
      unfinished_(std::move(other.unfinished_)) {}

replacement::~replacement() {
  remove();
  let_go_of_target();
  if (descriptor_ >= 0) ::close(descriptor_);
}

void replacement::let_go_of_target() {
  if (claimed_ >= 0) ::close(std::exchange(claimed_, -1));
}

std::optional<replacement::identity> replacement::look_at(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
  return identity{found.st_dev, found.st_ino};
}

tl::unexpected<error> replacement::failure(const std::string& subject, int why) const {
  return fail(code_of_failed_write(why), subject + ": " + describe_errno(why), named_,
              is_full_disk(why) ? "free some space" : "name a file in a folder that you may write to");
}

result<void> replacement::make(mode_t mode) {
  constexpr int max_tries = 100;
  for (int i = 0; i < max_tries; ++i) {
    path_ = name_next_to(place_);
    unfinished_ = unfinished_name(path_);
    if (folder_) {
      if (::mkdir(path_.c_str(), mode) == 0) return {};
    } else {
      descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
      if (descriptor_ >= 0) return {};
    }
    if (errno != EEXIST) break;
  }
  const int why = errno;
  unfinished_ = unfinished_name();
  path_.clear();
  return failure("cannot create", why);
}

bool replacement::make_unnamed(mode_t mode) {
  const std::string folder = fs::path(place_).parent_path().string();
  descriptor_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (descriptor_ < 0) return false;
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  unnamed_ = ::access(path_.c_str(), F_OK) == 0;
  if (!unnamed_) {
    ::close(std::exchange(descriptor_, -1));
    path_.clear();
  }
  return unnamed_;
}

bool replacement::give_name() {
  const auto link = [this](const std::string& name) {
    return ::linkat(AT_FDCWD, path_.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  const std::string name = replaced_ ? name_next_to(place_) : place_;
  if (replaced_) unfinished_ = unfinished_name(name);
  if (!link(name)) return false;
  unnamed_ = false;
  path_ = name;
  return true;
}

result<replacement> replacement::of_file(const std::string& target) { return of_file(target, naming::named); }

result<replacement> replacement::of_unnamed_file(const std::string& target) { return of_file(target, naming::unnamed); }

result<replacement> replacement::of_file(const std::string& target, naming options) {
  auto place = get_place(target);
  if (!place) return tl::unexpected(place.error());
  replacement output(target, std::move(*place), false);
  struct stat old {};
  const bool exists = ::lstat(output.place_.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode))
    return fail(error_code::invalid_argument, "is not a regular file", target, "choose another name");
  if (exists && ::access(output.place_.c_str(), W_OK) != 0) return output.failure("cannot be replaced", errno);
  if (exists) output.replaced_ = identity{old.st_dev, old.st_ino};
  // A file that will get the permissions of another file is private until then, so that no other user can open it
  // early.
  const mode_t mode = exists ? S_IRUSR | S_IWUSR : 0666 & privacy::allowed();
  if (options == naming::named || !output.make_unnamed(mode))
    if (auto done = output.make(mode); !done) return tl::unexpected(done.error());
  if (exists) {
    // Root can keep the owner; other users can keep at most the group.
    [[maybe_unused]] const int owner = ::fchown(output.descriptor_, old.st_uid, old.st_gid);
    ::fchmod(output.descriptor_, old.st_mode & privacy::allowed());
  }
  return output;
}

result<replacement> replacement::of_folder(const std::string& target) {
  auto place = get_place(target);
  if (!place) return tl::unexpected(place.error());
  replacement output(target, std::move(*place), true);
  output.replaced_ = look_at(output.place_);
  std::error_code problem;
  if (output.replaced_ && !(fs::is_directory(output.place_, problem) && fs::is_empty(output.place_, problem)))
    return fail(error_code::invalid_argument, "already exists and is not an empty directory", target,
                "name a new folder with -o");
  if (auto done = output.make(0777 & privacy::allowed()); !done) return tl::unexpected(done.error());
  return output;
}

int replacement::take_descriptor() {
  return unnamed_ ? ::open(path_.c_str(), O_RDWR | O_CLOEXEC) : std::exchange(descriptor_, -1);
}

namespace {

/// Locks the byte that claims a file. Returns 0 on success, or an errno value.
int lock_claimed_byte(int descriptor) {
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_start = replacement::claimed_byte;
  byte.l_len = 1;
  return ::fcntl(descriptor, F_OFD_SETLK, &byte) == 0 ? 0 : errno;
}

}  // namespace

replacement::claim replacement::claim_target() {
  const int file = ::open(place_.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return errno == ENOENT || errno == ELOOP ? claim::changed : claim::no_locks;
  claimed_ = file;
  const int refused = lock_claimed_byte(file);
  // Check again while holding the lock: its previous holder may have replaced the file.
  struct stat locked {};
  const bool same = ::fstat(file, &locked) == 0 && identity{locked.st_dev, locked.st_ino} == replaced_ &&
                    look_at(place_) == replaced_;
  if (same && refused == 0) return claim::got;
  let_go_of_target();
  if (!same) return claim::changed;
  return refused == EAGAIN || refused == EACCES ? claim::taken : claim::no_locks;
}

bool replacement::take_free_name() {
#ifdef RENAME_NOREPLACE
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, place_.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
#endif
  // Some file systems do not support this rename. There, an empty file or folder takes the name first: only one process
  // can create it.
  if (folder_) return ::mkdir(place_.c_str(), 0700) == 0 && ::rename(path_.c_str(), place_.c_str()) == 0;
  const int taken = ::open(place_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (taken < 0) return false;
  // A process that replaces files without content may already have claimed this file, and then owns it.
  const int refused = lock_claimed_byte(taken);
  const bool ours = refused != EAGAIN && refused != EACCES;
  const bool moved = ours && ::rename(path_.c_str(), place_.c_str()) == 0;
  const int why = ours ? errno : EEXIST;
  if (ours && !moved) ::unlink(place_.c_str());
  ::close(taken);
  errno = why;
  return moved;
}

result<void> replacement::commit() {
  const char* refused = "cannot be moved to its final name: another file has taken that name";
  if (look_at(place_) != replaced_) return fail(error_code::io, refused, named_, "choose another name");
  if (replaced_ && !folder_ && !(unnamed_ ? ::fsync(descriptor_) == 0 : sync_file(path_)))
    return failure("cannot be written to disk", errno);
  if (unnamed_) {
    if (!give_name())
      return errno == EEXIST && !replaced_ ? fail(error_code::io, refused, named_, "choose another name")
                                           : failure("cannot be moved to its final name", errno);
    if (!replaced_) {
      keep();
      return {};
    }
  }
  const bool moved = replaced_ ? ::rename(path_.c_str(), place_.c_str()) == 0 : take_free_name();
  if (!moved && !replaced_ && errno == EEXIST) return fail(error_code::io, refused, named_, "choose another name");
  if (!moved) return failure("cannot be moved to its final name", errno);
  let_go_of_target();
  keep();
  return {};
}

void replacement::keep() {
  path_.clear();
  unfinished_ = unfinished_name();
}

void replacement::remove() {
  if (path_.empty() || unnamed_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  keep();
}

}  // namespace sluice
