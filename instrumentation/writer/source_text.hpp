#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::collector {

/// Bounds on the source text that is kept in a recording. A recorded process names the files: any text file that the user may
/// read, so only regular files of text are, and little of each.
struct source_limits {
  std::uint64_t around = 3;                        ///< Lines before and after each recorded one.
  std::size_t file_bytes = std::size_t{8} << 20;   ///< Longer files are left out.
  std::size_t line_bytes = 1000;                   ///< Longer lines are cut.
  std::size_t kept_bytes = std::size_t{16} << 20;  ///< Of all text together.
};

/// The lines of a file that frames were recorded at.
struct recorded_lines {
  std::set<std::uint64_t> lines;
  std::int64_t first_seen = 0;  ///< CLOCK_REALTIME ns: the code is as old, or older.
};

/// A piece of a file: `text` has the lines from `first_line` on, each ended by a newline.
struct source_piece {
  std::uint64_t first_line = 0;
  std::string text;
};

/// The lines around each of `lines` (which count from 1), pieces that touch joined, in order. Empty when there is no such
/// file, or it is none of text, or longer than the limit, or was changed at or after `unchanged_since` (CLOCK_REALTIME ns): then
/// its lines need not be those that ran; `changed` says so. What is not UTF-8 becomes "?". O(file).
struct source_pieces {
  std::vector<source_piece> pieces;
  bool changed = false;
};
[[nodiscard]] source_pieces read_source(const std::string& path, const std::set<std::uint64_t>& lines,
                                        std::int64_t unchanged_since, const source_limits& limits = {});

/// Writes what `read_source` finds of each file, and returns a line that names what was missed because it was changed, or
/// nothing. Flushes `file`, and reads its texts back.
[[nodiscard]] std::string add_sources(trace::file_writer& file,
                                      const std::map<trace::string_id, recorded_lines>& files);

}  // namespace sluice::collector
