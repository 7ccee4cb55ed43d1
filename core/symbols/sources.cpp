// Finds source lines for frames, in the recording or, if it has none, on this machine.
#include <algorithm>
#include <map>

#include "core/symbols/frames.hpp"

namespace sluice::symbols {
namespace {

constexpr std::uint64_t largest_source = std::uint64_t{8} << 20;  // In bytes. Nobody writes longer files by hand.
constexpr std::size_t widest_line = 240;

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
  return std::string(text.substr(0, widest_line));
}

/// Returns line `number` of `text`, counted from 0.
std::string nth_line(std::string_view text, std::uint64_t number) {
  for (; number > 0; --number) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return trimmed(text.substr(0, text.find('\n')));
}

}  // namespace

/// Returns the contents of a local source file. Empty if the file is missing or must not be read, or if it is at its
/// recorded path and was changed after the recording began. A file in a folder that the user named is used whatever its
/// age, because copies are always newer.
const std::string& frame_cache::local_file(const std::string& path) {
  const auto [place, fresh] = local_.try_emplace(path);
  if (!fresh) return place->second;
  const auto found = options_.symbols.local.open(path, largest_source);
  if (!found) return place->second;
  const std::int64_t changed = found->file.changed().tv_sec;
  const bool unchanged = options_.recorded_at == 0 || changed <= options_.recorded_at / 1'000'000'000;
  if (found->as_recorded && !unchanged) return place->second;
  if (auto text = found->file.read()) place->second = std::move(*text);
  return place->second;
}

void frame_cache::put_sources(std::vector<frame_line>& into, const trace::tables& tables) {
  std::multimap<std::string_view, const trace::source_row*> recorded;
  for (const trace::source_row& row : tables.sources.rows()) recorded.emplace(tables.text(row.file), &row);
  const std::scoped_lock lock(source_mutex_);
  for (frame_line& line : into) {
    if (line.file.empty() || line.line == 0) continue;
    const auto [first, last] = recorded.equal_range(line.file);
    for (auto at = first; at != last && line.source.empty(); ++at) {
      const trace::source_row& row = *at->second;
      if (line.line >= row.first_line) line.source = nth_line(tables.text(row.text), line.line - row.first_line);
    }
    if (line.source.empty() && first == last) line.source = nth_line(local_file(line.file), line.line - 1);
  }
}

}  // namespace sluice::symbols
