#include "app/browser/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <deque>
#include <mutex>

#include "app/browser/page_functions.hpp"

namespace sluice::browser {
namespace {

struct source {
  std::string path;
  std::string url;
};

/// Grows only, so that a reader needs no lock once it has its source.
std::mutex mutex;
std::deque<source>& sources() {
  static std::deque<source> all;
  return all;
}

constexpr std::size_t most_descriptors = 4096;
/// By descriptor: the file that is read in slices, or null for a file in memory.
std::array<std::atomic<const source*>, most_descriptors> opened;

const source* find(const char* path) {
  const std::scoped_lock lock(mutex);
  for (const source& each : sources())
    if (each.path == path) return &each;
  return nullptr;
}

constexpr const char* folder = "/recordings";

}  // namespace

std::string add_file(const std::string& name, const std::string& url, std::uint64_t bytes) {
  std::string wanted = name.substr(name.find_last_of('/') + 1);
  if (wanted.empty()) wanted = "recording";
  std::string path;
  for (int number = 1;; ++number) {
    const std::size_t dot = std::min(wanted.find_last_of('.'), wanted.size());
    const std::string taken = number == 1 ? "" : "-" + std::to_string(number);
    const std::string file = wanted.substr(0, dot) + taken + wanted.substr(dot);
    path = std::string(folder) + "/" + file;
    if (find(path.c_str()) != nullptr) continue;
    sluice_make_node(folder, file.c_str(), static_cast<double>(bytes));
    break;
  }
  const std::scoped_lock lock(mutex);
  sources().push_back({path, url});
  return path;
}

}  // namespace sluice::browser

// The linker gives all calls of `open`, `close` and `pread` to these.
extern "C" {
int __real_open(const char* path, int flags, ...);
int __real_close(int descriptor);
ssize_t __real_pread(int descriptor, void* to, size_t bytes, off_t offset);

int __wrap_open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  const int descriptor = __real_open(path, flags, mode);
  using namespace sluice::browser;
  if (descriptor >= 0 && static_cast<std::size_t>(descriptor) < most_descriptors)
    opened[static_cast<std::size_t>(descriptor)].store(find(path), std::memory_order_release);
  return descriptor;
}

int __wrap_close(int descriptor) {
  using namespace sluice::browser;
  if (descriptor >= 0 && static_cast<std::size_t>(descriptor) < most_descriptors)
    opened[static_cast<std::size_t>(descriptor)].store(nullptr, std::memory_order_release);
  return __real_close(descriptor);
}

ssize_t __wrap_pread(int descriptor, void* to, size_t bytes, off_t offset) {
  using namespace sluice::browser;
  const source* of = descriptor >= 0 && static_cast<std::size_t>(descriptor) < most_descriptors
                         ? opened[static_cast<std::size_t>(descriptor)].load(std::memory_order_acquire)
                         : nullptr;
  if (of == nullptr) return __real_pread(descriptor, to, bytes, offset);
  const int got = sluice_read_slice(of->url.c_str(), static_cast<double>(offset), to, static_cast<int>(bytes));
  if (got >= 0) return got;
  errno = EIO;
  return -1;
}
}
