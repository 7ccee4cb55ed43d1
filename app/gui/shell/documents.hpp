#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/shell/kept_view.hpp"
#include "app/gui/shell/selection.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::gui {

/// What the visible range follows while a recording grows.
enum class view_follows : std::uint8_t {
  nothing,
  active_time,  ///< As the view opens: the active time with some air.
  everything
};

/// An open recording. A worker thread opens the file; the document is created when that has succeeded.
struct document {
  document_id id{};
  std::string path;
  std::string title;              ///< The file's name, printable; for the window title and menus.
  bool live = false;              ///< The recording is still being written and the view follows it.
  bool removed_at_close = false;  ///< A demo's scratch file: deleted when closed.
  bool copied = false;            ///< A copy of it was saved.
  // Of a recording that was opened by an address (core/remote/address.hpp).
  std::shared_ptr<trace::byte_source> source;  ///< Its bytes; null: they are in the file `path`, or not here.
  std::shared_ptr<query::answerer> answerer;   ///< Who has its rows, if these are not here; otherwise null.
  bool cut_off = false;                        ///< `answerer` cannot be reached any more.
  std::unique_ptr<query::engine> engine;
  query::time_range span;     ///< Of the whole recording; empty until known.
  query::time_range active;   ///< From the first to the last device work or allocation; `span` until known.
  query::time_range visible;  ///< The time range that the timeline shows.
  query::time_range target;   ///< The range that the view is moving to.
  view_follows follows = view_follows::active_time;
  query::slot<query::tracks_question> about;  ///< Tells the active time.
  /// What panels group memory by if the user does not choose: `analysis::report::grouping`, once it is known. While the
  /// recording grows it stays, until the user has it chosen anew. None: not known yet. Set by whichever panel is drawn
  /// first (`grouping_of`).
  mutable std::optional<symbols::attribution> grouping;

  [[nodiscard]] bool ready() const { return engine != nullptr && span.length() > 0; }
};

/// The open documents, the selection and the navigation history: all state of the window except ImGui's. Changed by
/// commands, read by views. Use only on the window's thread.
class documents {
 public:
  /// `wake` must be callable from any thread.
  explicit documents(std::function<void()> wake);
  ~documents();

  /// Starts to open `path`, or an address (core/remote/address.hpp), in the background: imports a foreign file first,
  /// summarizes a large unfinished recording first. If it is open already, activates it instead, unless `live` (keep
  /// reading appended data).
  void open(const std::string& path, bool live = false);
  /// Opens the active document again, with the current `sources_from`.
  void reopen();
  void close(document_id id);
  void activate(document_id id);
  /// Finishes opened documents and updates live ones. Call once per frame. Returns true if something changed.
  bool update(double seconds);
  /// Where there are no threads, works on answers until the time is over: call it between frames.
  void work_here(std::chrono::steady_clock::time_point until);

  [[nodiscard]] document* active();
  [[nodiscard]] const document* active() const;
  /// True if the active document can be drawn.
  [[nodiscard]] bool ready() const { return active() != nullptr && active()->ready(); }
  [[nodiscard]] document* find(document_id id);
  [[nodiscard]] const std::vector<std::unique_ptr<document>>& all() const { return documents_; }
  [[nodiscard]] bool opening() const { return !loads_.empty(); }
  [[nodiscard]] const std::string& opening_path() const;
  /// Progress of the import or summary, 0..1; 0 while the file is only being opened.
  [[nodiscard]] float opening_progress() const;
  /// What is being done to the file, e.g. "Importing a.json".
  [[nodiscard]] std::string opening_words() const;
  /// Cancels the files being opened; their import or summary ends soon after.
  void cancel_opening();
  /// True while a query of any document is running or a file is being opened.
  [[nodiscard]] bool busy() const;

  /// The errors of files that could not be opened, and of connections that broke, since the last call.
  [[nodiscard]] std::vector<error> take_failures();
  /// Called after a document was opened.
  std::function<void(const document&)> opened;
  /// Tells what the views of a document keep.
  std::function<kept_view(document_id)> kept;

  // The selection and its history.
  [[nodiscard]] const location& here() const { return here_; }
  [[nodiscard]] const selection& selected() const { return here_.selected; }
  [[nodiscard]] const std::optional<query::time_range>& range() const { return here_.range; }
  [[nodiscard]] const std::optional<query::time_ns>& moment() const { return here_.moment; }
  /// Begins what the user does next: all changes until the next call are one step in the history. Without any call each
  /// change is a step of its own.
  void begin_action() { action_ = action::begun; }
  /// True if a step was put into the history since `begin_action`.
  [[nodiscard]] bool in_step() const { return action_ == action::remembered; }
  /// Changes the selection. `back` undoes this.
  void select(const selection& what);
  void select_range(std::optional<query::time_range> range);
  /// Marks where something is: selects the range, or, if it is a moment (`is_moment`), sets the moment and selects no
  /// range. `back` undoes this.
  void mark(query::time_range range);
  /// Selects nothing: neither an item, nor a range, nor a moment. One step in the history.
  void select_nothing();
  /// Sets the moment without a step in the history.
  void set_moment(std::optional<query::time_ns> moment) { here_.moment = moment; }
  /// The last request to bring something onto the screen; its number is 0 if there was none.
  [[nodiscard]] const reveal_request& revealed() const { return revealed_; }
  void reveal(const selection& what, query::time_range span, std::uint64_t track) {
    revealed_ = {revealed_.number + 1, what, span, track};
  }
  /// Moves the view: at once, or smoothly if `animate`. Not a step in the history.
  void show(query::time_range visible, bool animate);
  /// Moves the view as a step that `back` undoes.
  void go_to(query::time_range visible, bool animate);
  [[nodiscard]] bool can_go_back() const { return !back_.empty(); }
  [[nodiscard]] bool can_go_forward() const { return !forward_.empty(); }
  void back();
  void forward();
  /// True while the view is moving.
  [[nodiscard]] bool moving() const;
  /// Limits `wanted` to `span` with a margin, and to the narrowest allowed width.
  [[nodiscard]] static query::time_range clamp(query::time_range wanted, query::time_range span);

  bool animations = true;
  std::vector<std::string> sources_from;  ///< For documents opened from now on: see trace::reader_options.
  std::function<std::shared_ptr<trace::byte_source>(const std::string& path)> source_of;  ///< See `surroundings`.
  std::size_t memory_bytes = query::engine_options{}.memory_bytes;  ///< For each document opened from now on.
  bool memory_by_category = true;  ///< Memory tracks show the categories of framework blocks.

 private:
  struct load;
  enum class action : std::uint8_t { single, begun, remembered };
  void remember();
  void apply(const location& where);
  void take_loads();
  void follow(document& which);

  std::function<void()> wake_;
  std::vector<std::unique_ptr<document>> documents_;
  std::vector<std::unique_ptr<load>> loads_;
  std::vector<error> failures_;
  document_id active_ = document_id::none;
  std::uint32_t next_id_ = 1;
  location here_;
  action action_ = action::single;
  reveal_request revealed_;
  std::vector<location> back_;
  std::vector<location> forward_;
};

}  // namespace sluice::gui
