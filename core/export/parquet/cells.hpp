#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/export/parquet/calls.hpp"
#include "core/export/parquet/data_set.hpp"
#include "core/export/parquet/row_batch.hpp"
#include "core/export/parquet/text_book.hpp"
#include "core/symbols/attribution.hpp"

namespace sluice::exports {

/// Texts that stand for ids: names of devices, streams and threads, and what stacks are attributed to. Each is made once.
class id_texts {
 public:
  using number = std::optional<text_book::number>;  ///< Nothing: null.
  /// All must outlive this object.
  id_texts(const trace::tables& tables, symbols::frame_book& frames, text_book& texts);

  [[nodiscard]] number device(std::uint64_t id);
  [[nodiscard]] number stream(std::uint64_t id);
  [[nodiscard]] number thread(std::uint64_t id);
  [[nodiscard]] number stack(std::uint64_t id, symbols::attribution by);

 private:
  using known = std::unordered_map<std::uint64_t, number>;
  template <class Make>
  number look_up(known& among, std::uint64_t id, Make&& make);

  const trace::tables& tables_;
  symbols::frame_book& frames_;
  text_book& texts_;
  symbols::attributor who_;
  known devices_, streams_, threads_;
  std::array<known, symbols::attribution_count> stacks_;
};

/// Makes the cells of a data set's table from the rows of a table of `sluice query`.
class row_cells {
 public:
  /// All must outlive this object. `found` has the calls of the rows that are given to `add`, if a column needs them.
  row_cells(std::span<const data_column> columns, const query::table& from, const trace::tables& tables,
            text_book& texts, id_texts& names, const calls& found);

  /// Adds all cells of a row.
  void add(const void* row, row_batch& to);
  /// The process that a row belongs to; 0: none.
  [[nodiscard]] std::uint64_t process_of(const void* row) const { return id_in(process_, row); }
  /// The call that asked for a row, and when it was entered, if a column needs it.
  [[nodiscard]] calls::wanted_call call_of(const void* row) const;
  [[nodiscard]] bool needs_calls() const { return needs_calls_; }

 private:
  struct reader {
    column_source source{};
    parquet_type type{};
    const query::column* from = nullptr;  ///< Null: all cells are.
    symbols::attribution by{};
  };
  [[nodiscard]] std::uint64_t id_in(const query::column* column, const void* row) const;
  void add(const reader& as, const void* row, row_batch& to);
  void add_same(const reader& as, const void* row, row_batch& to);

  const trace::tables& tables_;
  text_book& texts_;
  id_texts& names_;
  const calls& found_;
  text_book::number table_ = 0;
  std::vector<reader> readers_;
  const query::column* process_ = nullptr;
  const query::column* call_ = nullptr;
  const query::column* enqueued_ = nullptr;
  bool needs_calls_ = false;
};

}  // namespace sluice::exports
