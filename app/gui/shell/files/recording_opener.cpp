#include "app/gui/shell/files/recording_opener.hpp"

#include <vector>

#include "core/remote/address.hpp"

namespace sluice::gui {

void recording_opener::open(const std::string& path) {
  if (!is_saved_view(path)) return session_.open(path);
  const auto saved = read_saved_view(path);
  if (!saved) return notices_.add_failure(saved.error());
  saved_view_ = {find_recording(path, *saved), *saved};
  session_.open(saved_view_->first);
}

void recording_opener::reopen_last_session() {
  for (const settings::open_document& each : settings_.last_session) {
    last_session_[each.path] = each;
    open(each.path);
  }
}

void recording_opener::remember_session() {
  std::vector<settings::open_document> open;
  for (const auto& each : session_.all())
    if (each->ready() && !each->removed_at_close && !remote::is_live_address(each->path) &&
        open.size() < settings::recent_limit)
      open.push_back({each->path, each->visible.begin, each->visible.end, to_text(panels_.keep(each->id))});
  if (!open.empty()) settings_.last_session = std::move(open);
}

void recording_opener::show_saved_view() {
  if (!saved_view_) return;
  const document* shown = session_.active();
  if (shown == nullptr || shown->path != saved_view_->first || !shown->ready()) {
    if (!session_.opening()) saved_view_.reset();  // The recording could not be opened; the error is already shown.
    return;
  }
  const saved_view view = std::exchange(saved_view_, std::nullopt)->second;
  if (!view.recording.matches(identify_recording(*shown)))
    return notices_.say("The view was not shown: it was saved from another recording named " + view.recording.name);
  session_.memory_by_category = view.memory_by_category;
  session_.go_to(view.visible, false);
  session_.select_range(view.range);
  session_.select({shown->id, view.selected, view.id});
  session_.set_moment(view.moment);
  kept_ = view.kept;
}

void recording_opener::show_last_session() {
  if (last_session_.empty()) return;
  const document* shown = session_.active();
  if (shown == nullptr || !shown->ready()) return;
  const auto found = last_session_.find(shown->path);
  if (found == last_session_.end()) return;
  const settings::open_document was = found->second;
  last_session_.erase(found);
  session_.show({was.begin, was.end}, false);
  if (was.views.empty()) return;
  auto kept = parse_kept_view(was.views);
  if (!kept) return notices_.say("The views were not restored: the last session " + kept.error().message);
  kept_ = std::move(*kept);
}

std::optional<kept_view> recording_opener::take_kept_view() { return std::exchange(kept_, std::nullopt); }

}  // namespace sluice::gui
