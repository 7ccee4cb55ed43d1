#include "app/gui/shell/settings.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "core/base/files/regular_file.hpp"
#include "core/base/files/replacement.hpp"
#include "core/base/files/user_folder.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_file = std::uint64_t{1} << 20;    // bytes; the files written here are much smaller
constexpr std::uint64_t largest_layout = std::uint64_t{4} << 20;  // bytes; real layouts are much smaller

std::size_t get_dock_nodes(std::string_view layout) {
  constexpr std::string_view word = "DockNode";
  std::size_t count = 0;
  for (std::size_t at = layout.find(word); at != layout.npos; at = layout.find(word, at + word.size())) ++count;
  return count;
}

int number(const std::string& text, int least, int most, int otherwise) {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value >= least && value <= most ? value : otherwise;
}

/// Converts a text to one line: escapes newlines and backslashes with a backslash.
std::string escaped(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n' || c == '\\') line += '\\';
    line += c == '\n' ? 'n' : c;
  }
  return line;
}

std::string unescaped(const std::string& line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool escape = line[i] == '\\' && i + 1 < line.size();
    if (escape) ++i;
    text += escape && line[i] == 'n' ? '\n' : line[i];
  }
  return text;
}

/// The form in which `recent` lists a path, or an address.
std::string get_recent_name(const std::string& path) {
  if (path.find("://") != std::string::npos) return path;
  std::error_code failed;
  const fs::path whole = fs::absolute(path, failed);
  return failed ? path : whole.lexically_normal().string();
}

/// Formats a verdict as "BYTES TIME PEAK good|bad TEXT".
std::string verdict_as_line(const recent_verdict& verdict) {
  std::ostringstream text;
  text << verdict.file.bytes << ' ' << verdict.file.modified << ' ' << verdict.line.peak << ' '
       << (verdict.line.bad ? "bad " : "good ") << printable(verdict.line.text);
  return text.str();
}

std::optional<recent_verdict> parse_verdict(const std::string& line) {
  constexpr std::size_t longest = 1024;
  recent_verdict verdict;
  std::istringstream words(line);
  std::string how, text;
  if (!(words >> verdict.file.bytes >> verdict.file.modified >> verdict.line.peak >> how)) return std::nullopt;
  std::getline(words >> std::ws, text);
  text = printable(text);
  if ((how != "good" && how != "bad") || text.empty() || text.size() > longest) return std::nullopt;
  verdict.file.exists = true;
  verdict.line.bad = how == "bad";
  verdict.line.text = std::move(text);
  return verdict;
}

/// Writes a file atomically: if the disk is full, the old content is preserved.
void keep(const std::string& path, std::string_view text) {
  auto place = replacement::of_file(path);
  if (!place) return;
  std::ofstream file(place->path(), std::ios::binary);
  file << text;
  file.close();
  if (file) static_cast<void>(place->commit());
}

}  // namespace

std::string settings::default_folder() { return user_folder("XDG_CONFIG_HOME", ".config"); }

settings::settings(std::string folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  const auto text = read_regular_file(folder_ + "/settings", largest_file);
  if (!text && text.error().code != error_code::not_found)
    trouble_ = "The settings were not read and will not be saved: " + text.error().to_string() + "; fix or remove them";
  std::istringstream lines(text.value_or(""));
  read(lines);
}

void settings::read(std::istream& lines) {
  std::string last_recent;
  for (std::string line; std::getline(lines, line);) {
    const auto space = line.find(' ');
    if (space == std::string::npos) continue;
    const std::string key = line.substr(0, space);
    const std::string value = line.substr(space + 1);
    if (key == "theme") theme = value == "light" ? theme_kind::light : theme_kind::dark;
    if (key == "text") text_scale = static_cast<float>(number(value, 60, 300, 100)) / 100.0F;
    if (key == "memory") memory_by_category = value != "plain";
    if (key == "width") width = number(value, 320, 16384, width);
    if (key == "height") height = number(value, 200, 16384, height);
    if (key == "recent" && recent_.size() < recent_limit) recent_.push_back(value);
    if (key == "recent") last_recent = value;
    if (key == "verdict" && !recent_.empty() && recent_.back() == last_recent)
      if (auto verdict = parse_verdict(value)) verdicts_.insert_or_assign(last_recent, std::move(*verdict));
    if (key == "query" && queries_.size() < query_limit) queries_.push_back(unescaped(value));
    if (key == "key") {
      const auto end = value.find(' ');
      keys[value.substr(0, end)] = end == std::string::npos ? std::string() : value.substr(end + 1);
    }
    if (key == "open" && last_session.size() < recent_limit) {
      std::istringstream words(value);
      open_document document;
      if (words >> document.begin >> document.end && std::getline(words >> std::ws, document.path) &&
          document.begin < document.end)
        last_session.push_back(std::move(document));
    }
    if (key == "views" && !last_session.empty() && value.size() <= longest_views) last_session.back().views = value;
    if (key == "command" && commands_.size() < command_limit) commands_.push_back(unescaped(value));
  }
}

