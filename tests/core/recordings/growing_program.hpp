#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/generate/generate.hpp"
#include "core/index/event_store.hpp"
#include "core/trace/file/reader.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::testing {

/// A recording to which the rows of a program are added part by part, in order of start time.
class growing_program {
 public:
  explicit growing_program(const generate::generate_options& options, std::size_t rows_a_chunk = 256)
      : recorded(rows_a_chunk) {
    const std::string path =
        (std::filesystem::temp_directory_path() / fmt::format("sluice-growing-{}.sluice", ::getpid())).string();
    EXPECT_TRUE(generate::generate(options, path));
    begin(path);
    std::filesystem::remove(path);
  }
  /// Takes the rows from the recording at `path`.
  explicit growing_program(const char* path, std::size_t rows_a_chunk = 256) : recorded(rows_a_chunk) { begin(path); }

  /// Adds the rows that begin within the next `share` (0 to 1) of the program's time.
  void write(double share) {
    const time_range whole = index::recorded_range(*of_);
    const trace::time_ns until =
        written_ + static_cast<trace::time_ns>(share * static_cast<double>(whole.length())) + 1;
    for (std::size_t i = 0; i < of_->chunks().size(); ++i) {
      const trace::chunk_info& chunk = of_->chunks()[i];
      if (chunk.min_time < until && chunk.max_time >= written_) add(i, time_range{written_, until});
    }
    written_ = until;
    recorded.flush();
  }
  [[nodiscard]] bool ended() const { return written_ > index::recorded_range(*of_).end; }
  [[nodiscard]] time_range whole() const { return index::recorded_range(*of_); }

  recording recorded;

 private:
  void begin(const std::string& path) {
    opened_ = trace::file::open(path).value();
    of_ = opened_->latest();
    for (std::size_t i = 0; i < of_->chunks().size(); ++i) add(i, std::nullopt);
    written_ = index::recorded_range(*of_).begin;
  }

  template <class Row>
  static constexpr bool has_no_time =
      trace::is_table(trace::type_of_row<Row>) || std::is_same_v<Row, trace::attribute_event> ||
      std::is_same_v<Row, trace::link_event>;
  /// Adds rows of a chunk: without `range`, rows whose type has no time; otherwise rows that begin in `range`.
  template <class Row>
  void add(std::size_t chunk, std::optional<time_range> range) {
    if (has_no_time<Row> == range.has_value()) return;
    std::vector<Row> rows;
    ASSERT_TRUE(of_->read_into<Row>(chunk, rows));
    for (const Row& row : rows) {
      if constexpr (!has_no_time<Row>)
        if (!range->holds(row.time)) continue;
      recorded.writer().add(row);
    }
  }
  void add(std::size_t chunk, std::optional<time_range> range) {
    switch (of_->chunks()[chunk].type) {
#define SLUICE_ADD(row, kind) \
  case trace::row_type::kind: \
    return add<trace::row>(chunk, range);
      SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
      default:
        return;
    }
  }

  std::shared_ptr<trace::file> opened_;
  std::shared_ptr<const trace::snapshot> of_;
  trace::time_ns written_ = 0;
};

}  // namespace sluice::testing
