#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/export/parquet/calls.hpp"
#include "core/export/parquet/data_set.hpp"
#include "core/export/parquet/row_batch.hpp"
#include "core/export/parquet/string_table.hpp"
#include "core/symbols/attribution.hpp"

namespace sluice::exports {

/// Provides texts for ids: the names of devices, streams and threads, and the attributions of stacks. Computes each
/// text only once.
class id_texts {
 public:
  using number = std::optional<string_table::number>;  ///< The number of a text; nullopt for a null cell.
  /// All arguments must outlive this object.
  id_texts(const trace::tables& tables, symbols::frame_cache& frames, string_table& texts);

  [[nodiscard]] number device(std::uint64_t id);
  [[nodiscard]] number stream(std::uint64_t id);
  [[nodiscard]] number thread(std::uint64_t id);
  [[nodiscard]] number stack(std::uint64_t id, symbols::attribution by);

 private:
  using known = std::unordered_map<std::uint64_t, number>;
  template <class Make>
  number look_up(known& among, std::uint64_t id, Make&& make);

  const trace::tables& tables_;
  symbols::frame_cache& frames_;
  string_table& texts_;
  symbols::attributor who_;
  known devices_, streams_, threads_;
  std::array<known, symbols::attribution_count> stacks_;
};

/// Fills the cells of a data set's table from the rows of a table of `sluice query` (core/query/sql/columns.hpp).
class row_cells {
 public:
  /// All arguments must outlive this object. If `needs_calls()`, `found` must have the calls of each row passed to
  /// `add`.
  row_cells(std::span<const data_column> columns, const query::table& table, const trace::tables& tables,
            string_table& texts, id_texts& names, const calls& found);

  /// Adds all cells of `row` to `to`.
  void add(const void* row, row_batch& to);
  /// Returns the process id of a row, or 0 if the row has none.
  [[nodiscard]] std::uint64_t find_process(const void* row) const { return id_in(process_, row); }
  /// Returns the call that requested the row's work, and the time at which the call was entered.
  [[nodiscard]] calls::wanted_call get_call(const void* row) const;
  [[nodiscard]] bool needs_calls() const { return needs_calls_; }

 private:
  struct reader {
    column_source source{};
    parquet_type type{};
    const query::column* from = nullptr;  ///< The column with the values; null if all cells are null.
    symbols::attribution by{};
  };
  [[nodiscard]] std::uint64_t id_in(const query::column* column, const void* row) const;
  void add(const reader& as, const void* row, row_batch& to);
  void add_same(const reader& as, const void* row, row_batch& to);

  const trace::tables& tables_;
  string_table& texts_;
  id_texts& names_;
  const calls& found_;
  string_table::number table_ = 0;
  std::vector<reader> readers_;
  const query::column* process_ = nullptr;
  const query::column* call_ = nullptr;
  const query::column* enqueued_ = nullptr;
  bool needs_calls_ = false;
};

}  // namespace sluice::exports
