#include "app/cli/output/output_file.hpp"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <filesystem>

#include "core/base/files/regular_file.hpp"
#include "core/trace/file/byte_source.hpp"
#include "core/trace/file/writer.hpp"
#include "instrumentation/ring/process_identity.hpp"

namespace sluice::cli {

namespace {

namespace fs = std::filesystem;

/// Checks that a new file can be created in the folder of `path`.
result<void> check_folder(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return fail(error_code::io, "cannot create a file there: " + describe_errno(errno), path.string(),
              "use -o to name a file in a writable folder");
}

}  // namespace

CLI::Validator output_name() {
  return {[](std::string& name) {
            return name.empty() ? std::string("the name is empty; expected a file to write") : std::string();
          },
          ""};
}

std::string free_name(std::string stem) {
  if (stem.empty()) stem = "recording";
  std::string name = stem + ".sluice";
  std::error_code ignored;
  // A dangling link also occupies a name.
  const auto is_taken = [&] { return fs::exists(fs::symlink_status(name, ignored)); };
  for (int number = 2; is_taken(); ++number) name = stem + "-" + std::to_string(number) + ".sluice";
  return name;
}

result<std::string> name_of_set(const std::string& pattern) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      name += pattern[i];
      continue;
    }
    const char subject = ++i < pattern.size() ? pattern[i] : '\0';
    if (subject == 'r') {
      const std::int64_t rank = ring::rank_from_environment();
      if (rank < 0) {
        return fail(error_code::invalid_argument, "%r stands for the rank, but no launcher has set a rank", pattern,
                    "start sluice with torchrun, mpirun or srun, or remove %r");
      }
      name += std::to_string(rank);
    } else if (subject == 'h') {
      char host[256] = {};
      gethostname(host, sizeof host - 1);
      name += host;
    } else if (subject == '%') {
      name += '%';
    } else {
      return fail(error_code::invalid_argument, "unknown placeholder after a percent sign", pattern,
                  "use %r for the rank, %h for the host name, %% for a percent sign");
    }
  }
  return name;
}

result<void> check_output(const std::string& path, const output_kind& kind, bool force,
                          std::span<const std::string> inputs) {
  if (path.empty())
    return fail(error_code::invalid_argument, "the output's name is empty", "-o", "name the file to write");
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (!fs::exists(status)) {
    if (!fs::is_symlink(fs::symlink_status(path, problem))) return check_folder(path);
    return fail(error_code::invalid_argument, "is a link to a file that does not exist", path,
                "remove the link, or choose another name");
  }
  if (!fs::is_regular_file(status))
    return fail(error_code::invalid_argument, "is not a regular file", path, "name the file to write with -o");
  for (const std::string& input : inputs) {
    if (fs::equivalent(path, input, problem))
      return fail(error_code::invalid_argument, "is also the input", path, "choose another name");
  }
  if (trace::holds_nothing(path)) return {};
  if (const auto there = regular_file::open(path); there && trace::has_writer(there->descriptor()))
    return fail(error_code::invalid_argument, "another recording is being written to it", path, "choose another name");
  if (kind.matches == nullptr || !kind.matches(path))
    return fail(error_code::invalid_argument, "exists and is not " + kind.name, path,
                "remove it, or choose another name");
  if (force) return {};
  return fail(error_code::invalid_argument, "exists", path, "overwrite it with --force, or choose another name");
}

}  // namespace sluice::cli
