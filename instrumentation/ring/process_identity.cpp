#include "instrumentation/ring/process_identity.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace sluice::ring {
namespace {

/// Reads up to `size` bytes of a small /proc file. Returns 0 if it cannot be read.
std::size_t read_file(const char* path, char* buffer, std::size_t size) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got = read(file, buffer + filled, size - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  close(file);
  return filled;
}

std::uint64_t parse_number(const char* text) noexcept {
  std::uint64_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + static_cast<std::uint64_t>(*text - '0');
  return value;
}

std::uint64_t start_time_of_this_process() noexcept {
  char stat[1024];
  const std::size_t length = read_file("/proc/self/stat", stat, sizeof stat - 1);
  stat[length] = '\0';
  // The second field (the name in parentheses) may contain any characters; the last ')' ends it.
  const char* field = strrchr(stat, ')');
  if (field == nullptr) return 0;
  for (int number = 2; number < 22 && *field != '\0'; ++number) {
    ++field;
    while (*field != ' ' && *field != '\0') ++field;
  }
  return *field == ' ' ? parse_number(field + 1) : 0;
}

}  // namespace

std::uint64_t image_of_this_process() noexcept {
  const auto* random = reinterpret_cast<const char*>(getauxval(AT_RANDOM));
  if (random == nullptr) return 0;
  std::uint64_t halves[2];
  memcpy(halves, random, sizeof halves);
  // Hashed, because these bytes also seed stack protectors and must not leave the process.
  return (halves[0] ^ halves[1] * 0x9e37'79b9'7f4a'7c15u) * 0xd6e8'feb8'6659'fd93u;
}

std::int64_t rank_from_environment() noexcept {
  for (const char* variable : {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"}) {
    const char* text = getenv(variable);
    if (text != nullptr && *text >= '0' && *text <= '9')
      return static_cast<std::int64_t>(parse_number(text) & 0xffff'ffff);
  }
  return -1;
}

void fill_identity(ring_identity& identity, std::int64_t rank) noexcept {
  identity.pid = static_cast<std::uint32_t>(getpid());
  identity.parent_pid = static_cast<std::uint32_t>(getppid());
  identity.rank = rank;
  identity.start_time = start_time_of_this_process();
  identity.image = image_of_this_process();

  std::size_t length = read_file("/proc/self/cmdline", identity.command, sizeof identity.command);
  while (length > 0 && identity.command[length - 1] == '\0') --length;
  for (std::size_t i = 0; i < length; ++i) {
    if (identity.command[i] == '\0') identity.command[i] = ' ';
  }
  identity.command_bytes = static_cast<std::uint32_t>(length);

  length = read_file("/proc/sys/kernel/random/boot_id", identity.boot_id, sizeof identity.boot_id - 1);
  if (length > 0 && identity.boot_id[length - 1] == '\n') identity.boot_id[length - 1] = '\0';
  utsname system{};
  if (uname(&system) == 0) {
    const std::size_t name = strnlen(system.nodename, sizeof identity.host - 1);
    memcpy(identity.host, system.nodename, name);
  }
}

}  // namespace sluice::ring
