#include "tests/fuzz/import_bytes.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/import/import.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::fuzz {
namespace {

/// Where the trace of this process goes, each time anew.
const std::string& scratch() {
  static const std::string path = [] {
    const std::filesystem::path memory = "/dev/shm";
    std::error_code none;
    const auto folder = std::filesystem::is_directory(memory, none) ? memory : std::filesystem::temp_directory_path();
    return (folder / ("sluice-fuzz-" + std::to_string(::getpid()) + ".sluice")).string();
  }();
  return path;
}

}  // namespace

void import_bytes(std::string_view content) {
  const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  if (::write(descriptor, content.data(), content.size()) == static_cast<ssize_t>(content.size())) {
    importing::options with;
    with.memory_bytes = std::size_t{256} << 20;
    if (importing::import_file("/proc/self/fd/" + std::to_string(descriptor), scratch(), with)) {
      const auto opened = trace::file::open(scratch());
      if (!opened) std::abort();  // What we write we can read.
      std::uint64_t rows = 0;
      const auto snapshot = (*opened)->latest();
#define SLUICE_READ(row, kind) \
  if (!snapshot->for_each<trace::row>([&](const trace::row&) { ++rows; })) std::abort();
      SLUICE_FOR_EACH_ROW(SLUICE_READ)
#undef SLUICE_READ
    }
    ::unlink(scratch().c_str());
  }
  ::close(descriptor);
}

}  // namespace sluice::fuzz
