#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/query/results/block_filters.hpp"
#include "core/query/results/result_functions.hpp"
#include "core/query/sources/block_columns.hpp"

/// Filters and sorts blocks for the table that answers a `blocks_query`, whatever source they come from. Private to
/// core/query.
namespace sluice::query {

/// Fills in the members `by`, `names`, `asked_by` and `steps` of `table` for its rows. `steps` is null if the recording
/// has no steps. O(rows * log steps + frames of the rows' stacks).
void complete_rows(const blocks_query& query, const sources& source, const index::step_facts* steps,
                   block_table& table);

/// Some blocks, whose columns can be read one by one.
struct block_chunk {
  std::uint64_t place = 0;  ///< Identifies the first row; the next rows have the next numbers.
  std::size_t rows = 0;
  bool in_range = true;     ///< All blocks are live in the query's range.
  bool uses_known = false;  ///< If false, no block is known to be unused.
  std::function<result<void>(list_column, block_values&)> read;
  /// True if a block contains others, such as a segment. It has no uses of its own, because programs use the inner
  /// blocks. May be empty unless the query wants unused blocks only.
  std::function<bool(trace::block_id)> contains_others;
};

/// Selects the first rows of the table. Reads only the columns that the query needs.
class block_selection {
 public:
  /// Objects that `source` refers to, except its index, must outlive this object.
  block_selection(const blocks_query& query, const sources& source);

  /// Adds the blocks that pass the filters. O(rows). Errors: those of reading.
  result<void> add(const block_chunk& chunk);

  /// Sorts the blocks found so far, at most as many as the query wants, and returns the places of the first `count`.
  [[nodiscard]] std::vector<std::uint64_t> sort(std::size_t count = block_table::row_limit);

  /// Returns the places of those of `places` that have no row yet, in ascending order.
  [[nodiscard]] std::vector<std::uint64_t> list_missing(std::span<const std::uint64_t> places) const;
  void put_row(std::uint64_t place, block_row row) {
    if (!query_.needs_uses()) row.set_uses({});
    rows_.emplace(place, row);
  }
  /// Limits the memory for rows that earlier calls of `sort` needed.
  void forget_rows() {
    if (rows_.size() > 16 * block_table::first_rows) rows_.clear();
  }
  /// Forgets the blocks that cannot be in the table. Returns the places from `begin` on of those that can, in no order.
  [[nodiscard]] std::vector<std::uint64_t> cut(std::uint64_t begin);

  /// Returns the table with the rows at `places`: those that were put or, if set, those that `get_row` returns. `source`
  /// names the code of the rows.
  [[nodiscard]] block_table make_table(std::span<const std::uint64_t> places, const sources& source,
                                       const index::step_facts* steps,
                                       const std::function<block_row(std::uint64_t)>& get_row = {}) const;

 private:
  /// A block that may be in the table.
  struct found {
    std::uint64_t key = 0;  ///< Rows are sorted by this key, in ascending order.
    std::uint64_t block = 0;
    std::uint64_t place = 0;
    friend bool operator<(const found& a, const found& b) { return a.key != b.key ? a.key < b.key : a.block < b.block; }
  };
  using values = std::vector<std::uint64_t>;

  [[nodiscard]] std::size_t max_rows() const { return std::min(query_.rows, block_table::row_limit); }
  const values& column(list_column which);
  void filter();
  void filter_by_traits();
  void filter_by_time();
  void filter_unused();
  void filter_by_code();
  void make_keys();
  void rank_names();
  void drop_last();

  const blocks_query query_;
  const trace::tables& tables_;
  const time_range range_;
  const time_ns end_;  ///< The end of the recording.
  text_filter text_;
  std::optional<group_filter> groups_;
  std::unordered_map<std::uint64_t, std::uint64_t> ranks_;  ///< For each name's id, the rank of the name's text.

  // The current chunk.
  const block_chunk* chunk_ = nullptr;
  block_values columns_;
  std::vector<std::uint8_t> passes_;
  values keys_;
  result<void> got_;

  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  bool uses_known_ = false;
  std::vector<found> found_;
  std::optional<found> last_;                          ///< Blocks sorted after this one cannot be in the table.
  std::unordered_map<std::uint64_t, block_row> rows_;  ///< By place.
};

}  // namespace sluice::query
