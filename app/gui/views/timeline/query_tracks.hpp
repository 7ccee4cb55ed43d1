#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/views/timeline/track_row.hpp"
#include "core/query/sql/sql_track.hpp"

namespace sluice::gui {

/// Tracks whose slices are the rows of queries, of one document.
class query_tracks {
 public:
  struct one {
    std::uint64_t id = 0;  ///< As `query::track::id`; of no track of the recording.
    std::string text;      ///< The query.
    query::track about;    ///< Its label is `name_of_query`.
    std::unique_ptr<query::sql_track_task> task;
    std::shared_ptr<const query::sql_track> rows;  ///< Null until they are read.
    std::unique_ptr<track_row> row;
  };

  /// Adds a track, at the top, or does nothing if there is one of that query or there are `most`.
  void add(const document& of, std::string text, std::function<void()> wake);
  void remove(std::uint64_t id);
  /// Takes the rows of queries that are done, and makes the rows that draw them.
  void update();
  /// Gives back what is on the GPU; `update` makes it anew.
  void let_go_rows();
  [[nodiscard]] const std::vector<one>& all() const { return all_; }
  [[nodiscard]] const one* find(std::uint64_t id) const;
  /// True while a query runs.
  [[nodiscard]] bool busy() const;
  /// The queries, from the top down.
  [[nodiscard]] std::vector<std::string> texts() const;

  static constexpr std::size_t most = 8;

 private:
  std::vector<one> all_;
  std::vector<std::future<void>> given_up_;  ///< Removed queries that still end; nothing waits for them.
};

/// What a track of a query is called: a comment at its begin, or else its text, cut to one short line; printable.
[[nodiscard]] std::string name_of_query(const std::string& text);

/// A row for the rows of a query. Of deep ones it draws the first lanes.
[[nodiscard]] std::unique_ptr<track_row> make_query_row(std::shared_ptr<const query::sql_track> rows);

}  // namespace sluice::gui
