#include "app/gui/shell/documents.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "app/gui/views/shown_range.hpp"
#include "core/base/printable.hpp"
#include "core/base/threads/worker_thread.hpp"
#include "core/import/import.hpp"
#include "core/index/event_store.hpp"
#include "core/query/elsewhere/answerer.hpp"
#include "core/remote/address.hpp"
#include "core/summary/passes/finalize.hpp"

namespace sluice::gui {
namespace {

/// Size of each document's cache of chunks that are read repeatedly.
constexpr std::size_t chunk_cache_bytes = std::size_t{32} << 20;

constexpr std::size_t history_limit = 200;
constexpr time_ns narrowest = 10;  // ns across the window; below this, a pixel is shorter than 1 ns

/// Adds a small margin to a range, so that the first and the last event do not touch the frame.
time_range with_margin(time_range span) {
  const time_ns air = std::max<time_ns>(span.length() / 100, 1);
  return {span.begin - air, span.end + air};
}

/// The initial visible range: the active time with a margin of 5 % on either side. The whole recording would be a bad
/// choice, because a program may import libraries for seconds before it uses the GPU.
time_range first_view(const document& of) {
  const time_range whole = with_margin(of.span);
  if (of.active.length() <= 0) return whole;
  const time_ns air = of.active.length() / 20 + 1;
  return {std::max(whole.begin, of.active.begin - air), std::min(whole.end, of.active.end + air)};
}

}  // namespace

struct documents::load {
  document_id id{};
  std::string path;
  bool live = false;
  std::shared_ptr<trace::byte_source> found;  ///< The recording's bytes; null if they are in the file at `path`.
  std::atomic<bool> finished = false;
  std::atomic<bool> cancelled = false;
  std::atomic<float> progress = 0;
  std::atomic<const char*> unfinished = nullptr;  ///< Why the recording is summarized; null if it is not.
  result<std::shared_ptr<trace::file>> opened = nullptr;
  std::string title;                           ///< Set only for a document opened by an address.
  std::shared_ptr<trace::byte_source> source;  ///< Set only for a document opened by an address.
  std::shared_ptr<query::answerer> answerer;   ///< Set only for a document opened by an address.
  worker_thread worker;

  result<std::shared_ptr<trace::file>> open_by_address(const trace::reader_options& reading) {
    progress = 0.01F;  // Makes the window show a progress bar, and a button to cancel.
    auto reached = remote::open_address(path, reading, [this] { return cancelled.load(); });
    if (!reached) return tl::unexpected(reached.error());
    title = reached->title;
    source = reached->source;
    answerer = reached->answerer;
    return reached->file;
  }

  void work(std::size_t memory_bytes, const std::vector<std::string>& sources_from, const std::function<void()>& wake) {
    const auto tell = [this, wake](double share) {
      progress = static_cast<float>(share);
      if (wake) wake();
    };
    importing::options with;
    with.cancel = &cancelled;
    with.progress = tell;
    const trace::reader_options reading{.cache_bytes = chunk_cache_bytes, .sources_from = sources_from};
    if (remote::is_address(path)) {
      opened = open_by_address(reading);
    } else if (found && importing::recognise(path) == importing::format::sluice) {
      opened = trace::file::open(std::move(found), reading);
    } else {
      opened = importing::open_any(path, with, reading);
    }
    if (!opened || answerer) return;
    const auto trace = (*opened)->latest();
    const summary::unfinished_options how{
        .memory_bytes = memory_bytes, .cancelled = [this] { return cancelled.load(); }, .progress = tell};
    if (summary::wants_summing_up(*trace, how))
      unfinished =
          trace->growing() ? " is still being written: summarizing it so far" : " was cut short: summarizing it";
    const auto summed = summary::summed_up(trace, how);
    if (summed) {
      (*opened)->adopt(*summed);
    } else {
      opened = tl::unexpected(summed.error());
    }
  }