void settings::add_recent(const std::string& path) {
  const std::string name = get_recent_name(path);
  std::erase(recent_, name);
  recent_.insert(recent_.begin(), name);
  if (recent_.size() > recent_limit) {
    verdicts_.erase(recent_.back());
    recent_.resize(recent_limit);
  }
  save();
}

bool settings::is_recent(const std::string& path) const {
  return std::find(recent_.begin(), recent_.end(), get_recent_name(path)) != recent_.end();
}

void settings::forget_recent() {
  recent_.clear();
  verdicts_.clear();
  save();
}

const recent_verdict* settings::find_verdict(const std::string& path) const {
  const auto found = verdicts_.find(get_recent_name(path));
  return found == verdicts_.end() ? nullptr : &found->second;
}

void settings::remember_verdict(const std::string& path, const recent_verdict& verdict) {
  if (!is_recent(path)) return;
  const auto [known, fresh] = verdicts_.try_emplace(get_recent_name(path), verdict);
  if (!fresh && known->second == verdict) return;
  known->second = verdict;
  save();
}

void settings::add_query(const std::string& text) {
  if (text.empty() || text.size() > query_length) return;
  std::erase(queries_, text);
  queries_.insert(queries_.begin(), text);
  if (queries_.size() > query_limit) queries_.resize(query_limit);
  save();
}

void settings::add_command(const std::string& line) {
  if (line.empty() || line.size() > query_length) return;
  std::erase(commands_, line);
  commands_.insert(commands_.begin(), line);
  if (commands_.size() > command_limit) commands_.resize(command_limit);
  save();
}

void settings::write(std::ostream& lines) const {
  lines << "theme " << (theme == theme_kind::light ? "light" : "dark") << '\n'
        << "text " << static_cast<int>(text_scale * 100 + 0.5F) << '\n'
        << "memory " << (memory_by_category ? "categories" : "plain") << '\n'
        << "width " << width << "\nheight " << height << '\n';
  for (const std::string& path : recent_) {
    if (path.find('\n') != std::string::npos) continue;
    lines << "recent " << path << '\n';
    const auto verdict = verdicts_.find(path);
    if (verdict != verdicts_.end()) lines << "verdict " << verdict_as_line(verdict->second) << '\n';
  }
  for (const std::string& query : queries_) lines << "query " << escaped(query) << '\n';
  for (const auto& [id, text] : keys) lines << "key " << id << (text.empty() ? "" : " ") << text << '\n';
  for (const open_document& each : last_session) {
    if (each.path.find('\n') != std::string::npos) continue;
    lines << "open " << each.begin << ' ' << each.end << ' ' << each.path << '\n';
    const bool fits = !each.views.empty() && each.views.size() <= longest_views;
    if (fits && each.views.find('\n') == std::string::npos) lines << "views " << each.views << '\n';
  }
  for (const std::string& line : commands_) lines << "command " << escaped(line) << '\n';
}

void settings::save() const {
  if (folder_.empty() || !trouble_.empty()) return;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  std::ostringstream text;
  write(text);
  keep(folder_ + "/settings", text.str());
}

result<std::string> settings::read_layout() {
  if (folder_.empty()) return fail(error_code::not_found, "no folder for settings");
  auto text = read_regular_file(layout_file(), largest_layout);
  if (text && get_dock_nodes(*text) > max_dock_nodes)
    text = fail(error_code::foreign, "has more than " + std::to_string(max_dock_nodes) + " dock nodes", layout_file());
  layout_unread_ = !text && text.error().code != error_code::not_found;
  return text;
}

void settings::save_layout(std::string_view text) const {
  if (!folder_.empty() && !layout_unread_) keep(layout_file(), text);
}

}  // namespace sluice::gui
