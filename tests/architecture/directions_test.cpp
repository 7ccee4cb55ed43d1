// Checks which components may include which, the namespace of each, the top-level folders, and the length of files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

struct source_file {
  std::string path;  ///< Relative to the root, such as "core/trace/model/model.hpp".
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
  static const std::vector<source_file> files = [] {
    const std::set<std::string> endings{".cpp", ".hpp", ".c", ".h", ".cu"};
    const fs::path root = SLUICE_SOURCE_DIR;
    std::vector<source_file> found;
    for (const char* folder : {"core", "instrumentation", "app", "tests"}) {
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        if (entry.is_regular_file() && endings.contains(entry.path().extension().string())) {
          found.push_back(read(root, entry.path()));
        }
      }
    }
    return found;
  }();
  return files;
}

const std::vector<std::string_view> cuda_headers{"cuda", "cupti", "nvtx3/", "nvToolsExt"};
const std::vector<std::string_view> window_headers{
    "imgui", "GLFW/", "glad/", "EGL/", "GL/", "portable-file-dialogs", "portable_file_dialogs"};

bool begins_with_any(std::string_view name, const std::vector<std::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto beginning) { return name.starts_with(beginning); });
}

/// A component, and the components that its files may include: itself, and the lower ones that it needs. The README
/// shows the same table.
struct component {
  std::string_view folder;
  std::vector<std::string_view> may_include;
};
const std::vector<component>& components() {
  static const std::vector<component> items{
      // core, from the lowest to the highest.
      {"core/base/", {}},
      {"core/trace/model/", {"core/base/"}},
      {"core/trace/columns/", {"core/base/", "core/trace/model/"}},
      {"core/trace/file/", {"core/base/", "core/trace/"}},
      {"core/timeline/", {"core/base/", "core/trace/"}},
      {"core/symbols/", {"core/base/", "core/trace/"}},
      {"core/index/", {"core/base/", "core/trace/", "core/timeline/"}},
      {"core/replay/", {"core/base/", "core/trace/", "core/timeline/", "core/index/"}},
      {"core/metrics/",
       {"core/base/", "core/trace/", "core/timeline/", "core/symbols/", "core/index/", "core/replay/"}},
      {"core/summary/", {"core/base/", "core/trace/", "core/timeline/", "core/index/", "core/metrics/"}},
      {"core/query/sql/",
       {"core/base/", "core/trace/", "core/timeline/", "core/symbols/", "core/index/", "core/metrics/",
        "core/summary/"}},
      {"core/query/",
       {"core/base/", "core/trace/", "core/timeline/", "core/symbols/", "core/index/", "core/metrics/", "core/summary/",
        "core/replay/"}},
      {"core/remote/", {"core/base/", "core/trace/", "core/symbols/", "core/index/", "core/metrics/", "core/query/"}},
      {"core/import/", {"core/base/", "core/trace/", "core/summary/"}},
      {"core/export/",
       {"core/base/", "core/trace/", "core/timeline/", "core/symbols/", "core/index/", "core/metrics/", "core/summary/",
        "core/query/", "core/import/torch/categories.hpp"}},
      {"core/generate/", {"core/base/", "core/trace/", "core/summary/"}},
      // The recorded process and the writer.
      {"instrumentation/ring/", {"core/trace/model/kinds.hpp"}},
      {"instrumentation/unwind/", {}},
      {"instrumentation/capture/",
       {"core/base/", "core/trace/model/", "instrumentation/ring/", "instrumentation/unwind/"}},
      {"instrumentation/writer/",
       {"core/base/", "core/trace/", "core/summary/", "instrumentation/ring/", "instrumentation/unwind/"}},
      {"instrumentation/backend/", {"core/trace/model/", "instrumentation/ring/", "instrumentation/capture/"}},
      {"instrumentation/runtime/",
       {"core/base/", "core/trace/model/", "instrumentation/ring/", "instrumentation/writer/",
        "instrumentation/backend/"}},
      // The program. It may use all of core and the runtime.
      {"app/demos/", {"core/", "instrumentation/"}},
      {"app/processes/", {"core/"}},
      {"app/recordings/", {"core/"}},
      {"app/gui/", {"core/", "app/processes/", "app/recordings/"}},
      {"app/browser/", {"core/", "app/gui/"}},
      {"app/cli/", {"core/", "instrumentation/", "app/gui/", "app/processes/", "app/recordings/", "app/demos/"}},
  };
  return items;
}

/// Fails for each file under `folder`, except in the folders `except`, that includes a header beginning with one of
/// `forbidden`.
void expect_no_includes(std::string_view folder, const std::vector<std::string_view>& forbidden,
                        const std::vector<std::string_view>& except = {}) {
  std::size_t seen = 0;
  for (const auto& source : sources()) {
    if (!source.path.starts_with(folder) || begins_with_any(source.path, except)) continue;
    ++seen;
    for (const auto& name : source.includes) {
      EXPECT_FALSE(begins_with_any(name, forbidden)) << source.path << " includes " << name;
    }
  }
  EXPECT_GT(seen, 0U) << "no source files under " << folder;
}

