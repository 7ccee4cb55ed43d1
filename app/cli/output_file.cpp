#include "app/cli/output_file.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/trace/layout.hpp"

namespace sluice::cli {

namespace {

namespace fs = std::filesystem;

bool is_trace(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::uint64_t magic = 0;
  char bytes[sizeof magic];
  if (!in.read(bytes, sizeof bytes)) return in.gcount() == 0;  // An empty file is no loss.
  std::memcpy(&magic, bytes, sizeof magic);
  return magic == trace::file_magic;
}

}  // namespace

std::string free_name(std::string stem) {
  if (stem.empty()) stem = "recording";
  std::string name = stem + ".sluice";
  std::error_code ignored;
  for (int number = 2; fs::exists(name, ignored); ++number) name = stem + "-" + std::to_string(number) + ".sluice";
  return name;
}

result<void> check_output(const std::string& path, bool force) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return {};
  if (!fs::is_regular_file(status)) {
    return fail(error_code::invalid_argument, "is no regular file", path, "name the file to write with -o");
  }
  if (force || is_trace(path)) return {};
  return fail(error_code::invalid_argument, "exists and is no recording", path,
              "choose another name, or replace it with --force");
}

}  // namespace sluice::cli
