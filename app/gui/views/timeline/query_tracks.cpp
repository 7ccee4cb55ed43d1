#include "app/gui/views/timeline/query_tracks.hpp"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "core/base/format.hpp"
#include "core/base/printable.hpp"
#include "core/base/threads/worker_thread.hpp"

namespace sluice::gui {
namespace {

constexpr std::size_t longest_label = 60;          // bytes
constexpr std::uint64_t id_seed = 0x7175'6572'79;  // Makes the ids differ from those of tracks, which are also hashes.

}  // namespace

std::string name_of_query(const std::string& text) {
  std::string line = text;
  const std::size_t begin = line.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos) line.erase(0, begin);
  if (line.starts_with("--")) {
    line = line.substr(0, line.find('\n'));
    line.erase(0, std::min(line.size(), line.find_first_not_of("- \t")));
  }
  std::replace(line.begin(), line.end(), '\n', ' ');
  return shortened(printable(line), longest_label);
}

void query_tracks::add(const document& subject, std::string text, std::function<void()> wake) {
  const std::uint64_t id = XXH3_64bits_withSeed(text.data(), text.size(), id_seed);
  if (find(id) != nullptr || all_.size() >= most || subject.host) return;
  one output;
  output.id = id;
  output.about.id = id;
  output.about.label = name_of_query(text);
  output.about.detail = "running...";
  query::sql_track_options options;
  options.wake = std::move(wake);
  output.task = std::make_unique<query::sql_track_task>(subject.engine->snapshot(), text, std::move(options));
  output.text = std::move(text);
  all_.insert(all_.begin(), std::move(output));
}

void query_tracks::remove(std::uint64_t id) {
  std::erase_if(given_up_, [](const std::future<void>& each) {
    return each.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  const auto found = std::find_if(all_.begin(), all_.end(), [id](const one& each) { return each.id == id; });
  if (found == all_.end()) return;
  try {
    if (found->task)
      given_up_.push_back(start_async([old = std::shared_ptr(std::move(found->task))]() mutable { old.reset(); }));
  } catch (const std::system_error&) {
    // No thread is available, so wait here until the query ends.
  }
  all_.erase(found);
}

void query_tracks::update() {
  for (one& each : all_) {
    if (each.task && each.task->done()) {
      each.rows = each.task->track();
      const auto failure = each.task->failure();
      each.task.reset();
      each.row.reset();
      if (failure) each.about.detail = printable(failure->to_string());
      if (each.rows) {
        each.about.depth = static_cast<std::uint16_t>(std::min<std::size_t>(each.rows->lanes(), UINT16_MAX));
        each.about.detail = (each.rows->cut() ? "first " : "") + format_some(each.rows->rows(), "row");
        if (each.rows->left_out() > 0)
          each.about.detail += ", " + format_count(each.rows->left_out()) + " without a time";
      }
    }
    if (!each.row) each.row = make_query_row(each.rows);
  }
}

void query_tracks::let_go_rows() {
  for (one& each : all_) each.row.reset();
}

const query_tracks::one* query_tracks::find(std::uint64_t id) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [id](const one& each) { return each.id == id; });
  return found == all_.end() ? nullptr : &*found;
}

bool query_tracks::busy() const {
  return std::any_of(all_.begin(), all_.end(), [](const one& each) { return each.task != nullptr; });
}

std::vector<std::string> query_tracks::texts() const {
  std::vector<std::string> strings;
  for (const one& each : all_) strings.push_back(each.text);
  return strings;
}

void open_query_tracks::forget_closed(const documents& state) {
  std::erase_if(tracks_, [&](const auto& each) {
    return std::none_of(state.all().begin(), state.all().end(),
                        [&](const auto& open) { return open->id == each.first; });
  });
}

void open_query_tracks::let_go_rows() {
  for (auto& [id, tracks] : tracks_) tracks.let_go_rows();
}

query_tracks* open_query_tracks::find(document_id document) {
  const auto found = tracks_.find(document);
  return found == tracks_.end() ? nullptr : &found->second;
}

const query_tracks* open_query_tracks::find(document_id document) const {
  const auto found = tracks_.find(document);
  return found == tracks_.end() ? nullptr : &found->second;
}

bool open_query_tracks::busy() const {
  return std::any_of(tracks_.begin(), tracks_.end(), [](const auto& each) { return each.second.busy(); });
}

}  // namespace sluice::gui
