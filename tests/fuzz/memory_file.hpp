#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "tests/fuzz/target.hpp"

namespace sluice::fuzz {

/// A file in memory, with a path.
class memory_file {
 public:
  memory_file() : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {}
  explicit memory_file(std::span<const std::uint8_t> content) : memory_file() { append(content); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(descriptor_); }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  /// Writes at the end, where no one has cut the file since.
  void append(std::span<const std::uint8_t> content) {
    for (std::size_t at = 0; at < content.size();) {
      const auto written = ::write(descriptor_, content.data() + at, content.size() - at);
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
  }
  /// Cuts the file, and goes on from there.
  void cut(std::size_t size) {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) == 0) ::lseek(descriptor_, 0, SEEK_END);
  }

 private:
  int descriptor_;
};

/// All of a file; nothing if it cannot be read.
inline bytes content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace sluice::fuzz
