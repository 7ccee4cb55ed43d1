#include "app/gui/views/welcome/recent_table.hpp"

#include <algorithm>
#include <filesystem>

#include "core/base/format.hpp"
#include "core/base/printable.hpp"
#include "core/remote/address.hpp"

namespace sluice::gui {
namespace {

constexpr std::int64_t look_every = 2'000'000'000;  // ns

}  // namespace

recent_row make_recent_row(const std::string& path, const recordings::file_state* state, const recent_verdict* known,
                           const std::shared_ptr<const recordings::overview>& read, std::int64_t now) {
  const std::filesystem::path file(path);
  recent_row row;
  row.path = path;
  row.name = printable(file.filename().string());
  row.folder = printable(file.parent_path().string());
  row.missing = state != nullptr && !state->exists;
  if (row.missing) return row;
  const recordings::file_state* shown = state != nullptr ? state : known != nullptr ? &known->file : nullptr;
  if (shown != nullptr && shown->modified > 0) row.date = recordings::format_date(shown->modified, now);
  if (shown != nullptr && shown->bytes > 0) row.size = format_bytes(shown->bytes);
  const bool changed = state != nullptr && known != nullptr && *state != known->file;
  const recordings::verdict_line* line = known != nullptr && !changed ? &known->line : read ? &read->verdict : nullptr;
  if (line != nullptr) {
    row.verdict = line->text;
    row.bad = line->bad;
  }
  row.picture = read;
  return row;
}

void recent_files::look(const std::vector<std::string>& paths) {
  if (auto found = looking_.take()) {
    states_ = std::move(*found);
    looked_ = true;
  }
  const std::int64_t now = recordings::get_date();
  const bool complete = std::all_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return remote::is_address(path) || states_.contains(path);
  });
  if (complete && looked_ && now - looked_at_ < look_every) return;
  if (looking_.running()) return;
  looked_at_ = now;
  looking_.start([paths] {
    states found;
    for (const std::string& path : paths)
      if (!remote::is_address(path)) found[path] = recordings::read_state(path);
    return found;
  });
}

std::vector<recent_row> recent_files::list(const settings& remembered, recordings::overview_reader& overviews) {
  look(remembered.recent());
  std::vector<recent_row> rows;
  for (const std::string& path : remembered.recent()) {
    const auto found = states_.find(path);
    const recordings::file_state* state = found == states_.end() ? nullptr : &found->second;
    std::shared_ptr<const recordings::overview> read;
    if (state != nullptr && state->exists) {
      const std::string key = path + '\n' + std::to_string(state->bytes) + '\n' + std::to_string(state->modified);
      read = overviews.find(key, [path] { return recordings::read_overview(path); });
    }
    rows.push_back(make_recent_row(path, state, remembered.find_verdict(path), read, recordings::get_date()));
  }
  return rows;
}

}  // namespace sluice::gui