/// The component of a file: the first match in the table, so a component inside another one comes before it.
const component* find_component(std::string_view path) {
  const auto found = std::find_if(components().begin(), components().end(),
                                  [&](const component& each) { return path.starts_with(each.folder); });
  return found == components().end() ? nullptr : &*found;
}

TEST(directions, each_component_includes_only_those_below_it) {
  for (const auto& source : sources()) {
    if (source.path.starts_with("tests/")) continue;
    const component* const in = find_component(source.path);
    ASSERT_NE(in, nullptr) << source.path << " does not belong to a component in the table";
    for (const auto& name : source.includes) {
      if (!begins_with_any(name, {"core/", "instrumentation/", "app/"})) continue;
      EXPECT_TRUE(name.starts_with(in->folder) || begins_with_any(name, in->may_include))
          << source.path << " includes " << name << ", which " << in->folder << " may not";
    }
  }
}

/// The folder of a path: all before the last slash.
std::string folder_of(std::string_view path) { return std::string(path.substr(0, path.rfind('/'))); }

// If two folders include each other, neither can be read, tested or moved alone.
TEST(directions, no_two_folders_include_each_other) {
  std::map<std::pair<std::string, std::string>, std::string> examples;  // An include, for each pair of folders.
  for (const auto& source : sources()) {
    if (source.path.starts_with("tests/")) continue;
    for (const auto& name : source.includes)
      if (begins_with_any(name, {"core/", "instrumentation/", "app/"}))
        examples.try_emplace({folder_of(source.path), folder_of(name)}, source.path + " includes " + name);
  }
  for (const auto& [pair, example] : examples) {
    const auto back = examples.find({pair.second, pair.first});
    EXPECT_TRUE(pair.first >= pair.second || back == examples.end()) << example << ", and " << back->second;
  }
}

TEST(directions, the_readme_names_each_component) {
  std::ifstream in(fs::path(SLUICE_SOURCE_DIR) / "README.md");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  for (const component& each : components()) {
    const auto parts = std::count(each.folder.begin(), each.folder.end(), '/');
    if (parts > 2) continue;  // Nested components are in the table of their folder.
    const std::string name(each.folder.substr(each.folder.find('/') + 1));
    EXPECT_NE(text.find('`' + name + '`'), std::string::npos) << "the README does not describe " << each.folder;
  }
}

TEST(directions, the_recorded_processes_side_of_the_rings_needs_the_c_library_only) {
  // These headers contain only code that the compiler inlines into ours.
  const std::set<std::string> allowed{"array",   "atomic",           "bit",     "cerrno", "concepts", "cstddef",
                                      "cstdint", "initializer_list", "cstring", "span",   "utility",  "string_view",
                                      "limits",  "type_traits"};
  for (const auto& source : sources()) {
    if (!source.path.starts_with("instrumentation/ring/")) continue;
    for (const auto& name : source.includes) {
      const bool of_c = name.ends_with(".h");
      EXPECT_TRUE(of_c || name.ends_with(".hpp") || allowed.contains(name))
          << source.path << " includes <" << name << ">";
    }
  }
}

TEST(directions, core_knows_neither_cuda_nor_the_window) {
  expect_no_includes("core/", cuda_headers);
  expect_no_includes("core/", window_headers);
  expect_no_includes("instrumentation/", window_headers);
}

TEST(directions, only_the_cuda_backend_and_the_capture_library_know_cuda) {
  expect_no_includes("instrumentation/", cuda_headers, {"instrumentation/backend/cuda/", "instrumentation/capture/"});
  expect_no_includes("app/", cuda_headers);
}

TEST(directions, only_the_window_draws) { expect_no_includes("app/", window_headers, {"app/gui/", "app/browser/"}); }

TEST(directions, nobody_includes_the_command_line_or_tests) {
  expect_no_includes("", {"app/cli/"}, {"app/cli/", "tests/app/cli/", "tests/fuzz/"});
  expect_no_includes("", {"tests/"}, {"tests/"});
}

/// A namespace that a file opens for more than forward declarations.
std::vector<std::string> list_namespaces(const source_file& source) {
  std::ifstream in(fs::path(SLUICE_SOURCE_DIR) / source.path);
  const std::regex opens(R"(namespace (sluice[\w:]*) \{)"), forward(R"((class|struct|enum class) [\w: ]+;)");
  std::vector<std::string> strings;
  std::smatch found;
  std::string open;
  bool only_forward = true;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, found, opens)) {
      open = found[1].str();
      only_forward = true;
    } else if (line.starts_with("}") && !open.empty()) {
      if (!only_forward) strings.push_back(std::exchange(open, {}));
      open.clear();
    } else if (!line.empty() && !std::regex_match(line, forward)) {
      only_forward = false;
    }
  }
  return strings;
}

