#include "app/cli/output/output_kind.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "app/cli/page/html_page.hpp"
#include "core/import/import.hpp"
#include "core/trace/file/layout.hpp"

namespace sluice::cli {
namespace {

std::string read_head(const std::string& path) {
  std::string head(4096, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return head;
}

std::string read_first_line(const std::string& path) {
  std::string head = read_head(path);
  head.resize(std::min(head.find('\n'), head.size()));
  return head;
}

bool is_recording(const std::string& path) {
  const std::string head = read_head(path);
  const std::uint64_t magic = trace::file_magic;
  return head.size() >= sizeof magic && std::memcmp(head.data(), &magic, sizeof magic) == 0;
}

bool is_picture(const std::string& path) { return read_head(path).starts_with("\x89PNG\r\n\x1a\n"); }

bool is_sqlite(const std::string& path) {
  return read_head(path).starts_with(std::string_view("SQLite format 3\0", 16));
}

/// Recognizes CSV by its first line, which contains column names: lower-case letters, digits and underscores.
bool is_csv(const std::string& path) {
  const std::string line = read_first_line(path);
  return line.find(',') != std::string::npos &&
         line.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_,") == std::string::npos;
}

/// Recognizes folded stacks by their first line, such as "main (a.py:3);f (a.py:9) 4096".
bool is_folded(const std::string& path) {
  const std::string line = read_first_line(path);
  const std::size_t space = line.rfind(' ');
  return space != std::string::npos && space > 0 && space + 1 < line.size() && line.find('\0') == std::string::npos &&
         line.find_first_not_of("0123456789", space + 1) == std::string::npos;
}

bool is_torch_snapshot(const std::string& path) {
  return importing::recognise(path) == importing::format::torch_snapshot;
}

bool is_chrome(const std::string& path) { return importing::recognise(path) == importing::format::chrome_json; }

/// Recognizes Perfetto's format, a sequence of packets that start with their length: checks that a second packet starts
/// where the first one ends.
bool is_perfetto(const std::string& path) {
  constexpr char packet = 0x0a;  // The tag of a packet in Protobuf: field 1, bytes.
  const std::string head = read_head(path);
  if (head.size() < 2 || head[0] != packet) return false;
  std::size_t length = 0;
  std::size_t at = 1;
  for (unsigned shift = 0; at < head.size() && shift < 28; shift += 7) {
    const auto byte = static_cast<unsigned char>(head[at++]);
    length |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) break;
  }
  const std::size_t next = at + length;
  return length > 0 && (next >= head.size() ? head.find('\0') != std::string::npos : head[next] == packet);
}

using look = bool (*)(const std::string&);
constexpr std::array<std::pair<std::string_view, look>, 7> looks = {{{"csv", is_csv},
                                                                     {"sqlite", is_sqlite},
                                                                     {"folded", is_folded},
                                                                     {"torch-snapshot", is_torch_snapshot},
                                                                     {"perfetto", is_perfetto},
                                                                     {"chrome", is_chrome},
                                                                     {"chrome-gz", is_chrome}}};

}  // namespace

output_kind recording_kind() { return {"a recording", is_recording}; }

output_kind picture_kind() { return {"a PNG picture", is_picture}; }

output_kind get_kind(const exports::format& format) {
  if (&format == &page::html_format()) return {"a page written by sluice export", page::is_html_page};
  const auto found =
      std::find_if(looks.begin(), looks.end(), [&](const auto& each) { return each.first == format.name; });
  return {"a file in the format " + std::string(format.name), found == looks.end() ? nullptr : found->second};
}

}  // namespace sluice::cli
