#include "tests/fuzz/import_bytes.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/import/import.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace sluice::fuzz {
namespace {

/// The path of this process's trace, which each import overwrites.
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

std::shared_ptr<trace::file> imported(std::string_view content) {
  const memory_file file(std::span(reinterpret_cast<const std::uint8_t*>(content.data()), content.size()));
  importing::options with;
  with.memory_bytes = std::size_t{256} << 20;
  if (!importing::import_file(file.path(), scratch(), with)) return nullptr;
  const auto opened = trace::file::open(scratch());
  if (!opened) std::abort();  // We must be able to read our own files.
  ::unlink(scratch().c_str());
  return *opened;
}

void import_bytes(std::string_view content) {
  const auto file = imported(content);
  if (file == nullptr) return;
  std::uint64_t rows = 0;
  const auto snapshot = file->latest();
#define SLUICE_READ(row, kind) \
  if (!snapshot->for_each<trace::row>([&](const trace::row&) { ++rows; })) std::abort();
  SLUICE_FOR_EACH_ROW(SLUICE_READ)
#undef SLUICE_READ
}

}  // namespace sluice::fuzz
