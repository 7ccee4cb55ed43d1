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

  /// Appends `content` to the file.
  void append(std::span<const std::uint8_t> content) {
    for (std::size_t at = 0; at < content.size();) {
      const auto written = ::write(descriptor_, content.data() + at, content.size() - at);
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
  }
  /// Truncates the file to `size`; later writes continue there.
  void cut(std::size_t size) {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) == 0) ::lseek(descriptor_, 0, SEEK_END);
  }

 private:
  int descriptor_;
};

/// The whole content of a file; empty if it cannot be read.
inline bytes make_content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace sluice::fuzz
