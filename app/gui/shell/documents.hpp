#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/shell/selection.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::gui {

/// An open recording. Its file is opened by a thread of its own: until then `engine` is null.
struct document {
  document_id id{};
  std::string path;
  std::string title;              ///< Of the window and of menus: the file's name, printable.
  bool live = false;              ///< Somebody still writes it, and the view follows.
  bool removed_at_close = false;  ///< A demo's scratch file.
  std::unique_ptr<query::engine> engine;
  query::time_range span;     ///< Of the whole recording; empty until known.
  query::time_range visible;  ///< What the timeline shows.
  query::time_range target;   ///< What it is gliding to.
  bool fitted = true;         ///< Shows all of it, and keeps doing so while it grows.

  [[nodiscard]] bool ready() const { return engine != nullptr && span.length() > 0; }
};

/// What is open, what is selected, and the way there. All state of the window that is not ImGui's. Changed by commands,
/// read by views; belongs to the window's thread.
class documents {
 public:
  /// `wake` may be called from any thread.
  explicit documents(std::function<void()> wake);
  ~documents();

  /// Begins to open `path`, importing it first if another tool recorded it, and summing it up first if it is large and has no end. A
  /// document that is open already comes to the front. `live`: keep reading what is appended.
  void open(const std::string& path, bool live = false);
  /// Opens the active document anew, with `sources_from` as it is now.
  void reopen();
  void close(document_id id);
  /// A live recording gets no more events: its process has ended.
  void stop_following(document_id id);
  void activate(document_id id);
  /// Takes finished openings, follows live documents; once a frame. True if something changed.
  bool update(double seconds);

  [[nodiscard]] document* active();
  [[nodiscard]] const document* active() const;
  /// Whether the active document can be drawn.
  [[nodiscard]] bool ready() const { return active() != nullptr && active()->ready(); }
  [[nodiscard]] document* find(document_id id);
  [[nodiscard]] const std::vector<std::unique_ptr<document>>& all() const { return documents_; }
  [[nodiscard]] bool opening() const { return !loads_.empty(); }
  [[nodiscard]] const std::string& opening_path() const;
  /// How far what is done with it first is, 0..1; 0 while it is only opened.
  [[nodiscard]] float opening_progress() const;
  /// What that is, in words: as "Importing a.json".
  [[nodiscard]] std::string opening_words() const;
  /// Gives up what is being opened; what is done with it first ends soon after.
  void cancel_opening();
  /// True while a question of any document is being answered, or a file opened.
  [[nodiscard]] bool busy() const;

  /// Files that could not be opened since the last call, as lines for the user.
  [[nodiscard]] std::vector<error> take_failures();
  /// Called with the path of each file that was opened.
  std::function<void(const document&)> opened;

  // The selection and the history of it.
  [[nodiscard]] const location& here() const { return here_; }
  [[nodiscard]] const selection& selected() const { return here_.selected; }
  [[nodiscard]] const std::optional<query::time_range>& range() const { return here_.range; }
  [[nodiscard]] const std::optional<query::time_ns>& moment() const { return here_.moment; }
  /// Selecting is a step that `back` undoes.
  void select(const selection& what);
  void select_range(std::optional<query::time_range> range);
  /// Not a step of its own.
  void set_moment(std::optional<query::time_ns> moment) { here_.moment = moment; }
  /// Moves the view: at once, or gliding there when `animate`. Not a step of its own.
  void show(query::time_range visible, bool animate);
  /// Moves the view as a step that `back` undoes.
  void go_to(query::time_range visible, bool animate);
  [[nodiscard]] bool can_go_back() const { return !back_.empty(); }
  [[nodiscard]] bool can_go_forward() const { return !forward_.empty(); }
  void back();
  void forward();
  /// True while the view glides.
  [[nodiscard]] bool moving() const;
  /// The narrowest and widest view that makes sense, applied to `wanted`.
  [[nodiscard]] static query::time_range clamp(query::time_range wanted, query::time_range span);

  bool animations = true;
  std::vector<std::string> sources_from;  ///< Of each document opened from now on: see trace::reader_options.
  std::size_t memory_bytes = query::engine_options{}.memory_bytes;  ///< Of each document opened from now on.
  bool memory_by_category = true;  ///< Tracks of memory show what a framework's blocks are for.

 private:
  struct load;
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
  std::vector<location> back_;
  std::vector<location> forward_;
};

}  // namespace sluice::gui
