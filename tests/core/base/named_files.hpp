#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

namespace sluice::testing {

/// How many files have a name that begins with that of `path`, in its folder: what was written next to it and stayed counts too.
inline std::size_t files_named_after(const std::string& path) {
  const std::filesystem::path place = std::filesystem::absolute(path);
  const std::string name = place.filename().string();
  const std::filesystem::directory_iterator all(place.parent_path());
  return static_cast<std::size_t>(std::count_if(
      begin(all), end(all), [&](const auto& each) { return each.path().filename().string().starts_with(name); }));
}

}  // namespace sluice::testing
