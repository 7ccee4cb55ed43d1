#include "instrumentation/unwind/process_code.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

namespace sluice::unwind {

namespace {

/// At most this much of /proc/PID/maps is read. A program that trains with PyTorch has about 200 KB.
constexpr std::size_t max_maps_bytes = std::size_t{8} << 20;
/// An unknown address causes another reading of the mappings, at most this often.
constexpr std::chrono::milliseconds shortest_age{200};
constexpr std::size_t max_rules = std::size_t{1} << 17;

std::string read_maps(pid_t pid) {
  char name[64];
  std::snprintf(name, sizeof name, "/proc/%d/maps", static_cast<int>(pid));
  const int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  char part[16384];
  for (ssize_t got = 0; text.size() < max_maps_bytes && (got = read(file, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  close(file);
  return text;
}

/// The kernel writes a line feed in a path as \012, and appends " (deleted)" to the path of a deleted file.
std::string clean_path(std::string_view text) {
  constexpr std::string_view deleted = " (deleted)", line_feed = "\\012";
  if (text.ends_with(deleted)) text.remove_suffix(deleted.size());
  std::string path(text);
  for (std::size_t at = 0; (at = path.find(line_feed, at)) != std::string::npos; ++at)
    path.replace(at, line_feed.size(), "\n");
  return path;
}

bool is_vdso(const code_mapping& where) { return where.path == "[vdso]"; }

}  // namespace

std::optional<image_cache::identity> image_cache::identify(int descriptor) {
  struct stat file {};
  if (fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode)) return std::nullopt;
  return identity{file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec};
}

std::shared_ptr<const symbol_table> image_cache::find_symbols(int descriptor) {
  const auto key = identify(descriptor);
  if (!key) return nullptr;
  auto& known = symbols_[*key];
  if (auto table = known.lock()) return table;
  auto table = symbol_table::read(module_image::read_from(descriptor));
  known = table;
  std::erase_if(symbols_, [](const auto& each) { return each.second.expired(); });
  return table;
}

std::shared_ptr<const module_image> image_cache::find(int descriptor) {
  const auto key = identify(descriptor);
  if (!key) return nullptr;
  auto& known = images_[*key];
  if (auto image = known.lock()) return image;
  auto image = module_image::read(module_image::read_from(descriptor));
  known = image;
  std::erase_if(images_, [](const auto& each) { return each.second.expired(); });
  return image;
}

std::shared_ptr<const module_image> image_cache::find_vdso() {
  if (!vdso_) vdso_ = module_image::read_vdso();
  return vdso_;
}

std::vector<code_mapping> parse_code_mappings(std::string_view text) {
  std::vector<code_mapping> mappings;
  while (!text.empty() && mappings.size() < max_mappings) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
    code_mapping m;
    char permissions[5] = {};
    int path = 0;
    const int found = std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n", &m.begin,
                                  &m.end, permissions, &m.offset, &m.inode, &path);
    if (found != 5 || m.begin >= m.end || permissions[2] != 'x') continue;
    if (!mappings.empty() && m.begin < mappings.back().end) continue;
    if (path > 0) m.path = clean_path(std::string_view(line).substr(static_cast<std::size_t>(path)));
    mappings.push_back(std::move(m));
  }
  return mappings;
}

void process_code::refresh(clock::time_point now, std::chrono::milliseconds age) {
  if (refreshed_ != clock::time_point{} && now - refreshed_ < age) return;
  refreshed_ = now;
  std::vector<mapped> before = std::exchange(mappings_, {});
  std::size_t kept = 0;
  for (code_mapping& where : parse_code_mappings(read_maps(pid_))) {
    const auto known = std::lower_bound(before.begin(), before.end(), where.begin,
                                        [](const mapped& m, std::uint64_t at) { return m.where.begin < at; });
    if (known != before.end() && known->where == where) {
      mappings_.push_back(std::move(*known));
      ++kept;
    } else {
      mappings_.push_back({std::move(where), false, {}, {}});
    }
  }
  if (mappings_.size() != kept) rules_.clear();  // New code, which may have been unknown before.
  if (kept != before.size()) {
    rules_.clear();
    ++changes_;
  }
}

process_code::mapped* process_code::find_mapping(std::uint64_t pc) {
  const auto find = [&]() -> mapped* {
    const auto after = std::upper_bound(mappings_.begin(), mappings_.end(), pc,
                                        [](std::uint64_t at, const mapped& m) { return at < m.where.begin; });
    if (after == mappings_.begin()) return nullptr;
    mapped& m = *std::prev(after);
    return pc < m.where.end ? &m : nullptr;
  };
  mapped* found = find();
  if (found == nullptr) {
    refresh(clock::now(), shortest_age);
    found = find();
  }
  if (found != nullptr && !found->read) read_file(*found);
  return found;
}

/// Opens the mapped file itself, if that is allowed; otherwise the file that now has its name.
int process_code::open_file(const code_mapping& where) const {
  char name[128];
  std::snprintf(name, sizeof name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, static_cast<int>(pid_), where.begin,
                where.end);
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int file = open(name, flags);
  if (file >= 0) return file;
  return open(("/proc/" + std::to_string(pid_) + "/root" + where.path).c_str(), flags);
}

void process_code::read_file(mapped& m) {
  m.read = true;
  std::shared_ptr<const module_image> image;
  if (is_vdso(m.where)) {
    image = images_.find_vdso();
  } else if (m.where.path.starts_with('/')) {
    const int file = open_file(m.where);
    if (file < 0) return;
    image = images_.find(file);
    close(file);
  }
  if (!image) return;
  const auto address = image->find_address(m.where.offset);
  if (!address) return;
  m.file.path = m.where.path;
  m.file.base = m.where.begin - *address;
  m.file.begin = m.file.base + image->begin();
  m.file.end = m.file.base + image->end();
  m.file.build_id = image->build_id();
  m.file.image = std::move(image);
}

unwind_rule process_code::find_rule(std::uint64_t pc) {
  if (const auto known = rules_.find(pc); known != rules_.end()) return known->second.rule;
  const mapped* const m = find_mapping(pc);
  unwind_rule rule;
  if (m != nullptr && m->file.image) {
    rule = m->file.image->find_rule(pc - m->file.base);
  } else if (m == nullptr) {
    return rule;  // Perhaps the code is new, and will be known after the next reading.
  }
  if (rules_.size() >= max_rules) rules_.clear();
  rules_[pc].rule = rule;
  return rule;
}

bool process_code::follows_call(std::uint64_t pc) {
  if (const auto known = rules_.find(pc); known != rules_.end() && known->second.call != known_code::unknown)
    return known->second.call == known_code::yes;
  const mapped* const m = find_mapping(pc - 1);
  if (m == nullptr || !m->file.image || !m->where.path.starts_with('/')) return false;
  bool call = false;
  std::uint8_t before[longest_call] = {};
  const auto offset = m->file.image->find_offset(pc - longest_call - m->file.base);
  const int file = offset ? open_file(m->where) : -1;
  if (file >= 0) {
    const ssize_t got = pread(file, before, sizeof before, static_cast<off_t>(*offset));
    call = got == static_cast<ssize_t>(sizeof before) && ends_in_call(before);
    close(file);
  }
  if (rules_.size() >= max_rules) rules_.clear();
  known_code& entry = rules_.try_emplace(pc, known_code{find_rule(pc), known_code::unknown}).first->second;
  entry.call = call ? known_code::yes : known_code::no;
  return call;
}

const process_code::loaded_file* process_code::find_file(std::uint64_t pc) {
  const mapped* const m = find_mapping(pc);
  return m != nullptr && m->file.image ? &m->file : nullptr;
}

std::string process_code::find_name(std::uint64_t pc) {
  mapped* const m = find_mapping(pc);
  if (m == nullptr || !m->file.image || !m->where.path.starts_with('/')) return {};
  const int file = open_file(m->where);
  if (file < 0) return {};
  if (!m->symbols) m->symbols = images_.find_symbols(file);
  std::string name;
  if (m->symbols) name = m->symbols->find_name(module_image::read_from(file), pc - m->file.base);
  close(file);
  return name;
}

}  // namespace sluice::unwind