  ~load() {
    cancelled = true;
    worker.join();
  }
};

documents::documents(std::function<void()> wake) : wake_(std::move(wake)) {}

documents::~documents() {
  loads_.clear();
  while (!documents_.empty()) close(documents_.back()->id);
}

void documents::open(const std::string& path, bool live) {
  for (const auto& open : documents_)
    if (open->path == path && !live) return activate(open->id);
  auto started = std::make_unique<load>();
  started->id = static_cast<document_id>(next_id_++);
  started->path = path;
  started->live = live;
  if (source_of) started->found = source_of(path);
  load* raw = started.get();
  const auto work = [raw, memory = memory_bytes, folders = sources_from, wake = wake_] {
    raw->work(memory, folders, wake);
    raw->finished = true;
    if (wake) wake();
  };
  if (auto running = started->worker.start(work, path); !running) return failures_.push_back(running.error());
  loads_.push_back(std::move(started));
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

const std::string& documents::opening_path() const {
  static const std::string none;
  return loads_.empty() ? none : loads_.back()->path;
}

float documents::opening_progress() const { return loads_.empty() ? 0 : loads_.back()->progress.load(); }

std::string documents::opening_words() const {
  if (loads_.empty()) return {};
  if (remote::is_address(opening_path())) return "Connecting to " + printable(opening_path());
  const std::string name = printable(std::filesystem::path(opening_path()).filename().string());
  const char* unfinished = loads_.back()->unfinished;
  return unfinished != nullptr ? name + unfinished : "Importing " + name;
}

void documents::cancel_opening() {
  for (const auto& each : loads_) each->cancelled = true;
}

void documents::take_loads() {
  for (auto& ready : loads_) {
    if (!ready->finished) continue;
    if (!ready->opened && ready->opened.error().code == error_code::cancelled) {
      // The user cancelled the opening.
    } else if (!ready->opened) {
      failures_.push_back(ready->opened.error());
    } else {
      auto made = std::make_unique<document>();
      made->id = ready->id;
      made->path = ready->path;
      made->title =
          printable(!ready->title.empty() ? ready->title : std::filesystem::path(ready->path).filename().string());
      made->source = ready->source;
      made->answerer = ready->answerer;
      made->engine = std::make_unique<query::engine>(
          *ready->opened,
          query::engine_options{.wake = wake_, .memory_bytes = memory_bytes, .elsewhere = ready->answerer});
      made->live = made->engine->snapshot()->growing();
      made->span = index::time_range_of(*made->engine->snapshot());
      made->active = made->span;
      made->visible = made->target = first_view(*made);
      documents_.push_back(std::move(made));
      activate(ready->id);
      if (opened) opened(*documents_.back());
    }
    ready.reset();
  }
  std::erase(loads_, nullptr);
}

void documents::follow(document& which) {
  if (which.answerer && !which.cut_off && !which.answerer->alive()) {
    which.cut_off = true;
    failures_.push_back({error_code::io, "the connection was lost; only data received before that is shown", which.path,
                         error::no_offset, "open it again"});
  }
  if (which.live) which.engine->refresh();
  const auto shot = which.engine->snapshot();
  which.live = which.live && shot->growing();
  which.span = index::time_range_of(*shot);
  const auto about = which.about.ask(*which.engine, {});
  which.active = about && about->active.length() > 0 ? about->active : which.span;
  if (which.follows == view_follows::nothing) return;
  const time_range now = which.follows == view_follows::everything ? with_margin(which.span) : first_view(which);
  if (now == which.target) return;
  which.visible = which.target = now;
  if (which.id == active_) here_.visible = which.target;
}

bool documents::update(double seconds) {
  const std::size_t before = loads_.size();
  take_loads();
  for (const auto& each : documents_) follow(*each);
  document* shown = active();
  if (shown != nullptr && shown->visible != shown->target) {
    const double share = animations ? 1 - std::exp(-seconds * 20) : 1;
    const auto step = [share](time_ns from, time_ns to) {
      return from + static_cast<time_ns>(static_cast<double>(to - from) * share);
    };
    const time_range next{step(shown->visible.begin, shown->target.begin), step(shown->visible.end, shown->target.end)};
    const auto near = static_cast<double>(shown->target.length()) / 2000;
    const bool arrived = std::fabs(static_cast<double>(next.begin - shown->target.begin)) < near &&
                         std::fabs(static_cast<double>(next.end - shown->target.end)) < near;
    shown->visible = arrived || next == shown->visible || next.length() <= 0 ? shown->target : next;
  }
  return before != loads_.size();
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
  const auto gone = [id](const location& where) { return where.selected.document == id; };
  std::erase_if(back_, gone);
  std::erase_if(forward_, gone);
  if (active_ == id) {
    active_ = document_id::none;
    here_ = {};
    if (!documents_.empty()) activate(documents_.back()->id);
  }
}

void documents::activate(document_id id) {
  if (id == active_) return;
  const document* next = find(id);
  if (next == nullptr) return;
  if (active_ != document_id::none) remember();
  active_ = id;
  here_ = {selection{id, selection_kind::none, 0}, std::nullopt, next->target, std::nullopt};
}

bool documents::busy() const {
  return !loads_.empty() || std::any_of(documents_.begin(), documents_.end(),
                                        [](const auto& d) { return d->engine && d->engine->busy(); });
}

std::vector<error> documents::take_failures() { return std::exchange(failures_, {}); }

void documents::remember() {
  if (in_step()) return;
  if (action_ == action::begun) action_ = action::remembered;
  if (!back_.empty() && back_.back() == here_) return;
  back_.push_back(here_);
  if (back_.size() > history_limit) back_.erase(back_.begin());
  forward_.clear();
}

void documents::select(const selection& what) {
  if (what == here_.selected) return;
  remember();
  here_.selected = what;
  if (here_.selected.document == document_id::none) here_.selected.document = active_;
}

void documents::select_range(std::optional<time_range> range) {
  if (range == here_.range) return;
  remember();
  here_.range = range;
}

void documents::mark(time_range range) {
  if (!is_moment(range)) return select_range(range);
  const time_ns middle = range.begin + range.length() / 2;
  if (!here_.range && here_.moment == middle) return;
  remember();
  here_.range.reset();
  here_.moment = middle;
}

void documents::select_nothing() {
  const selection nothing{active_, selection_kind::none, 0};
  if (here_.selected == nothing && !here_.range && !here_.moment) return;
  remember();
  here_.selected = nothing;
  here_.range.reset();
  here_.moment.reset();
}

time_range documents::clamp(time_range wanted, time_range span) {
  const time_range whole = with_margin(span);
  wanted = bounded(wanted);
  const time_ns length = std::clamp(wanted.length(), std::min(narrowest, whole.length()), whole.length());
  // Change the length but keep the middle; then move the range back into the limits.
  time_ns begin = wanted.begin + (wanted.length() - length) / 2;
  begin = std::clamp(begin, whole.begin, whole.end - length);
  return {begin, begin + length};
}

void documents::show(time_range visible, bool animate) {
  document* shown = active();
  if (shown == nullptr) return;
  shown->target = clamp(visible, shown->span);
  shown->follows = shown->target == first_view(*shown)         ? view_follows::active_time
                   : shown->target == with_margin(shown->span) ? view_follows::everything
                                                               : view_follows::nothing;
  if (!animate || !animations) shown->visible = shown->target;
  here_.visible = shown->target;
}

void documents::go_to(time_range visible, bool animate) {
  remember();
  show(visible, animate);
}

bool documents::moving() const {
  const document* shown = active();
  return shown != nullptr && shown->visible != shown->target;
}

void documents::apply(const location& where) {
  if (where.selected.document != document_id::none && find(where.selected.document) != nullptr)
    active_ = where.selected.document;
  here_ = where;
  show(where.visible, true);
}

void documents::back() {
  if (back_.empty()) return;
  forward_.push_back(here_);
  const location where = back_.back();
  back_.pop_back();
  apply(where);
}

void documents::forward() {
  if (forward_.empty()) return;
  back_.push_back(here_);
  const location where = forward_.back();
  forward_.pop_back();
  apply(where);
}

}  // namespace sluice::gui
