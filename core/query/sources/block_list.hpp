#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "core/query/sources/block_columns.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/trace/columns/integers.hpp"

/// Lists the blocks (pieces of memory, from allocation to free) of a long recording, column by column, in a scratch
/// file. Sorting and filtering the list then does not read the recording again. Private to core/query.
namespace sluice::query {

/// Lists each block of a recording once. The order is that of the recording's sections, which are consecutive time
/// spans; a block is in the section in which it was allocated. The first reader that needs the list builds it section
/// by section while others read. The scratch file takes about 14 bytes per block; the list takes 2 % of that in memory.
/// Thread-safe.
class block_list {
 public:
  static constexpr std::size_t rows_in_chunk = 8192;

  struct chunk_facts {
    std::size_t rows = 0;
    trace::time_ns first_birth = INT64_MAX;
    trace::time_ns last_birth = INT64_MIN;
    trace::time_ns first_death = INT64_MAX;  ///< INT64_MAX if all blocks are live until the recording ends.
  };

  /// `reader` reads the recording and must outlive the list. Reads nothing yet.
  explicit block_list(const summary::section_reader& reader) : from_(reader) {}
  ~block_list();
  block_list(const block_list&) = delete;
  block_list& operator=(const block_list&) = delete;

  /// Lists some of the next sections, if any are left. Calls `goes_on` as `section_reader::get_index` does. Errors:
  /// cancelled; those of reading; io and no_space if the scratch file cannot be written. After an error other than
  /// `cancelled`, the list is never extended again.
  [[nodiscard]] result<void> extend(const std::function<bool()>& goes_on);
  /// True if all blocks are listed.
  [[nodiscard]] bool complete() const { return sections_ == from_.sections().size(); }
  /// True after an error of `extend` other than `cancelled`.
  [[nodiscard]] bool failed() const { return failed_; }
  /// The share of the recording that is listed, 0..1.
  [[nodiscard]] float progress() const {
    return static_cast<float>(sections_) / static_cast<float>(from_.sections().size());
  }
  /// True if the recording has the uses of blocks.
  [[nodiscard]] bool uses_known() const { return uses_known_; }

  /// The number of chunks so far. Chunks follow the order of the sections, and do not change once they exist.
  [[nodiscard]] std::size_t chunks() const;
  [[nodiscard]] chunk_facts facts(std::size_t chunk) const;
  /// Reads one column of a chunk into `subject`, unless `subject` has that column already. May also read `born`, from
  /// which some columns are stored as differences. O(rows). Errors: io, corrupt.
  [[nodiscard]] result<void> read(std::size_t chunk, list_column column, block_values& subject) const;

 private:
  struct chunk {
    chunk_facts facts;
    std::uint64_t offset = 0;
    std::array<trace::column_layout, list_columns> layouts{};
  };
  result<void> add(const index::event_store& part, time_range run);
  result<void> add_chunk(block_values& subject);

  const summary::section_reader& from_;
  std::mutex building_;  ///< Held by the thread that extends the list.
  std::atomic<std::size_t> sections_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> uses_known_{false};
  std::optional<trace::integer_encoder> encoder_;
  std::array<trace::column_habit, list_columns> habits_{};
  std::atomic<int> descriptor_{-1};  ///< The scratch file, which has no name; -1 until it is created.
  std::uint64_t written_ = 0;

  mutable std::mutex mutex_;  ///< Guards the members below; held only briefly.
  std::vector<std::shared_ptr<const chunk>> chunks_;
};

}  // namespace sluice::query
