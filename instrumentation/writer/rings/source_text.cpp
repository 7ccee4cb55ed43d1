#include "instrumentation/writer/rings/source_text.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/files/regular_file.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::writer {

namespace {

struct text_file {
  std::string text;
  bool changed = false;
};

/// Reads a whole text file. Safe for hostile names (pipe, device, growing log): never blocks, reads a bounded amount.
std::optional<text_file> read_text(const std::string& path, std::int64_t unchanged_since, std::size_t most) {
  const auto file = regular_file::open(path, most);
  if (!file) return std::nullopt;
  auto text = file->read();
  if (!text || text->find('\0') != std::string::npos) return std::nullopt;
  const timespec changed = file->changed();
  return text_file{std::move(*text), changed.tv_sec * 1'000'000'000 + changed.tv_nsec >= unchanged_since};
}

/// Length of the valid UTF-8 character at the front; 0 if there is none.
std::size_t character_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool beyond = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
  return overlong || beyond ? 0 : length;
}

/// `line` as valid UTF-8, at most `most` bytes.
std::string clean(std::string_view line, std::size_t most) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string out;
  while (!line.empty()) {
    const std::size_t length = character_at(line);
    if (out.size() + std::max<std::size_t>(length, 1) > most) break;
    if (length == 0) {
      out += '?';
    } else {
      out += line.substr(0, length);
    }
    line.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace

source_pieces read_source(const std::string& path, const std::set<std::uint64_t>& lines, std::int64_t unchanged_since,
                          const source_limits& limits) {
  source_pieces found;
  const auto file = read_text(path, unchanged_since, limits.file_bytes);
  if (!file || file->changed) {
    found.changed = file.has_value();
    return found;
  }
  std::string_view rest = file->text;
  auto wanted = lines.begin();
  bool open = false;  // True if the last piece continues with this line.
  for (std::uint64_t number = 1; !rest.empty() && wanted != lines.end(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (wanted != lines.end() && number > limits.around && *wanted < number - limits.around) ++wanted;
    const bool near = wanted != lines.end() && *wanted <= number + limits.around;
    if (near) {
      if (!open) found.pieces.push_back({number, {}});
      found.pieces.back().text += clean(line, limits.line_bytes) + '\n';
    }
    open = near;
  }
  return found;
}

std::string add_sources(trace::file_writer& file, const std::map<trace::string_id, recorded_lines>& files) {
  if (files.empty() || !file.flush()) return {};
  const auto own = trace::file::open(file.path());
  if (!own) return {};
  const auto snapshot = (*own)->latest();
  std::string first_missed;
  std::size_t missed = 0;
  std::size_t kept = 0;
  std::uint64_t last_id = 0;
  for (const auto& [name, recorded] : files) {
    const std::string path(snapshot->tables().text(name));
    const source_pieces found = read_source(path, recorded.lines, recorded.first_seen);
    if (found.changed && missed++ == 0) first_missed = path;
    for (const source_piece& piece : found.pieces) {
      kept += piece.text.size();
      if (kept > source_limits{}.kept_bytes) return "there is too much source text for a recording: some is omitted";
      file.add(
          trace::source_row{static_cast<trace::source_id>(++last_id), name, piece.first_line, file.intern(piece.text)});
    }
  }
  if (missed == 0) return {};
  std::string line = first_missed;
  if (missed > 1) line += " and " + std::to_string(missed - 1) + " other files";
  return line + " changed after code in them was recorded: their text is not stored";
}

}  // namespace sluice::writer
