#include "instrumentation/capture/calls/shared_memory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "instrumentation/ring/handle_key.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

using ring::shared_thing;

using ring::key_of_handle;

// --- descriptors -----------------------------------------------------------------------------------------------------

/// A mark is a lock whose offset is the key and whose length shows that we set the lock. Offsets begin here.
constexpr std::uint64_t mark_base = std::uint64_t{1} << 61;
constexpr std::uint64_t mark_bytes = 7919;

/// Marks the open file behind `descriptor`. Returns 0 if the system refused.
std::uint64_t mark(int descriptor) {
  static std::atomic<std::uint64_t> last{0};
  const std::uint64_t seed =
      (static_cast<std::uint64_t>(getpid()) << 32) ^ ring::now() ^ last.fetch_add(ring::handle_key_factor);
  const std::uint64_t place = mark_base | ((seed * ring::handle_key_factor) >> 4);
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(place);
  lock.l_len = mark_bytes;
  return fcntl(descriptor, F_OFD_SETLK, &lock) == 0 ? place : 0;
}

/// The mark in `text`, from /proc/self/fdinfo; 0 if there is none. Example of a line: "lock:  1: OFDLCK  ADVISORY  READ
/// -1 00:05:8 BEGIN END".
std::uint64_t mark_in(char* text) {
  for (char* line = strstr(text, "OFDLCK"); line != nullptr; line = strstr(line + 1, "OFDLCK")) {
    char* end = strchr(line, '\n');
    if (end == nullptr) return 0;
    *end = '\0';
    char* last = strrchr(line, ' ');
    if (last != nullptr) {
      *last = '\0';
      char* first = strrchr(line, ' ');
      const std::uint64_t begin = first == nullptr ? 0 : strtoull(first + 1, nullptr, 10);
      if (begin >= mark_base && strtoull(last + 1, nullptr, 10) == begin + mark_bytes - 1) return begin;
    }
    line = end;
  }
  return 0;
}

std::uint64_t read_mark(int descriptor) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[4096];
  std::size_t length = 0;
  for (ssize_t got = 1; got > 0 && length<sizeof text - 1; length += got> 0 ? static_cast<std::size_t>(got) : 0) {
    got = read(file, text + length, sizeof text - 1 - length);
  }
  close(file);
  text[length] = '\0';
  return mark_in(text);
}

/// CU_MEM_HANDLE_TYPE_FABRIC and its size in bytes; missing in older headers.
constexpr unsigned fabric = 8;
constexpr std::size_t fabric_bytes = 64;

std::uint64_t key_of_exported(const void* out, CUmemAllocationHandleType type) {
  if (out == nullptr) return 0;
  if (static_cast<unsigned>(type) == fabric) return key_of_handle(out, fabric_bytes);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return 0;
  int descriptor = -1;
  memcpy(&descriptor, out, sizeof descriptor);
  const int error = errno;
  const std::uint64_t key = mark(descriptor);
  errno = error;
  return key;
}

std::uint64_t key_of_imported(const void* given, CUmemAllocationHandleType type) {
  if (static_cast<unsigned>(type) == fabric) return given == nullptr ? 0 : key_of_handle(given, fabric_bytes);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return 0;
  const int error = errno;
  const std::uint64_t key = read_mark(static_cast<int>(reinterpret_cast<std::intptr_t>(given)));
  errno = error;
  return key;
}

// --- records ---------------------------------------------------------------------------------------------------------

struct shared {
  shared_thing kind;
  bool imported;
  std::uint64_t object;
  std::uint64_t key;
  std::uint64_t pool = 0;
};

void say(const call& c, const shared& s) {
  if (s.object == 0) return;
  ring::share_record out{};
  out.header.time = c.now;
  out.key = s.key;
  out.object = s.object;
  out.pool = s.pool;
  out.kind = static_cast<std::uint32_t>(s.kind);
  out.imported = s.imported ? 1 : 0;
  ring::emit(out);
}

}  // namespace

void exported_block(const call& c, CUdeviceptr address, const CUipcMemHandle* handle) noexcept {
  if (c.ok() && handle != nullptr) say(c, {shared_thing::block, false, address, key_of_handle(handle, sizeof *handle)});
}
void imported_block(const call& c, CUdeviceptr address, const CUipcMemHandle& handle) noexcept {
  if (c.ok()) say(c, {shared_thing::block, true, address, key_of_handle(&handle, sizeof handle)});
}

void exported_physical(const call& c, std::uint64_t handle, const void* out, CUmemAllocationHandleType type) noexcept {
  if (c.ok()) say(c, {shared_thing::physical, false, handle, key_of_exported(out, type)});
}
void imported_physical(const call& c, std::uint64_t handle, const void* given,
                       CUmemAllocationHandleType type) noexcept {
  if (c.ok()) say(c, {shared_thing::physical, true, handle, key_of_imported(given, type)});
}

void exported_pool(const call& c, std::uint64_t pool, const void* out, CUmemAllocationHandleType type) noexcept {
  if (c.ok()) say(c, {shared_thing::pool, false, pool, key_of_exported(out, type)});
}
void imported_pool(const call& c, std::uint64_t pool, const void* given, CUmemAllocationHandleType type) noexcept {
  if (c.ok()) say(c, {shared_thing::pool, true, pool, key_of_imported(given, type)});
}
void exported_from_pool(const call& c, CUdeviceptr address, const CUmemPoolPtrExportData* data) noexcept {
  if (c.ok() && data != nullptr) say(c, {shared_thing::pool_block, false, address, key_of_handle(data, sizeof *data)});
}
void imported_from_pool(const call& c, CUdeviceptr address, std::uint64_t pool,
                        const CUmemPoolPtrExportData* data) noexcept {
  if (c.ok() && data != nullptr)
    say(c, {shared_thing::pool_block, true, address, key_of_handle(data, sizeof *data), pool});
}

}  // namespace sluice::capture
