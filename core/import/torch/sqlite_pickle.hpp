#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/import/job.hpp"
#include "core/import/nsys/reader.hpp"
#include "core/import/torch/pickle_emitter.hpp"

namespace sluice::importing::torch {

/// Converts a PyTorch memory snapshot that is stored as the tables `segments`, `blocks` and `device_traces` of an
/// SQLite file to a pickle of the same data, piece by piece. Not thread-safe.
class sqlite_as_pickle {
 public:
  /// `database` and `work` must outlive this object. Data for which a snapshot has no place is counted in `work`.
  sqlite_as_pickle(const nsys_database& database, job& work);

  /// Finds the devices, and starts to read the tables. Errors: unavailable, if no thread can be started.
  [[nodiscard]] result<void> begin();
  /// Reads the next bytes of the pickle. Returns their number, or 0 at the end.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> into);

 private:
  struct block {
    std::int64_t address = 0, bytes = 0, requested = 0;
    std::uint32_t state = 0, frames = 0;  ///< The positions of these texts in `texts_`.
  };
  enum class stage : std::uint8_t { blocks, segments, traces };
  struct part {
    stage status = stage::blocks;
    std::int64_t device = 0;
  };

  void go_to(std::size_t plan);
  void take(const nsys_rows& rows, std::size_t plan);
  void take_block(const nsys_rows& rows, const std::int64_t* row);
  void take_segment(const nsys_rows& rows, const std::int64_t* row);
  void take_entry(const nsys_rows& rows, const std::int64_t* row);
  void put(std::string_view key, std::int64_t cell);
  void put_frames(std::string_view json);
  [[nodiscard]] std::uint32_t text_number(std::string_view text);
  void finish();

  const nsys_database& from_;
  job& work_;
  std::vector<part> parts_;
  std::vector<std::string> conditions_;
  std::optional<nsys_reader> reader_;
  std::size_t plan_ = 0;
  std::size_t taken_ = 0;
  bool ended_ = false;
  pickle_emitter out_;
  std::size_t held_ = 0;                               ///< The bytes that `blocks_` takes.
  std::map<std::int64_t, std::vector<block>> blocks_;  ///< Keyed by segment.
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> text_numbers_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::optional<std::uint32_t>> stacks_;  ///< nullopt: broken.
};

/// True if the file has the tables of a snapshot.
[[nodiscard]] bool is_snapshot_database(const nsys_database& database);

}  // namespace sluice::importing::torch
