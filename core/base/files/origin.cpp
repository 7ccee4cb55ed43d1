#include "core/base/files/origin.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files/user_folder.hpp"
#include "core/base/siphash.hpp"

namespace sluice::origin {
namespace {

constexpr const char* attribute = "user.sluice.origin";
constexpr std::size_t header_bytes = 64;

/// Opens the folder that contains the key. Returns -1 if it is missing or not private to this user. `make`: creates the
/// folder if it is missing.
int open_folder(bool make) {
  const std::string folder = user_folder("XDG_STATE_HOME", ".local/state");
  if (folder.empty()) return -1;
  if (make) {
    std::error_code none;
    std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), none);
    ::mkdir(folder.c_str(), 0700);
  }
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  struct stat about {};
  if (opened >= 0 && ::fstat(opened, &about) == 0 && about.st_uid == ::geteuid() && (about.st_mode & 022) == 0)
    return opened;
  if (opened >= 0) ::close(opened);
  return -1;
}

std::optional<siphash::key> read_key(int folder) {
  const int file = ::openat(folder, "key", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  siphash::key key{};
  struct stat about {};
  const bool good = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid() &&
                    (about.st_mode & 077) == 0 && about.st_size == sizeof key &&
                    ::pread(file, &key, sizeof key, 0) == sizeof key;
  ::close(file);
  return good ? std::optional(key) : std::nullopt;
}

/// Writes a temporary file and then links it, so that readers only see a complete key; if two processes do this, the
/// first wins.
void make_key(int folder) {
  siphash::key key{};
  if (::getrandom(&key, sizeof key, 0) != sizeof key) return;
  const std::string name = "key." + std::to_string(::getpid());
  const int file = ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return;
  const bool written = ::write(file, &key, sizeof key) == sizeof key && ::fsync(file) == 0;
  ::close(file);
  if (written) static_cast<void>(::linkat(folder, name.c_str(), folder, "key", 0));
  ::unlinkat(folder, name.c_str(), 0);
}

std::optional<siphash::key> key_of_this_user(bool make) {
  const int folder = open_folder(make);
  if (folder < 0) return std::nullopt;
  auto key = read_key(folder);
  if (!key && make) {
    make_key(folder);
    key = read_key(folder);
  }
  ::close(folder);
  return key;
}

void put(std::vector<std::byte>& into, const void* bytes, std::size_t count) {
  const auto* first = static_cast<const std::byte*>(bytes);
  into.insert(into.end(), first, first + count);
}
void put(std::vector<std::byte>& into, std::uint64_t number) { put(into, &number, sizeof number); }

/// Returns the data to be hashed. Excludes the device number, which may change each time the machine boots.
std::optional<std::vector<std::byte>> get_facts(int descriptor, std::span<const std::byte> header, stage now) {
  struct statx about {};
  if (header.size() != header_bytes ||
      ::statx(descriptor, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &about) != 0 ||
      !S_ISREG(about.stx_mode) || about.stx_uid != ::geteuid())
    return std::nullopt;
  std::vector<std::byte> facts;
  put(facts, "sluice origin 1", 16);
  put(facts, now == stage::closed ? 1 : 0);
  put(facts, about.stx_ino);
  const bool has_birth = (about.stx_mask & STATX_BTIME) != 0;
  put(facts, has_birth ? static_cast<std::uint64_t>(about.stx_btime.tv_sec) : 0);
  put(facts, has_birth ? about.stx_btime.tv_nsec : 0);
  put(facts, header.data(), header.size());
  if (now == stage::closed) {
    put(facts, about.stx_size);
    put(facts, static_cast<std::uint64_t>(about.stx_mtime.tv_sec));
    put(facts, about.stx_mtime.tv_nsec);
  }
  return facts;
}

}  // namespace

void mark(int descriptor, std::span<const std::byte> header, stage now) noexcept try {
  const auto key = key_of_this_user(true);
  const auto facts = key ? get_facts(descriptor, header, now) : std::nullopt;
  if (!facts) return unmark(descriptor);
  const siphash::hash hash = siphash::of(*key, *facts);
  if (::fsetxattr(descriptor, attribute, hash.data(), sizeof hash, 0) != 0) unmark(descriptor);
} catch (...) {  // Out of memory: the file stays unmarked, so it is not trusted.
}

void unmark(int descriptor) noexcept { static_cast<void>(::fremovexattr(descriptor, attribute)); }

bool is_marked(int descriptor, std::span<const std::byte> header) noexcept try {
  siphash::hash found{};
  if (::fgetxattr(descriptor, attribute, &found, sizeof found) != sizeof found) return false;
  const auto key = key_of_this_user(false);
  if (!key) return false;
  for (const stage each : {stage::closed, stage::growing}) {
    const auto facts = get_facts(descriptor, header, each);
    if (facts && siphash::of(*key, *facts) == found) return true;
  }
  return false;
} catch (...) {
  return false;
}

}  // namespace sluice::origin
