#include "app/cli/output_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/trace/layout.hpp"
#include "instrumentation/collector/process_identity.hpp"

namespace sluice::cli {

namespace {

namespace fs = std::filesystem;

bool is_recording(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::uint64_t magic = 0;
  char bytes[sizeof magic];
  if (!in.read(bytes, sizeof bytes)) return false;
  std::memcpy(&magic, bytes, sizeof magic);
  return magic == trace::file_magic;
}

/// A new file can be made in the folder of `path`.
result<void> check_folder(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return fail(error_code::io, "no file can be made there: " + describe_errno(errno), path.string(),
              "name a file in a folder that can be written to with -o");
}

/// Whether a regular file is in the way; an error if something else is.
result<bool> is_taken(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return false;
  if (fs::is_regular_file(status)) return true;
  return fail(error_code::invalid_argument, "is no regular file", path, "name the file to write with -o");
}

}  // namespace

std::string free_name(std::string stem) {
  if (stem.empty()) stem = "recording";
  std::string name = stem + ".sluice";
  std::error_code ignored;
  for (int number = 2; fs::exists(name, ignored); ++number) name = stem + "-" + std::to_string(number) + ".sluice";
  return name;
}

result<std::string> name_of_set(const std::string& pattern) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      name += pattern[i];
      continue;
    }
    const char what = ++i < pattern.size() ? pattern[i] : '\0';
    if (what == 'r') {
      const std::int64_t rank = collector::rank_from_environment();
      if (rank < 0) {
        return fail(error_code::invalid_argument, "%r is a rank, and no launcher put one in the environment", pattern,
                    "start sluice by torchrun, mpirun or srun, or leave %r out");
      }
      name += std::to_string(rank);
    } else if (what == 'h') {
      char host[256] = {};
      gethostname(host, sizeof host - 1);
      name += host;
    } else if (what == '%') {
      name += '%';
    } else {
      return fail(error_code::invalid_argument, "a percent sign stands for nothing here", pattern,
                  "write %r for the rank, %h for the host's name, %% for a percent sign");
    }
  }
  return name;
}

result<void> check_output(const std::string& path, bool force) {
  const auto taken = is_taken(path);
  if (!taken) return tl::unexpected(taken.error());
  std::error_code error;
  const bool empty = *taken && fs::file_size(path, error) == 0;  // An empty file is no loss.
  if (!*taken) return check_folder(path);
  if (force || empty || is_recording(path)) return {};
  return fail(error_code::invalid_argument, "exists and is no recording", path,
              "choose another name, or replace it with --force");
}

result<void> check_picture(const std::string& path) {
  const auto taken = is_taken(path);
  if (!taken) return tl::unexpected(taken.error());
  if (!*taken) return check_folder(path);
  if (!is_recording(path)) return {};
  return fail(error_code::invalid_argument, "is a recording, which a picture would replace", path,
              "name the picture with -o, such as picture.png");
}

}  // namespace sluice::cli
