#include "app/cli/serve/site.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "app/cli/output/print.hpp"
#include "app/cli/page/page_folder.hpp"
#include "core/base/printable.hpp"
#include "core/import/import.hpp"
#include "core/remote/live_source.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::cli::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view list_path = "recordings/", samples = "samples/";
/// Limit on the files of each folder in the list of recordings.
constexpr std::size_t max_listed = 1000;
/// So many recordings of each folder, the newest, get a verdict and a picture.
constexpr std::size_t max_read = 200;

/// 128 random bits, in hexadecimal digits.
result<std::string> new_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail(error_code::unavailable, "cannot get random numbers: " + describe_errno(errno), "getrandom");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// Compares texts in the same time wherever they differ, so that the time reveals nothing about the secret.
bool equal_in_constant_time(std::string_view given, std::string_view secret) {
  if (given.size() != secret.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < secret.size(); ++i)
    difference = static_cast<unsigned char>(difference | (given[i] ^ secret[i]));
  return difference == 0;
}

/// Percent-encodes `text` for the path or the query of an address.
std::string encoded(std::string_view text, std::string_view also_plain = {}) {
  std::string line;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos ||
                       also_plain.find(c) != std::string_view::npos;
    line += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return line;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      line += text[i];
      continue;
    }
    unsigned byte = 0;
    const char* const begin = text.data() + i + 1;
    if (text.size() - i < 3 || std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) return std::nullopt;
    line += static_cast<char>(byte);
    i += 2;
  }
  return line;
}

std::string make_path(std::size_t number, std::string_view name) {
  return fmt::format("{}{}/{}", list_path, number, encoded(name));
}
std::string make_query(std::size_t number, std::string_view name) {
  return "file=" + encoded(make_path(number, name), "/");
}

/// A part of a file. Both ends are included.
struct byte_range {
  std::uint64_t first = 0, last = 0;
};
enum class asked_for : unsigned char { all, part, nothing_there };

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || bad != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Parses "bytes=A-B", "bytes=A-" and "bytes=-N". Treats any other range as the whole file, as the protocol allows.
asked_for read_range(std::string_view text, std::uint64_t size, byte_range& range) {
  constexpr std::string_view unit = "bytes=";
  const std::size_t dash = text.find('-');
  if (!text.starts_with(unit) || dash == std::string_view::npos) return asked_for::all;
  const std::string_view source = text.substr(unit.size(), dash - unit.size()), to = text.substr(dash + 1);
  const auto first = whole(source), last = whole(to);
  if ((!source.empty() && !first) || (!to.empty() && !last) || (source.empty() && to.empty())) return asked_for::all;
  if (source.empty()) {
    if (*last == 0 || size == 0) return asked_for::nothing_there;
    range = {size - std::min(*last, size), size - 1};
    return asked_for::part;
  }
  if (last && *last < *first) return asked_for::all;
  if (*first >= size) return asked_for::nothing_there;
  range = {*first, std::min(last.value_or(size - 1), size - 1)};
  return asked_for::part;
}

http_response not_here() { return {.status = 404, .text = "Not found.\n", .trusted = true}; }

http_response file_result(std::shared_ptr<const trace::byte_source> file, std::uint64_t size, const char* type,
                          std::string_view wanted) {
  byte_range range;
  http_response result{.type = type, .trusted = true};
  switch (read_range(wanted, size, range)) {
    case asked_for::all:
      result.part = {std::move(file), 0, size};
      break;
    case asked_for::part:
      result.status = 206;
      result.range = fmt::format("bytes {}-{}/{}", range.first, range.last, size);
      result.part = {std::move(file), range.first, range.last - range.first + 1};
      break;
    case asked_for::nothing_there:
      result.status = 416;
      result.range = fmt::format("bytes */{}", size);
      break;
  }
  return result;
}

http_response file_result(regular_file file, const char* type, std::string_view wanted) {
  const std::uint64_t size = file.bytes();
  return file_result(trace::make_local_source(std::move(file), {}), size, type, wanted);
}

http_response recording_result(const file_version& about, const file_version& newest, std::string_view wanted) {
  const auto there = about.source->poll();
  if (!there) return not_here();
  if (!there->remark.empty()) complain(about.source->name() + ": " + there->remark);
  http_response result = file_result(about.source, there->bytes, "application/octet-stream", wanted);
  result.more_headers = {
      {"Sluice-Version", about.id}, {"Sluice-Newest", newest.id}, {"Sluice-Growing", there->growing ? "1" : "0"}};
  return result;
}

