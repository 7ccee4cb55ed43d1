#include "app/cli/serve/served_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace sluice::cli::serve {
namespace {

/// Identifies a file. Includes the creation time, because a new file may reuse the inode number of a deleted file.
std::string get_id(const regular_file& file) {
  struct statx about {};
  if (::statx(file.descriptor(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &about) != 0) return "0";
  return fmt::format("{:x}-{:x}-{:x}-{:x}-{:x}", about.stx_dev_major, about.stx_dev_minor, about.stx_ino,
                     about.stx_btime.tv_sec, about.stx_btime.tv_nsec);
}

}  // namespace

served_files::kept& served_files::find_kept(const std::string& key) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const kept& each) { return each.key == key; });
  if (found != all_.end()) {
    all_.splice(all_.begin(), all_, found);
  } else {
    all_.push_front({key, {}});
    if (all_.size() > max_files) all_.pop_back();
  }
  return all_.front();
}

file_version served_files::add(kept& to, file_version newest) {
  to.versions.push_back(std::move(newest));
  if (to.versions.size() > max_versions) to.versions.erase(to.versions.begin());
  return to.versions.back();
}

result<file_version> served_files::newest(const std::string& key, const opener& open, judge may_be_served) {
  auto opened = open();
  if (!opened) return tl::unexpected(opened.error());
  const auto known = std::find_if(all_.begin(), all_.end(), [&](const kept& each) { return each.key == key; });
  std::string id = get_id(*opened);
  if (known != all_.end() && !known->versions.empty() && known->versions.back().id == id)
    return find_kept(key).versions.back();
  if (!may_be_served(*opened)) return fail(error_code::foreign, "is not a recording", key);
  kept& subject = find_kept(key);
  return add(subject, {std::move(id), trace::make_local_source(std::move(*opened), key)});
}

file_version served_files::newest_live(const std::string& key, const std::shared_ptr<trace::byte_source>& first) {
  kept& subject = find_kept(key);
  const auto next_id = [this] { return fmt::format("live-{}", ++live_versions_); };
  if (subject.versions.empty()) return add(subject, {next_id(), first});
  if (const auto next = subject.versions.back().source->successor(); next && *next)
    return add(subject, {next_id(), *next});
  return subject.versions.back();
}

file_version served_files::find(const std::string& key, std::string_view id) const {
  for (const kept& each : all_)
    if (each.key == key)
      for (const file_version& version : each.versions)
        if (version.id == id) return version;
  return {};
}

}  // namespace sluice::cli::serve
