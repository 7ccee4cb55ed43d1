#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "tests/programs.hpp"

/// Recordings of real programs are not part of the source tree: they are in the folder "shared/traces" beside it, or in
/// the folder that SLUICE_SHARED_TRACES names. "shared/cases" has small files, each with one detail that importers
/// often misread.
namespace sluice::testing {

/// The path of a trace; nothing if the file is missing.
inline std::optional<std::string> shared_trace(const std::string& name) {
  namespace fs = std::filesystem;
  const char* const reported = std::getenv("SLUICE_SHARED_TRACES");
  const fs::path tree = SLUICE_SOURCE_DIR;
  for (const fs::path& folder : {fs::path(reported == nullptr ? "" : reported), tree.parent_path() / "shared/traces",
                                 tree.parent_path().parent_path() / "shared/traces"}) {
    std::error_code ignored;
    if (!folder.empty() && fs::is_regular_file(folder / name, ignored)) return (folder / name).string();
  }
  return std::nullopt;
}

/// The path of a case; nothing if the file is missing.
inline std::optional<std::string> shared_case(const std::string& name) { return shared_trace("../cases/" + name); }

/// Runs a script of this folder on `file` and returns its output.
inline std::string printed_by(const std::string& script, const std::string& file) {
  const program_result done =
      run_program({.words = {"python3", SLUICE_SOURCE_DIR "/tests/core/import/" + script, file}});
  return done.status == 0 ? done.out : "the script failed";
}

}  // namespace sluice::testing
