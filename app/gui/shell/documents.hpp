#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/shell/comparison_tabs.hpp"
#include "app/gui/shell/document_loader.hpp"
#include "app/gui/shell/kept_view.hpp"
#include "app/gui/shell/selection.hpp"
#include "app/gui/shell/view_history.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::gui {

/// What the visible range tracks while a recording grows.
enum class view_follows : std::uint8_t {
  nothing,
  opening,      ///< What the view shows first, until the user chooses something else.
  active_time,  ///< The active time with a margin.
  everything
};

/// An open recording. A worker thread opens the file; the document is created once the file is open.
struct document {
  document_id id{};
  std::string path;
  std::string title;              ///< The file's name, printable; used in the window title and in menus.
  bool live = false;              ///< The recording is still being written, and the view follows it.
  bool removed_at_close = false;  ///< The file is a demo's scratch file, which is deleted when the document is closed.
  bool copied = false;            ///< The user has saved a copy.
  // For a recording opened by an address (core/remote/address.hpp):
  std::shared_ptr<trace::byte_source> source;  ///< The recording's bytes; null if they are in the file `path`, or on
                                               ///< another host.
  std::shared_ptr<query::sql_host> host;       ///< The other host that has the recording; null if there is none.
  bool cut_off = false;                        ///< The connection to `host` is lost.
  std::unique_ptr<query::engine> engine;
  time_range span;     ///< Time range of the whole recording; empty until known.
  time_range active;   ///< From the first to the last device work or allocation; `span` until known.
  time_range opening;  ///< The part of `active` to show first; `active` until known.
  time_range visible;  ///< The time range that the timeline shows.
  time_range target;   ///< The range that the view is moving to.
  view_follows follows = view_follows::opening;
  query::slot<query::tracks_query> about;  ///< The query from whose result `active` and `opening` are taken.
  /// How panels group memory unless the user chooses: `metrics::report::grouping`. While the recording grows, the
  /// grouping does not change unless the user chooses "automatic" again. None until known. The first panel that is
  /// drawn sets it (`choose_grouping`).
  mutable std::optional<symbols::attribution> grouping;

  document() = default;
  ~document() {
    if (host) host->end();  // The engine's tasks may be waiting for bytes.
  }
  document(const document&) = delete;
  document& operator=(const document&) = delete;

  [[nodiscard]] bool ready() const { return engine != nullptr && span.length() > 0; }
};

/// Limits `wanted` to `span` with a margin, and to at least the smallest width that the window can show.
[[nodiscard]] time_range clamp_view(time_range wanted, time_range span);

/// The open documents, the selection and the navigation history: all state of the window except ImGui's. Commands
/// change this state, and views read it. Use only on the window's thread.
class documents {
 public:
  /// `wake` must be callable from any thread.
  explicit documents(std::function<void()> wake);
  ~documents();

  /// Starts to open `path`, or an address (core/remote/address.hpp), in the background. If the recording is already
  /// open, activates it instead, unless `live`. `live`: keep reading data that is appended to the recording.
  void open(const std::string& path, bool live = false);
  /// Opens the active document again, with the current `sources_from`.
  void reopen();
  void close(document_id id);
  void activate(document_id id);
  /// Completes documents that were opened in the background, and updates live documents. Call once per frame. Returns
  /// true if something changed.
  bool update(double seconds);
  /// On platforms without threads, works on queries until the time `until`. Call between frames.
  void work_here(std::chrono::steady_clock::time_point until);

  [[nodiscard]] document* active();
  [[nodiscard]] const document* active() const;
  /// True if the active document can be drawn.
  [[nodiscard]] bool ready() const { return active() != nullptr && active()->ready(); }
  [[nodiscard]] document* find(document_id id);
  [[nodiscard]] const std::vector<std::unique_ptr<document>>& all() const { return documents_; }
  [[nodiscard]] bool opening() const { return loader_.count() > 0; }
  /// Describes the files that are being opened.
  [[nodiscard]] const document_loader& loader() const { return loader_; }
  void cancel_opening() { loader_.cancel(); }
  /// True while a query of any document is running or a file is being opened.
  [[nodiscard]] bool busy() const;

  /// Returns the errors since the last call: files that could not be opened, and lost connections.
  [[nodiscard]] std::vector<error> take_failures();
  /// Called after a document has been opened.
  std::function<void(const document&)> opened;
  /// Called to get the view state to save for a document.
  std::function<kept_view(document_id)> kept;

  // The selection and its history.
  [[nodiscard]] const location& here() const { return here_; }
  [[nodiscard]] const selection& selected() const { return here_.selected; }
  [[nodiscard]] const std::optional<time_range>& range() const { return here_.range; }
  [[nodiscard]] const std::optional<time_ns>& moment() const { return here_.moment; }
  [[nodiscard]] const view_history& history() const { return history_; }
  /// See `view_history::begin_action`.
  void begin_action() { history_.begin_action(); }
  /// Changes the selection. `back` undoes the change.
  void select(const selection& chosen);
  void select_range(std::optional<time_range> range);
  /// Marks a place in time. If `range` is a moment (`is_moment`), sets the moment and clears the selected range;
  /// otherwise selects the range. `back` undoes the change.
  void mark(time_range range);
  /// Clears the selected item, range and moment, as one step in the history.
  void select_nothing();
  /// Sets the moment without adding a step to the history.
  void set_moment(std::optional<time_ns> moment) { here_.moment = moment; }
  /// The most recent request to bring something onto the screen. Its number is 0 if there was none.
  [[nodiscard]] const reveal_request& revealed() const { return revealed_; }
  void reveal(const selection& chosen, time_range span, std::uint64_t track) {
    revealed_ = {revealed_.number + 1, chosen, span, track};
  }
  /// Moves the view to `visible`: smoothly if `animate`, otherwise at once. Adds no step to the history.
  void show(time_range visible, bool animate);
  /// Moves the view like `show`, as a step that `back` undoes.
  void go_to(time_range visible, bool animate);
  void back();
  void forward();
  /// True while the view is moving.
  [[nodiscard]] bool moving() const;

  comparison_tabs comparisons;  ///< The open comparisons. Activating a document brings it before them.
  bool animations = true;
  std::vector<std::string> sources_from;  ///< Applies to documents opened from now on; see trace::reader_options.
  std::function<std::shared_ptr<trace::byte_source>(const std::string& path)> get_source;  ///< See `platform_services`.
  std::size_t memory_bytes = query::engine_options{}.memory_bytes;  ///< Memory limit of each document opened from now
                                                                    ///< on.
  bool memory_by_category = true;  ///< Memory tracks show the categories of framework blocks.

 private:
  void apply(const location& where);
  void add_loaded();
  void follow(document& which);

  std::function<void()> wake_;
  std::vector<std::unique_ptr<document>> documents_;
  document_loader loader_;
  std::vector<error> failures_;
  document_id active_ = document_id::none;
  std::uint32_t next_id_ = 1;
  location here_;
  reveal_request revealed_;
  view_history history_;
};

}  // namespace sluice::gui
