#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/query/answers/block_text_filter.hpp"
#include "core/query/answers/panels/block_groups.hpp"
#include "core/query/engine/block_list.hpp"
#include "core/query/engine/long_answer.hpp"

/// Private to core/query.
namespace sluice::query {

/// Answers from the list of all blocks, which it makes first if need be. Reads only the columns that the question is
/// about, and whole rows only of the blocks that are returned: O(blocks) integers.
class blocks_from_list final : public long_answer<block_table> {
 public:
  /// `without` answers if the list cannot be made. `from.stored->blocks` must be set.
  blocks_from_list(const blocks_question& question, const sources& from,
                   std::unique_ptr<long_answer<block_table>> without);

  result<bool> work(std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& cancelled) override;
  [[nodiscard]] float progress() const override;
  /// Before the last step: at most `block_table::first_rows` rows, so that it can be told often.
  result<block_table> so_far(bool& provisional) override;

 private:
  /// A block that may be among the rows.
  struct found {
    std::uint64_t key = 0;  ///< What the rows are sorted by: least first.
    std::uint64_t block = 0;
    std::uint64_t place = 0;  ///< Number of its chunk * rows_in_chunk + its row there.
    friend bool operator<(const found& a, const found& b) { return a.key != b.key ? a.key < b.key : a.block < b.block; }
  };
  using values = std::vector<std::uint64_t>;

  [[nodiscard]] std::size_t most_rows() const { return std::min(question_.rows, block_table::row_limit); }
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

  const blocks_question question_;
  const sources from_;
  block_list& list_;
  const time_range range_;
  const time_ns end_;  ///< Of the recording.
  std::unique_ptr<long_answer<block_table>> without_;
  bool left_ = false;  ///< `without_` answers.
  text_filter text_;
  std::optional<group_filter> groups_;
  std::unordered_map<std::uint64_t, std::uint64_t>
      ranks_;  ///< By id of a name: its text's place in the order of names.

  // The chunk that is being looked at.
  std::size_t chunk_ = 0;
  block_list::chunk_facts facts_;
  block_list::columns columns_;
  std::vector<std::uint8_t> passes_;
  values keys_;
  result<void> got_;

  std::size_t next_ = 0;  ///< Chunks before this one were looked at.
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<found> found_;
  std::optional<found> last_;                          ///< The last that can still be among the rows.
  bool sorted_ = false;                                ///< All was looked at: `found_` is what is returned, in order.
  std::unordered_map<std::uint64_t, block_row> rows_;  ///< By place, those read so far.
  bool done_ = false;
};

}  // namespace sluice::query
