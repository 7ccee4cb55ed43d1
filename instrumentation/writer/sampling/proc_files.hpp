#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What /proc says about threads of other processes. Nothing here stops a thread or a process.
namespace sluice::writer {

/// The threads of a process, in no order. Empty if it has ended.
[[nodiscard]] std::vector<pid_t> list_threads(pid_t pid, std::size_t most);

/// The processes that were started by threads of `pid`, still run, and whose parent it still is.
[[nodiscard]] std::vector<pid_t> list_children(pid_t pid, const std::vector<pid_t>& threads);

/// The id of a thread as its own process sees it: the last number of NSpid. `tid` itself if that is unknown.
[[nodiscard]] pid_t find_own_id(pid_t pid, pid_t tid);
/// The last number in the line NSpid of the text of /proc/PID/status; none if there is no such line.
[[nodiscard]] std::optional<pid_t> parse_own_id(std::string_view status);

/// The command line of a process, with spaces between its words; its name if it has none.
[[nodiscard]] std::string read_command(pid_t pid);

/// The system's name of a thread; empty if it has ended.
[[nodiscard]] std::string read_thread_name(pid_t pid, pid_t tid);

/// What a thread that does not run is doing (/proc/PID/task/TID/syscall).
struct thread_wait {
  bool running = false;           ///< It runs, or could run: nothing else is known.
  std::int64_t system_call = -1;  ///< -1: it waits outside a system call, such as for a page.
  std::uint64_t sp = 0, ip = 0;   ///< Its stack and instruction pointer in user space; 0: unknown.

  bool operator==(const thread_wait&) const = default;
};
/// Reads the text of /proc/PID/task/TID/syscall. None if it is not of that form.
[[nodiscard]] std::optional<thread_wait> parse_wait(std::string_view text);

/// The state of a thread in the text of /proc/PID/task/TID/stat, such as 'R'; '?' if it is not of that form.
[[nodiscard]] char parse_state(std::string_view stat);

/// A file of /proc that is read again and again. Movable.
class proc_file {
 public:
  /// `name`: such as "stat", below /proc/PID/task/TID.
  [[nodiscard]] static std::optional<proc_file> open(pid_t pid, pid_t tid, const char* name);
  proc_file(proc_file&& other) noexcept;
  proc_file& operator=(proc_file&& other) noexcept;
  ~proc_file();

  /// The present content, at most 1023 bytes, in `room`. Empty if it cannot be read: the thread has ended.
  [[nodiscard]] std::string_view read(char (&room)[1024]) const;

 private:
  explicit proc_file(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// Reads /proc/PID/task/TID/syscall once. None if that is not allowed, or the thread has ended.
[[nodiscard]] std::optional<thread_wait> read_wait(pid_t pid, pid_t tid);

/// Copies at most `most` bytes of the memory of `pid` from `address` on, up to the first page that cannot be read.
void copy_memory(pid_t pid, std::uint64_t address, std::size_t most, std::vector<std::byte>& to);

}  // namespace sluice::writer
