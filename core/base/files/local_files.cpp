#include "core/base/files/local_files.hpp"

#include <fcntl.h>
#include <unistd.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "core/base/recorded_path.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// The maximum number of folders in a path, which limits the cost of a hostile path. No real source path has more
/// folders.
constexpr std::size_t max_folders = 64;

/// Splits `path` at '/', and a Windows path also at '\'. Leaves out empty parts and ".". Empty if the path contains
/// ".." or has too many parts.
std::vector<std::string> get_parts(std::string_view path) {
  std::vector<std::string> parts;
  const bool windows = is_absolute_path(path) && !path.starts_with('/');
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of(windows ? "/\\" : "/"), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == ".." || parts.size() == max_folders) return {};
    parts.emplace_back(part);
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts, std::size_t first) {
  std::string path = parts[first];
  for (std::size_t i = first + 1; i < parts.size(); ++i) path.append("/").append(parts[i]);
  return path;
}

/// Opens one folder after another, without following links. Used on systems without openat2.
int open_beneath_by_parts(int folder, const std::vector<std::string>& parts, std::size_t first) {
  int at = ::dup(folder);
  for (std::size_t i = first; i < parts.size() && at >= 0; ++i) {
    const int mode =
        i + 1 < parts.size() ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC : regular_file::flags | O_NOFOLLOW;
    const int next = ::openat(at, parts[i].c_str(), mode);
    const int why = errno;
    ::close(at);
    errno = why;
    at = next;
  }
  return at;
}

/// Opens the path made of the parts [first, end), below `folder`. Returns -1 and sets errno if a part is missing or a
/// link leads out of the folder.
int open_beneath(int folder, const std::vector<std::string>& parts, std::size_t first) {
#ifdef RESOLVE_BENEATH
  open_how options{};
  options.flags = static_cast<std::uint64_t>(regular_file::flags);
  options.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const std::string path = joined(parts, first);
  for (int tries = 0; tries < 8; ++tries) {
    const long opened = ::syscall(SYS_openat2, folder, path.c_str(), &options, sizeof options);
    if (opened >= 0) return static_cast<int>(opened);
    if (errno != EAGAIN) break;  // EAGAIN: something was renamed at the same time.
  }
  if (errno != ENOSYS && errno != EPERM) return -1;
#endif
  return open_beneath_by_parts(folder, parts, first);
}

/// If `parts` starts with the parts of `folder`, returns the index of the first part after these; otherwise 0.
std::size_t behind(const std::string& folder, const std::vector<std::string>& parts) {
  const std::vector<std::string> above = get_parts(folder);
  const bool below = above.size() < parts.size() && std::equal(above.begin(), above.end(), parts.begin());
  return below ? above.size() : 0;
}

result<local_files::opened> open_in(const std::string& folder, const std::string& recorded, std::uint64_t max_bytes) {
  auto outcome = fail(error_code::not_found, "is not there", recorded);
  const std::vector<std::string> parts = get_parts(recorded);
  const int root = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  std::vector<std::size_t> firsts;
  if (const std::size_t first = behind(folder, parts); first != 0 && recorded.starts_with('/')) firsts.push_back(first);
  for (std::size_t first = 0; first < parts.size(); ++first) firsts.push_back(first);
  for (const std::size_t first : firsts) {
    const int descriptor = root < 0 ? -1 : open_beneath(root, parts, first);
    if (descriptor < 0) continue;
    const std::string path = folder + "/" + joined(parts, first);
    auto file = regular_file::of(descriptor, path, max_bytes);
    if (file) {
      ::close(root);
      return local_files::opened{std::move(*file), path, false};
    }
    if (outcome.value().code == error_code::not_found) outcome = tl::unexpected(file.error());
  }
  if (root >= 0) ::close(root);
  return outcome;
}

}  // namespace

local_files::local_files(bool as_recorded, const std::vector<std::string>& folders) : as_recorded_(as_recorded) {
  for (const std::string& each : folders) {
    std::error_code failed;
    const fs::path real = fs::canonical(each, failed);
    if (failed) continue;
    if (real == "/") {
      as_recorded_ = true;
    } else {
      folders_.push_back(real.string());
    }
  }
}

result<local_files::opened> local_files::open(const std::string& path, std::uint64_t max_bytes) const {
  if (!any()) return fail(error_code::unavailable, std::string(untrusted_remark), path);
  auto outcome = fail(error_code::not_found, "is not there", path);
  for (const std::string& folder : folders_) {
    auto found = open_in(folder, path, max_bytes);
    if (found) return found;
    if (found.error().code != error_code::not_found) outcome = tl::unexpected(found.error());
  }
  if (!as_recorded_ || !path.starts_with('/')) return outcome;
  auto file = regular_file::open(path, max_bytes);
  if (!file) return tl::unexpected(file.error());
  return opened{std::move(*file), path, true};
}

}  // namespace sluice
