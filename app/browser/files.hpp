#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/trace/file/byte_source.hpp"

/// Files that the user dropped on the page or that are served with it. A file is never copied into memory: each read
/// fetches a slice of it, on the thread that reads. Importers open these files by path, in /recordings; recordings,
/// which can grow, are read through `get_source`.
namespace sluice::browser {

inline constexpr const char* recordings_folder = "/recordings";  ///< Files that the user opened.
inline constexpr const char* samples_folder = "/samples";        ///< Samples that come with the page.
/// Files that the program writes to this folder are downloaded by `give_saved`.
inline constexpr const char* saved_folder = "/saved";
inline constexpr const char* settings_folder = "/settings";  ///< The page preserves the files in this folder between
                                                             ///< visits.

/// Downloads the complete files in `saved_folder`, and then removes them from it. Main thread only.
void give_saved();

/// Makes the file at `url` readable as "FOLDER/NAME", and returns that path. `url` must be a blob's or have the page's
/// origin; in the latter case the server must support range requests. If NAME is taken, a number is added to it. Adding
/// the same `url` again returns the same path. `version`, `bytes`: see `source_at`. Main thread only.
[[nodiscard]] std::string add_file(const char* folder, const std::string& name, const std::string& url,
                                   const std::string& version, std::uint64_t bytes);

/// The bytes of a file added by `add_file`; the file may grow. Null for any other path. Thread-safe.
[[nodiscard]] std::shared_ptr<trace::byte_source> get_source(const std::string& path);

}  // namespace sluice::browser
