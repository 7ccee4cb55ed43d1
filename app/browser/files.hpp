#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/trace/file/byte_source.hpp"

/// Files that were dropped on the page or lie beside it. They are never copied into memory: a read takes a slice of the
/// file, in the thread that reads. To the rest of the program they are files in /recordings, as importers open files;
/// recordings are read by `source_of`, for they can grow.
namespace sluice::browser {

inline constexpr const char* recordings_folder = "/recordings";  ///< What the user opened.
inline constexpr const char* samples_folder = "/samples";        ///< What comes with the page.
/// What is written here is given to the user as a download, by `give_saved`.
inline constexpr const char* saved_folder = "/saved";
inline constexpr const char* settings_folder = "/settings";  ///< The page keeps its files from one visit to the next.

/// Gives the user the files that are complete in `saved_folder`, and removes them there. Main thread only.
void give_saved();

/// Makes the file at `url` (a blob's, or of the page's origin; then its server must answer ranges) readable as
/// "FOLDER/NAME", and returns that path; NAME gets a number if it is taken. A `url` that was added before keeps its path.
/// `version`, `bytes`: see `source_at`. Main thread only.
[[nodiscard]] std::string add_file(const char* folder, const std::string& name, const std::string& url,
                                   const std::string& version, std::uint64_t bytes);

/// The bytes of a file that was added; they may become more. Null for another file. Thread-safe.
[[nodiscard]] std::shared_ptr<trace::byte_source> source_of(const std::string& path);

}  // namespace sluice::browser