/// True for a plain file name, as in a folder: it cannot lead to another folder, and has no zero byte.
bool is_name(const std::string& name) {
  return !name.empty() && name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

/// Opens a regular file directly in `folder` that is neither a link nor hidden. Errors: not_found, and those of
/// `regular_file::of`.
result<regular_file> file_of_folder(int folder, const std::string& name) {
  struct stat about {};
  const bool is_there = !name.starts_with('.') && ::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISREG(about.st_mode);
  const int descriptor = is_there ? ::openat(folder, name.c_str(), regular_file::flags | O_NOFOLLOW) : -1;
  if (descriptor < 0) return fail(sluice::error_code::not_found, "does not exist", name);
  return regular_file::of(descriptor, name);
}

/// True if the open file is a recording. Examines the open file, because another file may have its name by now.
bool is_recording(const regular_file& file) {
  return importing::holds_recording(fmt::format("/proc/self/fd/{}", file.descriptor()));
}
bool is_anything(const regular_file&) { return true; }

recordings::file_state get_state(const regular_file& file) {
  struct stat about {};
  if (::fstat(file.descriptor(), &about) != 0) return {};
  return {true, static_cast<std::uint64_t>(about.st_size),
          static_cast<std::int64_t>(about.st_mtim.tv_sec) * 1'000'000'000 + about.st_mtim.tv_nsec};
}

/// Reads what the list shows of a recording. Files of other tools are listed, but not imported for this.
result<recordings::overview> read_recording(regular_file file, const std::string& name) {
  trace::reader_options options;
  options.cache_bytes = std::size_t{32} << 20;
  auto opened = trace::file::open(trace::make_local_source(std::move(file), name), options);
  if (!opened) return tl::unexpected(opened.error());
  return recordings::read_overview(*opened);
}

}  // namespace

site::places::~places() {
  for (const place& each : *this)
    if (each.folder >= 0) ::close(each.folder);
}

site::site(places named, std::string page, std::uint16_t port, std::string token)
    : places_(std::move(named)), page_(std::move(page)), port_(std::to_string(port)), token_(std::move(token)) {}

result<site> site::make(const std::vector<std::string>& named, const std::vector<std::string>& live, std::string page,
                        std::uint16_t port) {
  auto token = new_token();
  if (!token) return tl::unexpected(token.error());
  places found;
  for (const std::string& path : named) {
    const int folder = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
      const auto file = regular_file::open(path);
      if (!file) return tl::unexpected(file.error());
    }
    found.push_back({path, folder, folder < 0 ? fs::path(path).filename().string() : std::string()});
  }
  for (const std::string& socket : live) {
    auto followed = remote::follow_live(socket, socket);
    if (!followed) return tl::unexpected(followed.error());
    const std::string name = fs::path(followed->path).filename().string();
    found.push_back({socket, -1, is_name(name) ? name : "recording.sluice", std::move(followed->source)});
  }
  return site(std::move(found), std::move(page), port, std::move(*token));
}

std::string site::address() const {
  std::string text = "http://127.0.0.1:" + port_ + "/" + token_ + "/";
  if (std::any_of(places_.begin(), places_.end(), [](const place& each) { return each.folder >= 0; }))
    return text.append(list_path);
  for (std::size_t i = 0; i < places_.size(); ++i) text += (i == 0 ? '?' : '&') + make_query(i + 1, places_[i].name);
  return text;
}

http_response site::respond(const http_request& request) {
  // A page of another site can make its own host name resolve to 127.0.0.1. The browser then sends that name, which is
  // rejected here.
  if (request.host != "127.0.0.1:" + port_ && request.host != "localhost:" + port_)
    return {.status = 403, .text = "Use the address 127.0.0.1:" + port_ + ".\n"};
  const std::size_t query_at = request.target.find('?');
  std::string_view path = request.target.substr(0, query_at);
  std::string_view query =
      query_at == std::string_view::npos ? std::string_view() : request.target.substr(query_at + 1);
  if (path.empty() || path[0] != '/') return {.status = 404, .text = "Not found.\n"};
  path.remove_prefix(1);
  const std::size_t end = path.find('/');
  if (end == std::string_view::npos || !equal_in_constant_time(path.substr(0, end), token_))
    return {.status = 404, .text = "The address is incomplete: use the one that sluice serve printed.\n"};
  path.remove_prefix(end + 1);
  if (path == list_path) return list();
  if (path.starts_with(list_path)) {
    constexpr std::string_view version = "version=";
    query.remove_prefix(query.starts_with(version) ? version.size() : query.size());
    return recording(path.substr(list_path.size()), query, request.range);
  }
  if (path.starts_with(samples)) return sample(path.substr(samples.size()), request.range);
  return page_file(path.empty() ? page::files[0].name : path);
}

