#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/query/engine/block_list.hpp"
#include "core/query/engine/long_result.hpp"
#include "core/query/results/block_text_filter.hpp"
#include "core/query/results/panels/block_groups.hpp"

/// Answers queries for the blocks of a long recording. Private to core/query.
namespace sluice::query {

/// Computes the result of a query for blocks from the list of all blocks, which is built first if necessary. Reads only
/// the columns that the query needs, and all columns only of the blocks that are returned: O(blocks) integers.
class blocks_from_list final : public long_result<block_table> {
 public:
  /// `without` computes the result if the list cannot be built. `from.stored->blocks` must be set.
  blocks_from_list(const blocks_query& query, const sources& source, std::unique_ptr<long_result<block_table>> without);

  result<bool> work(std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& cancelled) override;
  [[nodiscard]] float progress() const override;
  /// Before the last step, returns at most `block_table::first_rows` rows, so that frequent calls are cheap.
  result<block_table> so_far(bool& provisional) override;

 private:
  /// A block that may be in the result.
  struct found {
    std::uint64_t key = 0;  ///< Rows are sorted by this key, in ascending order.
    std::uint64_t block = 0;
    std::uint64_t place = 0;  ///< The number of the block's chunk * rows_in_chunk + its row in the chunk.
    friend bool operator<(const found& a, const found& b) { return a.key != b.key ? a.key < b.key : a.block < b.block; }
  };
  using values = std::vector<std::uint64_t>;

  [[nodiscard]] std::size_t max_rows() const { return std::min(query_.rows, block_table::row_limit); }
  const values& column(list_column which);
  void take(std::size_t chunk);
  void filter();
  void filter_by_traits();
  void filter_by_time();
  void filter_unused();
  void filter_by_code();
  const values& keys();
  void rank_names();
  void cut(std::size_t most);
  result<bool> fetch(std::chrono::steady_clock::time_point deadline, std::size_t rows);

  const blocks_query query_;
  const sources from_;
  block_list& list_;
  const time_range range_;
  const time_ns end_;  ///< The end of the recording.
  std::unique_ptr<long_result<block_table>> without_;
  bool left_ = false;  ///< True: the list cannot be built, and `without_` computes the result.
  text_filter text_;
  std::optional<group_filter> groups_;
  std::unordered_map<std::uint64_t, std::uint64_t> ranks_;  ///< For each name's id, the rank of the name's text.

  // The current chunk.
  std::size_t chunk_ = 0;
  block_list::chunk_facts facts_;
  block_list::columns columns_;
  std::vector<std::uint8_t> passes_;
  values keys_;
  result<void> got_;

  std::size_t next_ = 0;  ///< Chunks before this one are done.
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<found> found_;
  std::optional<found> last_;                          ///< Blocks sorted after this one cannot be in the result.
  bool sorted_ = false;                                ///< All chunks are done: `found_` is the sorted result.
  std::unordered_map<std::uint64_t, block_row> rows_;  ///< The rows read so far, keyed by `found::place`.
  bool done_ = false;
};

}  // namespace sluice::query
