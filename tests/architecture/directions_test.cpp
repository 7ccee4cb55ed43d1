// Which way the rooms may look, what lies at the top of the tree, and how long a file may be.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

struct source_file {
  std::string path;  ///< From the root, "core/trace/model/model.hpp".
  std::vector<std::string> includes;
  std::size_t lines = 0;
};

/// The name in `#include "name"` or `#include <name>`; empty for other lines.
std::string included(std::string_view line) {
  const auto start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos || line[start] != '#') return {};
  const auto word = line.find("include", start);
  if (word == std::string_view::npos) return {};
  const auto open = line.find_first_of("<\"", word);
  if (open == std::string_view::npos) return {};
  const auto close = line.find_first_of(">\"", open + 1);
  return close == std::string_view::npos ? std::string{} : std::string(line.substr(open + 1, close - open - 1));
}

source_file read(const fs::path& root, const fs::path& file) {
  source_file source{fs::relative(file, root).generic_string(), {}, 0};
  std::ifstream in(file);
  for (std::string line; std::getline(in, line); ++source.lines) {
    if (auto name = included(line); !name.empty()) source.includes.push_back(std::move(name));
  }
  return source;
}

const std::vector<source_file>& sources() {
  static const std::vector<source_file> all = [] {
    const std::set<std::string> endings{".cpp", ".hpp", ".c", ".h", ".cu"};
    const fs::path root = SLUICE_SOURCE_DIR;
    std::vector<source_file> found;
    for (const char* room : {"core", "instrumentation", "app", "tests"}) {
      for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
        if (entry.is_regular_file() && endings.contains(entry.path().extension().string())) {
          found.push_back(read(root, entry.path()));
        }
      }
    }
    return found;
  }();
  return all;
}

const std::vector<std::string_view> cuda_headers{"cuda", "cupti", "nvtx3/", "nvToolsExt"};
const std::vector<std::string_view> window_headers{
    "imgui", "implot", "GLFW/", "glad/", "EGL/", "GL/", "portable-file-dialogs", "portable_file_dialogs"};

bool begins_with_any(std::string_view name, const std::vector<std::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto beginning) { return name.starts_with(beginning); });
}

/// Fails for each file under `room`, the folders `except` left out, that includes a header beginning with one of `forbidden`.
void expect_no_includes(std::string_view room, const std::vector<std::string_view>& forbidden,
                        const std::vector<std::string_view>& except = {}) {
  std::size_t seen = 0;
  for (const auto& source : sources()) {
    if (!source.path.starts_with(room) || begins_with_any(source.path, except)) continue;
    ++seen;
    for (const auto& name : source.includes) {
      EXPECT_FALSE(begins_with_any(name, forbidden)) << source.path << " includes " << name;
    }
  }
  EXPECT_GT(seen, 0U) << "no source under " << room;
}

TEST(Directions, CoreKnowsNeitherItsUsersNorCudaNorTheWindow) {
  expect_no_includes("core/", {"instrumentation/", "app/", "tests/"});
  expect_no_includes("core/", cuda_headers);
  expect_no_includes("core/", window_headers);
}

TEST(Directions, InstrumentationKnowsNoApp) {
  expect_no_includes("instrumentation/", {"app/", "tests/"});
  expect_no_includes("instrumentation/", window_headers);
}

TEST(Directions, OnlyTheCudaBackendAndTheCaptureLibraryKnowCuda) {
  expect_no_includes("instrumentation/", cuda_headers, {"instrumentation/backend/cuda/", "instrumentation/capture/"});
  expect_no_includes("app/", cuda_headers);
}

TEST(Directions, OnlyTheWindowDraws) { expect_no_includes("app/", window_headers, {"app/gui/"}); }

TEST(Directions, NobodyIncludesTheCommandLine) {
  expect_no_includes("", {"app/cli/"}, {"app/cli/", "tests/app/cli/", "tests/fuzz/"});
}

TEST(Directions, IncludesNameTheirPathFromTheRoot) {
  for (const auto& source : sources()) {
    for (const auto& name : source.includes)
      EXPECT_FALSE(name.starts_with("..")) << source.path << " includes " << name;
  }
}

TEST(Tree, HoldsTheKnownFoldersOnly) {
  const std::set<std::string> known{"app",  "assets",          "build",   "cmake", "core",
                                    "docs", "instrumentation", "shaders", "tests"};
  for (const auto& entry : fs::directory_iterator(SLUICE_SOURCE_DIR)) {
    const auto name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with('.')) continue;
    EXPECT_TRUE(known.contains(name)) << "a new folder: " << name;
  }
}

TEST(Tree, FilesStayShort) {
  constexpr std::size_t most_lines = 600;
  for (const auto& source : sources()) EXPECT_LE(source.lines, most_lines) << source.path << " wants to be two files";
}

}  // namespace
}  // namespace sluice::test
