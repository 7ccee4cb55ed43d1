#include "core/base/files/unfinished.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

enum slot_state : int { slot_free, slot_filling, slot_listed };

/// A registered name. In static memory, so that the signal handler need not allocate.
struct slot {
  std::atomic<int> state{slot_free};
  std::atomic<pid_t> owner{0};  ///< Process id of the owner, because a child between fork and exec must not remove the
                                ///< files of its parent.
  std::array<char, PATH_MAX> path{};
};

std::array<slot, 64> slots;
static_assert(std::atomic<int>::is_always_lock_free);

#ifdef __linux__
/// Removes the contents of `folder` and closes it. Uses only async-signal-safe functions, which exclude readdir.
void empty_folder(int folder, int deepest) {
  alignas(dirent64) std::array<char, 4096> entries;
  for (bool removed = true; removed;) {
    removed = false;
    ::lseek(folder, 0, SEEK_SET);
    const long got = ::syscall(SYS_getdents64, folder, entries.data(), entries.size());
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      at += entry->d_reclen;
      const char* const name = entry->d_name;
      if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
      removed = ::unlinkat(folder, name, 0) == 0 || removed;
      const int inner = deepest > 0 ? ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
      if (inner < 0) continue;
      empty_folder(inner, deepest - 1);
      removed = ::unlinkat(folder, name, AT_REMOVEDIR) == 0 || removed;
    }
  }
  ::close(folder);
}
#endif

/// Removes the folder `path` with its contents. Renames the folder first, so that threads and child processes that are
/// still running cannot create more files in it.
void remove_folder(const char* path) {
  constexpr int deepest = 4;  // The maximum number of levels of folders in `path`. Sluice's own folders have one level.
  std::array<char, PATH_MAX + 2> renamed;
  const std::size_t length = std::strlen(path);
  std::memcpy(renamed.data(), path, length);
  std::memcpy(renamed.data() + length, "~", 2);
  if (::rename(path, renamed.data()) == 0) path = renamed.data();
  const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
#ifdef __linux__
  empty_folder(folder, deepest);
#else
  ::close(folder);
#endif
  ::rmdir(path);
}

extern "C" void remove_unfinished_and_end(int number) {
  const int errno_before = errno;
  const pid_t self = ::getpid();
  for (slot& each : slots) {
    if (each.state.load(std::memory_order_acquire) != slot_listed || each.owner != self) continue;
    if (::unlink(each.path.data()) != 0 && errno != ENOENT) remove_folder(each.path.data());
  }
  errno = errno_before;
  ::raise(number);  // SA_RESETHAND has restored the default action.
}

}  // namespace

unfinished_name::unfinished_name(const std::string& path) {
  if (path.size() >= PATH_MAX) return;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    int expected = slot_free;
    if (!slots[i].state.compare_exchange_strong(expected, slot_filling, std::memory_order_acquire)) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].owner = ::getpid();
    slots[i].state.store(slot_listed, std::memory_order_release);
    slot_ = static_cast<int>(i);
    return;
  }
}

unfinished_name::unfinished_name(unfinished_name&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

unfinished_name& unfinished_name::operator=(unfinished_name&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

unfinished_name::~unfinished_name() {
  if (slot_ >= 0) slots[static_cast<std::size_t>(slot_)].state.store(slot_free, std::memory_order_release);
}

void remove_unfinished_on_signals() {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU}) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_unfinished_and_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, number);
    ::sigaction(number, &action, nullptr);
  }
}

void outlive_file_size_limit() {
  struct sigaction action {};
  if (::sigaction(SIGXFSZ, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = [](int) {};  // Unlike SIG_IGN, a handler is reset by exec.
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGXFSZ, &action, nullptr);
}

}  // namespace sluice
