#include "core/free_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

/// A file with a number alone; none if there is no such file, or another word in it, as "max" is.
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream in(path);
  std::uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

std::optional<std::uint64_t> available_in(const std::string& meminfo) {
  std::ifstream in(meminfo);
  for (std::string line; std::getline(in, line);) {
    constexpr std::string_view key = "MemAvailable:";
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t free_memory_bytes(const std::string& root) {
  std::uint64_t bytes = available_in(root + "/proc/meminfo").value_or(UINT64_MAX);
  // In a container its own group is the root: version 2 of control groups, then version 1.
  for (const auto& [limit, used] :
       {std::pair("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        std::pair("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes")}) {
    const auto most = number_in(root + limit);
    const auto taken = number_in(root + used);
    if (most && taken) bytes = std::min(bytes, *most > *taken ? *most - *taken : 0);
  }
  return bytes;
}

std::uint64_t free_memory_bytes() { return free_memory_bytes(""); }

}  // namespace sluice
