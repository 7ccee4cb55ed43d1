#include "app/gui/views/welcome/bundled_recordings.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "core/base/files/regular_file.hpp"

namespace sluice::gui {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_index = std::uint64_t{1} << 20;  // bytes

std::string recordings_near_program() {
  if (const char* named = std::getenv("SLUICE_RECORDINGS"); named != nullptr && named[0] != '\0') return named;
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  for (const fs::path place : {"share/sluice/recordings", "assets/recordings"}) {
    fs::path folder = program.parent_path();
    for (int up = 0; up < 4; ++up) {
      if (fs::is_directory(folder / place, failed)) return (folder / place).string();
      folder = folder.parent_path();
    }
  }
  return {};
}

}  // namespace

std::vector<recording_entry> find_recordings(const std::string& folder) {
  const fs::path in = folder.empty() ? recordings_near_program() : folder;
  std::vector<recording_entry> found;
  std::error_code failed;
  if (in.empty() || !fs::is_directory(in, failed)) return found;
  struct described {
    std::string title, words;
    std::size_t place = SIZE_MAX;  // line in the index file
  };
  std::map<std::string, described> known;
  std::istringstream index(read_regular_file((in / "index.txt").string(), largest_index).value_or(""));
  for (std::string line; std::getline(index, line);)
    if (const auto tab = line.find('\t'), second = line.find('\t', tab + 1); second != std::string::npos)
      known.try_emplace(line.substr(0, tab),
                        described{line.substr(tab + 1, second - tab - 1), line.substr(second + 1), known.size()});
  for (fs::directory_iterator at(in, failed), end; !failed && at != end; at.increment(failed)) {
    const fs::path& path = at->path();
    if (path.extension() != ".sluice") continue;
    const described& about = known[path.filename().string()];
    found.push_back({path.string(), about.title.empty() ? path.stem().string() : about.title, about.words});
  }
  const auto place = [&](const recording_entry& each) { return known[fs::path(each.path).filename().string()].place; };
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    return place(a) != place(b) ? place(a) < place(b) : a.title < b.title;
  });
  return found;
}

}  // namespace sluice::gui
