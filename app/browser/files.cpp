#include "app/browser/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <deque>
#include <memory>
#include <mutex>

#include "app/browser/page_functions.hpp"
#include "app/browser/page_source.hpp"

namespace sluice::browser {
namespace {

struct page_file {
  std::string path;
  std::string url;
  std::shared_ptr<trace::byte_source> source;
};

/// The files are never removed, so a reader that has found its file needs no lock.
std::mutex mutex;
std::deque<page_file>& files() {
  static std::deque<page_file> items;
  return items;
}

constexpr std::size_t max_descriptors = 4096;
/// Indexed by descriptor: a file that is read in slices, or null for a file in memory.
std::array<std::atomic<const page_file*>, max_descriptors> opened;

const page_file* find(const char* path) {
  const std::scoped_lock lock(mutex);
  for (const page_file& each : files())
    if (each.path == path) return &each;
  return nullptr;
}

}  // namespace

std::string add_file(const char* folder, const std::string& name, const std::string& url, const std::string& version,
                     std::uint64_t bytes) {
  std::string wanted = name.substr(name.find_last_of('/') + 1);
  if (wanted.empty()) wanted = "recording";
  {
    const std::scoped_lock lock(mutex);
    for (const page_file& each : files())
      if (each.url == url) return each.path;
  }
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
  files().push_back({path, url, source_at(path, url, version, bytes)});
  return path;
}

std::shared_ptr<trace::byte_source> get_source(const std::string& path) {
  const page_file* const found = find(path.c_str());
  return found == nullptr ? nullptr : found->source;
}

void give_saved() { sluice_give_files(saved_folder); }

}  // namespace sluice::browser

// The linker redirects all calls of `open`, `close` and `pread` to the following functions.
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
  if (descriptor >= 0 && static_cast<std::size_t>(descriptor) < max_descriptors)
    opened[static_cast<std::size_t>(descriptor)].store(find(path), std::memory_order_release);
  return descriptor;
}

int __wrap_close(int descriptor) {
  using namespace sluice::browser;
  if (descriptor >= 0 && static_cast<std::size_t>(descriptor) < max_descriptors)
    opened[static_cast<std::size_t>(descriptor)].store(nullptr, std::memory_order_release);
  return __real_close(descriptor);
}

ssize_t __wrap_pread(int descriptor, void* to, size_t bytes, off_t offset) {
  using namespace sluice::browser;
  const page_file* file = descriptor >= 0 && static_cast<std::size_t>(descriptor) < max_descriptors
                              ? opened[static_cast<std::size_t>(descriptor)].load(std::memory_order_acquire)
                              : nullptr;
  if (file == nullptr) return __real_pread(descriptor, to, bytes, offset);
  const auto got = file->source->read_at(static_cast<std::uint64_t>(offset), {static_cast<std::byte*>(to), bytes});
  if (got) return static_cast<ssize_t>(*got);
  errno = EIO;
  return -1;
}
}
