#include "instrumentation/writer/sampling/proc_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace sluice::writer {

namespace {

std::string read_file(const std::string& name, std::size_t most) {
  std::string text;
  const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char part[4096];
  for (ssize_t got = 0; text.size() < most && (got = ::read(file, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  close(file);
  return text;
}

std::string folder_name(pid_t pid) { return "/proc/" + std::to_string(pid); }

/// The number at the start of `text`, which is removed with the spaces before it. None if there is no number.
std::optional<std::uint64_t> take_number(std::string_view& text, int base) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::vector<pid_t> list_threads(pid_t pid, std::size_t most) {
  std::vector<pid_t> threads;
  DIR* const folder = opendir((folder_name(pid) + "/task").c_str());
  if (folder == nullptr) return threads;
  while (threads.size() < most) {
    const dirent* const entry = readdir(folder);
    if (entry == nullptr) break;
    const int tid = std::atoi(entry->d_name);
    if (tid > 0) threads.push_back(tid);
  }
  closedir(folder);
  return threads;
}

std::vector<pid_t> list_children(pid_t pid, const std::vector<pid_t>& threads) {
  constexpr std::size_t max_bytes = std::size_t{1} << 16;
  std::vector<pid_t> children;
  for (const pid_t tid : threads) {
    const std::string text = read_file(folder_name(pid) + "/task/" + std::to_string(tid) + "/children", max_bytes);
    std::string_view left = text;
    while (const auto child = take_number(left, 10)) children.push_back(static_cast<pid_t>(*child));
  }
  return children;
}

std::optional<pid_t> parse_own_id(std::string_view status) {
  constexpr std::string_view name = "\nNSpid:";
  const std::size_t at = status.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view line = status.substr(at + name.size());
  line = line.substr(0, line.find('\n'));
  std::optional<pid_t> last;
  while (const auto id = take_number(line, 10)) last = static_cast<pid_t>(*id);
  return last;
}

pid_t find_own_id(pid_t pid, pid_t tid) {
  constexpr std::size_t max_bytes = 8192;
  return parse_own_id(read_file(folder_name(pid) + "/task/" + std::to_string(tid) + "/status", max_bytes))
      .value_or(tid);
}

std::string read_command(pid_t pid) {
  constexpr std::size_t max_bytes = 4096;
  std::string text = read_file(folder_name(pid) + "/cmdline", max_bytes);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  if (!text.empty()) return text;
  text = read_file(folder_name(pid) + "/comm", max_bytes);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string read_thread_name(pid_t pid, pid_t tid) {
  constexpr std::size_t max_bytes = 64;
  std::string name = read_file(folder_name(pid) + "/task/" + std::to_string(tid) + "/comm", max_bytes);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

/// "running", or "-1 sp pc", or "number argument... sp pc", the first number decimal and the others hexadecimal.
std::optional<thread_wait> parse_wait(std::string_view text) {
  thread_wait wait;
  if (text.starts_with("running")) {
    wait.running = true;
    return wait;
  }
  const bool outside = text.starts_with("-1 ");
  if (outside) text.remove_prefix(3);
  if (!outside) {
    const auto number = take_number(text, 10);
    if (!number || *number > INT32_MAX) return std::nullopt;
    wait.system_call = static_cast<std::int64_t>(*number);
  }
  std::uint64_t last[2] = {};
  int count = 0;
  for (; const auto value = take_number(text, 16); ++count) last[count % 2] = *value;
  if (count < 2) return std::nullopt;
  wait.sp = last[count % 2];
  wait.ip = last[(count + 1) % 2];
  return wait;
}

char parse_state(std::string_view stat) {
  // The name before the state may contain anything, also parentheses.
  const std::size_t end = stat.rfind(')');
  return end == std::string_view::npos || stat.size() < end + 3 ? '?' : stat[end + 2];
}

std::optional<proc_file> proc_file::open(pid_t pid, pid_t tid, const char* name) {
  char path[96];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/%s", static_cast<int>(pid), static_cast<int>(tid), name);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  return proc_file(file);
}

proc_file::proc_file(proc_file&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
proc_file& proc_file::operator=(proc_file&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
proc_file::~proc_file() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::string_view proc_file::read(char (&room)[1024]) const {
  const ssize_t got = pread(descriptor_, room, sizeof room - 1, 0);
  return {room, got > 0 ? static_cast<std::size_t>(got) : 0};
}

std::optional<thread_wait> read_wait(pid_t pid, pid_t tid) {
  const auto file = proc_file::open(pid, tid, "syscall");
  if (!file) return std::nullopt;
  char room[1024];
  return parse_wait(file->read(room));
}

void copy_memory(pid_t pid, std::uint64_t address, std::size_t most, std::vector<std::byte>& to) {
  constexpr std::uint64_t page = 4096;
  constexpr std::size_t max_parts = 64;
  to.resize(most);
  // The kernel copies whole parts only, so each page is a part of its own.
  iovec parts[max_parts];
  std::size_t count = 0;
  for (std::uint64_t at = address, left = most; left > 0 && count < max_parts; ++count) {
    const std::uint64_t length = std::min(left, page - at % page);
    parts[count] = {reinterpret_cast<void*>(at), length};
    at += length;
    left -= length;
  }
  const iovec here{to.data(), to.size()};
  const ssize_t got = process_vm_readv(pid, &here, 1, parts, count, 0);
  to.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
}

}  // namespace sluice::writer
