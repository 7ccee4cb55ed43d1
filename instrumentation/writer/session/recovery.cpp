#include "instrumentation/writer/session/recovery.hpp"

#include <filesystem>
#include <string>
#include <system_error>

namespace sluice::writer {
namespace {

namespace fs = std::filesystem;

bool is_taken(const fs::path& path) {
  std::error_code none;
  return fs::exists(fs::symlink_status(path, none));
}

/// NAME-recovered.sluice in `folder`, or with the first free number.
fs::path free_place(const fs::path& folder, const fs::path& path) {
  const std::string stem = path.stem().string() + "-recovered";
  const std::string extension = path.extension().string();
  fs::path place = folder / (stem + extension);
  for (int number = 2; is_taken(place); ++number) place = folder / (stem + "-" + std::to_string(number) + extension);
  return place;
}

/// Saves as `first` or, if that fails (for example because its folder was deleted), in the current folder.
result<std::size_t> save(trace::file_writer& file, const fs::path& first) {
  auto saved = file.move_to(first.string());
  if (!saved && saved.error().code == error_code::io) saved = file.move_to(free_place(fs::path("."), first).string());
  return saved;
}

tl::unexpected<error> report(const std::string& path, const std::string& happened, const trace::file_writer& file,
                             const result<std::size_t>& saved) {
  if (!saved) {
    return fail(saved.error().code, happened + ", and the recording could not be saved", path,
                saved.error().to_string());
  }
  std::string where = "what was recorded is in " + file.path();
  if (*saved > 0) where += ", except for " + std::to_string(*saved) + " pieces that were lost";
  return fail(error_code::io, happened, path, where);
}

}  // namespace

result<void> recover(trace::file_writer& file) {
  const std::string path = file.path();
  const bool taken = is_taken(path);
  switch (file.fate()) {
    case trace::file_fate::kept:
      return {};
    case trace::file_fate::moved:
      file.follow();
      return report(
          path,
          taken ? "was moved and replaced by another file while it was recorded" : "was moved while it was recorded",
          file, std::size_t{0});
    case trace::file_fate::deleted: {
      const auto saved = save(file, taken ? free_place(fs::path(path).parent_path(), path) : fs::path(path));
      return report(path,
                    taken ? "was replaced by another file while it was recorded" : "was deleted while it was recorded",
                    file, saved);
    }
    case trace::file_fate::damaged: {
      // The file at that path may belong to someone else now.
      const auto saved = save(file, free_place(fs::path(path).parent_path(), path));
      return report(path, "was cut off or written over while it was recorded", file, saved);
    }
  }
  return {};
}

}  // namespace sluice::writer
