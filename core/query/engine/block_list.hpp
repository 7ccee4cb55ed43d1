#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include "core/base/error.hpp"
#include "core/figures/listed_block.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/trace/columns/integers.hpp"

/// The blocks of a long recording, listed column by column in a scratch file, so that the recording need not be read
/// again to sort and filter them. Private to core/query.
namespace sluice::query {

/// A member of the listed blocks. Each value is 64 bits.
enum class list_column : std::uint8_t {
  block,
  alloc,
  process,
  device,
  stream,
  pool,
  name,
  stack,
  born,
  died,  ///< As in listed_block.
  address,
  bytes,
  traits,  ///< See block_traits.
  first_use,
  last_use,
  uses
};
inline constexpr std::size_t list_columns = 16;

/// What a block is, in one value: layer, kind, category, and whether it counts as never freed.
namespace block_traits {
inline constexpr unsigned kind_at = 8, category_at = 16, reason_at = 24, unfreed_at = 32;
inline constexpr std::uint64_t mask = 0xff;
}  // namespace block_traits

/// Lists each block of a recording once, by the section of its birth. Built section by section, by whoever needs it
/// first, and read meanwhile. About 14 bytes a block in the file, of which memory holds 2 %. Thread-safe.
class block_list {
 public:
  /// The values of one chunk. A column that was not read is empty.
  using columns = std::array<std::vector<std::uint64_t>, list_columns>;
  static constexpr std::size_t rows_in_chunk = 8192;

  struct chunk_facts {
    std::size_t rows = 0;
    trace::time_ns first_birth = INT64_MAX;
    trace::time_ns last_birth = INT64_MIN;
    trace::time_ns first_death = INT64_MAX;  ///< INT64_MAX: all blocks live until the recording ends.
  };

  /// Of the recording of `from`, which must outlive the list. Reads nothing.
  explicit block_list(const analysis::section_reader& from) : from_(from) {}
  ~block_list();
  block_list(const block_list&) = delete;
  block_list& operator=(const block_list&) = delete;

  /// Reads the next sections, some at a time, unless all are listed. Calls `goes_on` as `section_reader::index_of`
  /// does. Errors: cancelled; those of reading; io and no_space if the list cannot be written. After an error but
  /// `cancelled` the list ends where it is, for good.
  [[nodiscard]] result<void> extend(const std::function<bool()>& goes_on);
  /// True if all blocks are listed.
  [[nodiscard]] bool complete() const { return sections_ == from_.sections().size(); }
  /// True after an error of `extend`.
  [[nodiscard]] bool failed() const { return failed_; }
  /// The share of the recording that is listed, 0..1.
  [[nodiscard]] float progress() const {
    return static_cast<float>(sections_) / static_cast<float>(from_.sections().size());
  }
  /// The recording has uses of blocks.
  [[nodiscard]] bool uses_known() const { return uses_known_; }
  /// The ids of the names of the blocks listed so far, each once.
  [[nodiscard]] std::vector<std::uint64_t> names() const;

  /// Number of chunks; those that exist do not change. Their blocks are in the order in which sections list them.
  [[nodiscard]] std::size_t chunks() const;
  [[nodiscard]] chunk_facts facts(std::size_t chunk) const;
  /// Reads one column of a chunk into `of`, unless it is there. May read `born` with it. O(rows). Errors: io, corrupt.
  [[nodiscard]] result<void> read(std::size_t chunk, list_column column, columns& of) const;
  /// The block in row `row` of a chunk of which all columns were read.
  [[nodiscard]] static analysis::listed_block block_of(const columns& of, std::size_t row);

 private:
  struct chunk {
    chunk_facts facts;
    std::uint64_t offset = 0;
    std::array<trace::column_layout, list_columns> layouts{};
  };
  result<void> add(const analysis::index& part, analysis::time_range run);
  result<void> add_chunk(const columns& of);

  const analysis::section_reader& from_;
  std::mutex building_;  ///< Held by the one who extends.
  std::atomic<std::size_t> sections_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> uses_known_{false};
  std::optional<trace::integer_encoder> encoder_;
  std::array<trace::column_habit, list_columns> habits_{};
  std::atomic<int> descriptor_{-1};  ///< Of the scratch file, which has no name; -1: not made yet.
  std::uint64_t written_ = 0;

  mutable std::mutex mutex_;  ///< Guards the members below, for moments.
  std::vector<std::shared_ptr<const chunk>> chunks_;
  std::unordered_set<std::uint64_t> names_;
};

}  // namespace sluice::query