// A namespace is the first folder below core, instrumentation or app; a second one may follow, as in sluice::importing::torch.
TEST(namespaces, are_those_of_the_folders) {
  const std::map<std::string, std::string> other_names{
      {"core/base", "sluice"}, {"core/export", "sluice::exports"}, {"core/import", "sluice::importing"}};
  // These files define functions that other folders declare, for a program without threads, files or sockets.
  const std::set<std::string> stand_ins{"app/browser/no_programs.cpp"};
  for (const auto& source : sources()) {
    if (source.path.starts_with("tests/") || stand_ins.contains(source.path)) continue;
    const std::string folder = source.path.substr(0, source.path.find('/', source.path.find('/') + 1));
    const auto other = other_names.find(folder);
    const std::string expected =
        other != other_names.end() ? other->second : "sluice::" + folder.substr(folder.find('/') + 1);
    for (const std::string& name : list_namespaces(source))
      EXPECT_TRUE(name == expected || name.starts_with(expected + "::")) << source.path << " opens " << name;
  }
}

TEST(directions, includes_name_their_path_from_the_root) {
  for (const auto& source : sources()) {
    for (const auto& name : source.includes)
      EXPECT_FALSE(name.starts_with("..")) << source.path << " includes " << name;
  }
}

/// Fails if a file contains one of `ways` that `makers` does not list for it, or does not contain one that is listed.
void expect_only_in(const std::map<std::string, std::set<std::string>>& makers, const std::vector<std::string>& ways,
                    const std::string& advice, bool in_tests = false) {
  std::map<std::string, std::set<std::string>> seen;
  for (const auto& source : sources()) {
    if (source.path.starts_with("tests/") != in_tests || source.path.starts_with("tests/architecture/")) continue;
    std::ifstream in(fs::path(SLUICE_SOURCE_DIR) / source.path);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    for (const std::string& way : ways)
      if (text.find(way) != std::string::npos) seen[source.path].insert(way);
  }
  EXPECT_EQ(seen, makers) << advice;
}

// The limits of nlohmann's parser are not those of the project: see core/base/json/json_text.hpp.
TEST(directions, json_is_made_into_trees_in_one_place_that_bounds_them) {
  expect_only_in(
      {{"core/base/json/json_text.cpp", {"json::parse("}}, {"core/import/chrome/parse.cpp", {"simdjson::dom::parser"}}},
      {"json::parse(", "json::sax_parse(", "json::accept(", "json::from_bjdata(", "json::from_bson(",
       "json::from_cbor(", "json::from_msgpack(", "json::from_ubjson(", "simdjson::dom::parser", "simdjson::ondemand"},
      "use parse_json");
}

// A probe runs a function in a child, not a program. A demo on a GPU replaces its own process by `sluice record`.
TEST(directions, programs_are_started_in_one_place) {
  expect_only_in({{"core/base/system/child_process.cpp", {"vfork()", "execvpe("}},
                  {"app/processes/probe.cpp", {" fork()"}},
                  {"app/cli/demo/demo.cpp", {"execv("}}},
                 {" fork()", ":fork()", "vfork()", "execv(", "execve(", "execvp(", "execvpe(", "execl(", "execlp(",
                  "posix_spawn(", "posix_spawnp(", "popen(", "std::system("},
                 "use child_process");
}

// Those that are listed start a program with what the tests' helper has not: a terminal, a limit, another environment.
TEST(directions, tests_start_programs_in_one_place) {
  expect_only_in({{"tests/programs.hpp", {"execvp("}},
                  {"tests/attack/signals_test.cpp", {"execl("}},
                  {"tests/bench/cold_bench.cpp", {"popen("}},
                  {"tests/core/base/files/replacement_test.cpp", {"execl("}},
                  {"tests/instrumentation/backend/other_process.hpp", {"execl("}},
                  {"tests/instrumentation/capture/fake/fake_cuda_program.cpp", {"execv("}},
                  {"tests/instrumentation/capture/recording.cpp", {"posix_spawn("}},
                  {"tests/instrumentation/ring/producer_test.cpp", {"posix_spawnp("}},
                  {"tests/instrumentation/unwind/process_code_test.cpp", {"execl("}},
                  {"tests/instrumentation/writer/session_test.cpp", {"std::system("}}},
                 {"execv(", "execve(", "execvp(", "execvpe(", "execl(", "execlp(", "posix_spawn(", "posix_spawnp(",
                  "popen(", "std::system("},
                 "use tests/programs.hpp", true);
}

TEST(tree, holds_the_known_folders_only) {
  const std::set<std::string> known{"app",  "assets",          "build",   "cmake", "core",
                                    "docs", "instrumentation", "shaders", "tests"};
  for (const auto& entry : fs::directory_iterator(SLUICE_SOURCE_DIR)) {
    const auto name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with('.')) continue;
    EXPECT_TRUE(known.contains(name)) << "a new folder: " << name;
  }
}

TEST(tree, folders_stay_small) {
  std::map<std::string, std::size_t> files;
  for (const auto& source : sources()) ++files[source.path.substr(0, source.path.rfind('/'))];
  for (const auto& [folder, count] : files) {
    EXPECT_LE(count, folder.starts_with("app/cli") ? 20U : 36U) << folder << " should be two folders";
  }
}

TEST(tree, files_stay_short) {
  constexpr std::size_t max_lines = 800;
  for (const auto& source : sources()) EXPECT_LE(source.lines, max_lines) << source.path << " should be two files";
}

}  // namespace
}  // namespace sluice::test