http_response site::page_file(std::string_view name) const {
  for (const page::file& known : page::files) {
    if (name != known.name) continue;
    auto file = regular_file::open(page_ + "/" + known.on_disk());
    if (!file) return not_here();
    http_response result = file_result(std::move(*file), known.type, {});
    result.is_gzip = known.is_gzip;
    result.may_keep = true;
    return result;
  }
  return not_here();
}

http_response site::recording(std::string_view path, std::string_view version, std::string_view range) {
  const std::size_t slash = path.find('/');
  const auto number = whole(path.substr(0, slash));
  const auto name = decoded(slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1));
  if (!number || *number == 0 || *number > places_.size() || !name) return not_here();
  const place& in = places_[static_cast<std::size_t>(*number - 1)];
  if (!is_name(*name) || (in.folder < 0 && *name != in.name)) return not_here();
  const std::string key = make_path(static_cast<std::size_t>(*number), *name);
  const auto open = [&] { return in.folder < 0 ? regular_file::open(in.path) : file_of_folder(in.folder, *name); };
  const auto newest = in.live ? result<file_version>(files_.newest_live(key, in.live))
                              : files_.newest(key, open, in.folder < 0 ? is_anything : is_recording);
  const file_version about = !version.empty() ? files_.find(key, version) : newest ? *newest : file_version();
  if (!about.source) return not_here();
  return recording_result(about, newest ? *newest : about, range);
}

http_response site::sample(std::string_view path, std::string_view range) const {
  const auto name = decoded(path);
  if (!name || !is_name(*name)) return not_here();
  const int folder = ::open((page_ + "/samples").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return not_here();
  auto file = file_of_folder(folder, *name);
  ::close(folder);
  return file ? file_result(std::move(*file), "application/octet-stream", range) : not_here();
}

listed_recording site::describe(std::size_t number, const std::string& name, const regular_file& file, bool read) {
  listed_recording output{"../?" + make_query(number, name), name, get_state(file), nullptr};
  const place& in = places_[number - 1];
  if (!read || in.live) return output;
  const recordings::file_state& now = output.file;
  const std::string key = fmt::format("{}\n{}\n{}", make_path(number, name), now.bytes, now.modified);
  output.about = overviews_.find(key, [folder = in.folder, path = in.path, name]() -> result<recordings::overview> {
    auto opened = folder < 0 ? regular_file::open(path) : file_of_folder(folder, name);
    if (!opened) return tl::unexpected(opened.error());
    return read_recording(std::move(*opened), name);
  });
  return output;
}

std::vector<listed_recording> site::list_folder(std::size_t number) {
  const int folder = places_[number - 1].folder;
  std::error_code failed;
  const std::string path = fmt::format("/proc/self/fd/{}/", folder);
  std::vector<std::pair<recordings::file_state, std::string>> names;
  for (fs::directory_iterator at(path, failed), end; !failed && at != end && names.size() < max_listed;
       at.increment(failed)) {
    std::string name = at->path().filename().string();
    const auto file = file_of_folder(folder, name);
    if (file && is_recording(*file)) names.emplace_back(get_state(*file), std::move(name));
  }
  // The newest is first.
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
    return a.first.modified != b.first.modified ? a.first.modified > b.first.modified : a.second < b.second;
  });
  std::vector<listed_recording> output;
  for (const auto& [state, name] : names)
    if (const auto file = file_of_folder(folder, name))
      output.push_back(describe(number, name, *file, output.size() < max_read));
  return output;
}

http_response site::list() {
  overviews_.follow();
  listed_folder named;
  std::vector<listed_folder> folders;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const place& each = places_[i];
    if (each.folder >= 0) {
      folders.push_back({each.path, list_folder(i + 1)});
      continue;
    }
    const auto file = regular_file::open(each.path);
    named.recordings.push_back(file ? describe(i + 1, each.name, *file, true)
                                    : listed_recording{"../?" + make_query(i + 1, each.name), each.name, {}, nullptr});
  }
  if (!named.recordings.empty()) folders.insert(folders.begin(), std::move(named));
  return {.type = "text/html; charset=utf-8",
          .text = make_list_page(folders, overviews_.reading(), recordings::get_date()),
          .trusted = true};
}

}  // namespace sluice::cli::serve
