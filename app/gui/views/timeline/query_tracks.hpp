#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/views/timeline/track_row.hpp"
#include "core/query/sql/sql_track.hpp"

namespace sluice::gui {

/// The tracks of one document whose slices are the rows of SQL queries.
class query_tracks {
 public:
  struct one {
    std::uint64_t id = 0;  ///< An id like `query::track::id`, but different from the ids of the recording's tracks.
    std::string text;      ///< The query.
    query::track about;    ///< Its label is `name_of_query`.
    std::unique_ptr<query::sql_track_task> task;
    std::shared_ptr<const query::sql_track> rows;  ///< Null until the query's rows have been read.
    std::unique_ptr<track_row> row;
  };

  /// Adds a track at the top. Does nothing if a track of the same query exists, or if there are already `most` tracks.
  void add(const document& subject, std::string text, std::function<void()> wake);
  void remove(std::uint64_t id);
  /// Takes the rows of completed queries, and creates the timeline rows that draw them.
  void update();
  /// Frees the GPU memory of the tracks; `update` allocates it again.
  void let_go_rows();
  [[nodiscard]] const std::vector<one>& all() const { return all_; }
  [[nodiscard]] const one* find(std::uint64_t id) const;
  /// True while one of the queries is running.
  [[nodiscard]] bool busy() const;
  /// The text of each query, from top to bottom.
  [[nodiscard]] std::vector<std::string> texts() const;

  static constexpr std::size_t most = 8;

 private:
  std::vector<one> all_;
  std::vector<std::future<void>> given_up_;  ///< Futures of removed queries that are still running. No code waits for
                                             ///< them.
};

/// The query tracks of all open documents.
class open_query_tracks {
 public:
  /// `wake` is called when a query has ended, and must be callable from any thread.
  explicit open_query_tracks(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// Adds a track of `text` at the top of the document's tracks.
  void add(const document& recording, std::string text) {
    tracks_[recording.id].add(recording, std::move(text), wake_);
  }
  void remove(document_id document, std::uint64_t track) { tracks_[document].remove(track); }
  /// Removes the tracks of documents that are not open any more.
  void forget_closed(const documents& state);
  /// Frees the GPU memory of all tracks.
  void let_go_rows();
  /// The tracks of a document; null if no track was ever added to the document.
  [[nodiscard]] query_tracks* find(document_id document);
  [[nodiscard]] const query_tracks* find(document_id document) const;
  /// True while one of the queries is running.
  [[nodiscard]] bool busy() const;

 private:
  std::map<document_id, query_tracks> tracks_;
  std::function<void()> wake_;
};

/// The name of a query's track: the comment at the start of the query; if there is none, the query's text, shortened to
/// one line; printable.
[[nodiscard]] std::string name_of_query(const std::string& text);

/// Creates a timeline row that draws the result rows of a query. If they are nested deeply, the row draws only the
/// first lanes.
[[nodiscard]] std::unique_ptr<track_row> make_query_row(std::shared_ptr<const query::sql_track> rows);

}  // namespace sluice::gui
