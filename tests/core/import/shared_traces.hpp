#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

/// Recordings of real programs, which are not part of the source tree: in a folder "shared/traces" beside it, or where
/// SLUICE_SHARED_TRACES says. "shared/cases" has small files, each with one thing in it that is often read wrong.
namespace sluice::testing {

/// The path of one; none where it is not there.
inline std::optional<std::string> shared_trace(const std::string& name) {
  namespace fs = std::filesystem;
  const char* const told = std::getenv("SLUICE_SHARED_TRACES");
  const fs::path tree = SLUICE_SOURCE_DIR;
  for (const fs::path& folder : {fs::path(told == nullptr ? "" : told), tree.parent_path() / "shared/traces",
                                 tree.parent_path().parent_path() / "shared/traces"}) {
    std::error_code ignored;
    if (!folder.empty() && fs::is_regular_file(folder / name, ignored)) return (folder / name).string();
  }
  return std::nullopt;
}

/// The path of a case; none where it is not there.
inline std::optional<std::string> shared_case(const std::string& name) { return shared_trace("../cases/" + name); }

/// What a script of this folder prints about a file.
inline std::string printed_by(const std::string& script, const std::string& file) {
  const std::string command =
      "python3 '" + std::string(SLUICE_SOURCE_DIR) + "/tests/core/import/" + script + "' '" + file + "'";
  std::string text;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> piece{};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), got);
  return pclose(pipe) == 0 ? text : "the script failed";
}

}  // namespace sluice::testing
