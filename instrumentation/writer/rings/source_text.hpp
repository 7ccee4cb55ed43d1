#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::writer {

/// Limits for source text in a recording. A recorded process chooses the file names, and could name any
/// file that the user can read; so only regular text files are read, and only small parts are stored.
struct source_limits {
  std::uint64_t around = 3;                        ///< Lines before and after each recorded line.
  std::size_t file_bytes = std::size_t{8} << 20;   ///< Longer files are skipped.
  std::size_t line_bytes = 1000;                   ///< Longer lines are cut off.
  std::size_t kept_bytes = std::size_t{16} << 20;  ///< Limit for the text of all files together.
};

/// The recorded lines of one source file.
struct recorded_lines {
  std::set<std::uint64_t> lines;
  std::int64_t first_seen = 0;  ///< CLOCK_REALTIME ns: the code is at least this old.
};

/// A part of a source file: `text` contains the lines from `first_line` on, each with a newline.
struct source_piece {
  std::uint64_t first_line = 0;
  std::string text;
};

/// The result of `read_source`: the lines around each requested line (numbered from 1), in order, with adjacent pieces
/// merged. Empty if the file is missing, not text or too long, or if it was changed at or after `unchanged_since`
/// (CLOCK_REALTIME ns). In the last case `changed` is set, because the lines may differ from the lines that ran.
/// Invalid UTF-8 becomes "?". O(file size).
struct source_pieces {
  std::vector<source_piece> pieces;
  bool changed = false;
};
[[nodiscard]] source_pieces read_source(const std::string& path, const std::set<std::uint64_t>& lines,
                                        std::int64_t unchanged_since, const source_limits& limits = {});

/// Reads the recorded lines of each file in `files` with `read_source` and stores them in `file`. Returns a message
/// that names files skipped because they were changed, or an empty string. Flushes `file` and reads its strings back.
[[nodiscard]] std::string add_sources(trace::file_writer& file,
                                      const std::map<trace::string_id, recorded_lines>& files);

}  // namespace sluice::writer
