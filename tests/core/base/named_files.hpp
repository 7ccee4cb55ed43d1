#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

namespace sluice::testing {

/// Counts the files in the folder of `path` whose names begin with the file name of `path`: `path` itself, and
/// temporary files that were left next to it.
inline std::size_t files_named_after(const std::string& path) {
  const std::filesystem::path place = std::filesystem::absolute(path);
  const std::string name = place.filename().string();
  const std::filesystem::directory_iterator iterator(place.parent_path());
  return static_cast<std::size_t>(std::count_if(begin(iterator), end(iterator), [&](const auto& each) {
    return each.path().filename().string().starts_with(name);
  }));
}

}  // namespace sluice::testing
