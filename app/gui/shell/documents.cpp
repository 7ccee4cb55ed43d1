#include "app/gui/shell/documents.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "app/gui/shell/shown_range.hpp"
#include "core/base/printable.hpp"
#include "core/index/event_store.hpp"

namespace sluice::gui {
namespace {

constexpr time_ns narrowest = 10;  // ns across the window; below this, a pixel is shorter than 1 ns

/// Adds a small margin to a range, so that the first and the last event do not touch the frame.
time_range with_margin(time_range span) {
  const time_ns air = std::max<time_ns>(span.length() / 100, 1);
  return {span.begin - air, span.end + air};
}

/// `part` of the recording with a margin of 5 % on either side.
time_range with_air(time_range part, const document& shown) {
  const time_range whole = with_margin(shown.span);
  if (part.length() <= 0) return whole;
  const time_ns air = part.length() / 20 + 1;
  return {std::max(whole.begin, part.begin - air), std::min(whole.end, part.end + air)};
}

/// The visible range of a view that follows something. The whole recording would be a bad range to show first, because
/// a program may spend minutes on imports before it uses the GPU.
time_range followed_view(const document& shown) {
  if (shown.follows == view_follows::everything) return with_margin(shown.span);
  // Steps already have air around them.
  if (shown.follows == view_follows::opening && shown.opening != shown.active) return shown.opening;
  return with_air(shown.active, shown);
}

}  // namespace

time_range clamp_view(time_range wanted, time_range span) {
  const time_range whole = with_margin(span);
  wanted = bounded(wanted);
  const time_ns length = std::clamp(wanted.length(), std::min(narrowest, whole.length()), whole.length());
  // Change the length but keep the middle; then move the range back into the limits.
  time_ns begin = wanted.begin + (wanted.length() - length) / 2;
  begin = std::clamp(begin, whole.begin, whole.end - length);
  return {begin, begin + length};
}

documents::documents(std::function<void()> wake) : wake_(std::move(wake)), loader_(wake_) {}

documents::~documents() {
  loader_.stop();
  while (!documents_.empty()) close(documents_.back()->id);
}

void documents::open(const std::string& path, bool live) {
  for (const auto& open : documents_)
    if (open->path == path && !live) return activate(open->id);
  document_loader::options with{.memory_bytes = memory_bytes, .sources_from = sources_from, .bytes = nullptr};
  if (get_source) with.bytes = get_source(path);
  const auto id = static_cast<document_id>(next_id_++);
  if (auto started = loader_.start(id, path, std::move(with)); !started) failures_.push_back(started.error());
}

void documents::reopen() {
  document* shown = active();
  if (shown == nullptr) return;
  const std::string path = shown->path;
  const bool live = shown->live;
  shown->removed_at_close = false;  // A demo's scratch file is about to be opened again, so keep it.
  close(shown->id);
  open(path, live);
}

void documents::add_loaded() {
  for (auto& loaded : loader_.take_finished()) {
    if (!loaded) {
      failures_.push_back(loaded.error());
      continue;
    }
    auto added = std::make_unique<document>();
    added->id = loaded->id;
    added->path = loaded->path;
    added->title =
        printable(!loaded->title.empty() ? loaded->title : std::filesystem::path(loaded->path).filename().string());
    added->source = loaded->source;
    added->host = loaded->host;
    added->engine = std::make_unique<query::engine>(loaded->file,
                                                    query::engine_options{.wake = wake_, .memory_bytes = memory_bytes});
    added->live = added->engine->snapshot()->growing();
    added->span = index::recorded_range(*added->engine->snapshot());
    added->active = added->opening = added->span;
    added->visible = added->target = followed_view(*added);
    documents_.push_back(std::move(added));
    activate(loaded->id);
    if (opened) opened(*documents_.back());
  }
}

void documents::follow(document& which) {
  if (which.host && !which.cut_off && !which.host->alive()) {
    which.cut_off = true;
    failures_.push_back({error_code::io, "the connection was lost; only data received before that is shown", which.path,
                         error::no_offset, "open it again"});
  }
  if (which.live) which.engine->refresh();
  const auto shot = which.engine->snapshot();
  which.live = which.live && shot->growing();
  which.span = index::recorded_range(*shot);
  const auto about = which.about.ask(*which.engine, {});
  which.active = about && about->active.length() > 0 ? about->active : which.span;
  which.opening = about && about->opening.length() > 0 ? about->opening : which.active;
  if (which.follows == view_follows::nothing) return;
  const time_range now = followed_view(which);
  if (now == which.target) return;
  which.visible = which.target = now;
  if (which.id == active_) here_.visible = which.target;
}

bool documents::update(double seconds) {
  const std::size_t before = loader_.count();
  add_loaded();
  for (const auto& each : documents_) follow(*each);
  document* shown = active();
  if (shown != nullptr && shown->visible != shown->target) {
    const double share = animations ? 1 - std::exp(-seconds * 20) : 1;
    const auto step = [share](time_ns begin, time_ns to) {
      return begin + static_cast<time_ns>(static_cast<double>(to - begin) * share);
    };
    const time_range next{step(shown->visible.begin, shown->target.begin), step(shown->visible.end, shown->target.end)};
    const auto near = static_cast<double>(shown->target.length()) / 2000;
    const bool arrived = std::fabs(static_cast<double>(next.begin - shown->target.begin)) < near &&
                         std::fabs(static_cast<double>(next.end - shown->target.end)) < near;
    shown->visible = arrived || next == shown->visible || next.length() <= 0 ? shown->target : next;
  }
  return before != loader_.count();
}

void documents::work_here(std::chrono::steady_clock::time_point until) {
  for (const auto& each : documents_) each->engine->work_here(until);
}

document* documents::active() { return find(active_); }
const document* documents::active() const { return const_cast<documents*>(this)->find(active_); }

document* documents::find(document_id id) {
  const auto found = std::find_if(documents_.begin(), documents_.end(), [id](const auto& d) { return d->id == id; });
  return found == documents_.end() ? nullptr : found->get();
}

void documents::close(document_id id) {
  const auto found = std::find_if(documents_.begin(), documents_.end(), [id](const auto& d) { return d->id == id; });
  if (found == documents_.end()) return;
  const std::string scratch = (*found)->removed_at_close ? (*found)->path : std::string();
  documents_.erase(found);
  std::error_code ignored;
  if (!scratch.empty()) std::filesystem::remove(scratch, ignored);
  history_.forget(id);
  comparisons.forget(id);
  if (active_ == id) {
    active_ = document_id::none;
    here_ = {};
    if (!documents_.empty()) activate(documents_.back()->id);
  }
}

void documents::activate(document_id id) {
  const document* next = find(id);
  if (next == nullptr) return;
  comparisons.leave();
  if (id == active_) return;
  if (active_ != document_id::none) history_.remember(here_);
  active_ = id;
  here_ = {selection{id, selection_kind::none, 0}, std::nullopt, next->target, std::nullopt};
}

bool documents::busy() const {
  return opening() || std::any_of(documents_.begin(), documents_.end(),
                                  [](const auto& d) { return d->engine && d->engine->busy(); });
}

std::vector<error> documents::take_failures() { return std::exchange(failures_, {}); }

void documents::select(const selection& chosen) {
  if (chosen == here_.selected) return;
  history_.remember(here_);
  here_.selected = chosen;
  if (here_.selected.document == document_id::none) here_.selected.document = active_;
}

void documents::select_range(std::optional<time_range> range) {
  if (range == here_.range) return;
  history_.remember(here_);
  here_.range = range;
}

void documents::mark(time_range range) {
  if (!is_moment(range)) return select_range(range);
  const time_ns middle = range.begin + range.length() / 2;
  if (!here_.range && here_.moment == middle) return;
  history_.remember(here_);
  here_.range.reset();
  here_.moment = middle;
}

void documents::select_nothing() {
  const selection nothing{active_, selection_kind::none, 0};
  if (here_.selected == nothing && !here_.range && !here_.moment) return;
  history_.remember(here_);
  here_.selected = nothing;
  here_.range.reset();
  here_.moment.reset();
}

void documents::show(time_range visible, bool animate) {
  document* shown = active();
  if (shown == nullptr) return;
  shown->target = clamp_view(visible, shown->span);
  shown->follows = shown->target == with_air(shown->active, *shown) ? view_follows::active_time
                   : shown->target == with_margin(shown->span)      ? view_follows::everything
                                                                    : view_follows::nothing;
  if (!animate || !animations) shown->visible = shown->target;
  here_.visible = shown->target;
}

void documents::go_to(time_range visible, bool animate) {
  history_.remember(here_);
  show(visible, animate);
}

bool documents::moving() const {
  const document* shown = active();
  return shown != nullptr && shown->visible != shown->target;
}

void documents::apply(const location& where) {
  if (where.selected.document != document_id::none && find(where.selected.document) != nullptr)
    active_ = where.selected.document;
  comparisons.leave();
  here_ = where;
  show(where.visible, true);
}

void documents::back() {
  if (history_.can_go_back()) apply(history_.go_back(here_));
}

void documents::forward() {
  if (history_.can_go_forward()) apply(history_.go_forward(here_));
}

}  // namespace sluice::gui
