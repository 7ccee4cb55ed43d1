#include "app/browser/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "app/browser/page_functions.hpp"

namespace sluice::browser {
namespace {

struct source {
  std::string path;
  std::string url;
  std::uint64_t bytes = 0;
};

/// Grows only: a reader needs no lock once it has its source.
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

/// Files are fetched in blocks of this size, of which some are kept: a request costs a millisecond, and the reader asks
/// for some kilobytes at a time.
constexpr std::uint64_t block_bytes = 512 << 10;
constexpr std::size_t most_blocks = 64;

struct block {
  const source* of = nullptr;
  std::uint64_t number = 0;
  std::shared_ptr<const std::vector<char>> bytes;  ///< Fewer than `block_bytes` at the end of the file.
};
std::mutex blocks_mutex;
std::deque<block> blocks;  ///< The last used is the last.

std::shared_ptr<const std::vector<char>> kept_block(const source& of, std::uint64_t number) {
  const std::scoped_lock lock(blocks_mutex);
  const auto found = std::find_if(blocks.begin(), blocks.end(),
                                  [&](const block& each) { return each.of == &of && each.number == number; });
  if (found == blocks.end()) return nullptr;
  std::rotate(found, found + 1, blocks.end());
  return blocks.back().bytes;
}

/// Null if it cannot be fetched. Two threads that want the same block may both fetch it.
std::shared_ptr<const std::vector<char>> block_of(const source& of, std::uint64_t number) {
  if (auto kept = kept_block(of, number)) return kept;
  auto bytes = std::make_shared<std::vector<char>>(block_bytes);
  const int got = sluice_read_slice(of.url.c_str(), static_cast<double>(number * block_bytes), bytes->data(),
                                    static_cast<int>(block_bytes));
  if (got < 0) return nullptr;
  bytes->resize(static_cast<std::size_t>(got));
  const std::scoped_lock lock(blocks_mutex);
  blocks.push_back({&of, number, bytes});
  if (blocks.size() > most_blocks) blocks.pop_front();
  return bytes;
}

/// Returns the number of bytes, or -1.
ssize_t read_at(const source& of, char* to, std::size_t bytes, std::uint64_t offset) {
  if (offset >= of.bytes) return 0;
  bytes = std::min<std::uint64_t>(bytes, of.bytes - offset);
  std::size_t done = 0;
  while (done < bytes) {
    const std::uint64_t at = offset + done;
    const auto from = block_of(of, at / block_bytes);
    if (!from) return -1;
    const std::uint64_t skipped = at % block_bytes;
    if (skipped >= from->size()) break;
    const std::size_t count = std::min<std::size_t>(bytes - done, from->size() - skipped);
    std::memcpy(to + done, from->data() + skipped, count);
    done += count;
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

std::string add_file(const char* folder, const std::string& name, const std::string& url, std::uint64_t bytes) {
  std::string wanted = name.substr(name.find_last_of('/') + 1);
  if (wanted.empty()) wanted = "recording";
  {
    const std::scoped_lock lock(mutex);
    for (const source& each : sources())
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
  sources().push_back({path, url, bytes});
  return path;
}

void give_saved() { sluice_give_files(saved_folder); }

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
  const ssize_t got = sluice::browser::read_at(*of, static_cast<char*>(to), bytes, static_cast<std::uint64_t>(offset));
  if (got >= 0) return got;
  errno = EIO;
  return -1;
}
}
