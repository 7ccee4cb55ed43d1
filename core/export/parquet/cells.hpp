#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/export/parquet/calls.hpp"
#include "core/export/parquet/data_set.hpp"
#include "core/export/parquet/partitions.hpp"
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
  /// Returns the text of a string of the recording.
  [[nodiscard]] number string(trace::string_id id, query::text_role role);

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

/// Fills the cells of a table of the data set, from the rows of a table of `sluice query`.
class row_cells {
 public:
  /// `source` names the table with the rows. `lasting`: its texts stay at the same address. The other arguments must
  /// outlive this object. If `needs_calls()`, `found` must have the calls of each row passed to `add`.
  row_cells(const data_table& table, std::string_view source, bool lasting, string_table& texts, id_texts& names,
            const calls& found);

  /// Adds all cells of a row to `to`. `read(place)` returns the cell of the source's column at that place.
  template <class Read>
  void add(const Read& read, row_batch& to) {
    for (const reader& each : readers_) {
      query::cell value;
      for (const std::size_t place : each.inputs)
        value = place == each.inputs.front() ? read(place) : combine(each.value, value, read(place));
      add(each, value, to);
    }
    to.end_row();
  }
  /// Returns the call that requested the row's work, and the time at which the call was entered.
  template <class Read>
  [[nodiscard]] calls::wanted_call get_call(const Read& read) const {
    const query::cell entered = enqueued_ < columns_.size() ? read(enqueued_) : query::cell{};
    return {id_in(read, call_), entered.type == query::cell::kind::integer ? entered.integer : trace::unknown_time};
  }
  [[nodiscard]] bool needs_calls() const { return needs_calls_; }
  /// Returns the rank of a row: that of its process or device.
  template <class Read>
  [[nodiscard]] std::int64_t find_rank(const Read& read, const rank_table& ranks) const {
    if (process_ < columns_.size()) return ranks.of(id_in(read, process_));
    return device_ < columns_.size() ? ranks.of_device(id_in(read, device_)) : ranks.of_job();
  }

 private:
  struct reader {
    query::view_value value{};
    parquet_type type{};
    std::vector<std::size_t> inputs;  ///< Places of columns of the source.
    query::text_role role{};
    symbols::attribution by{};  ///< Of a stack.
  };
  template <class Read>
  [[nodiscard]] std::uint64_t id_in(const Read& read, std::size_t place) const {
    const query::cell value = place < columns_.size() ? read(place) : query::cell{};
    return value.type == query::cell::kind::integer ? static_cast<std::uint64_t>(value.integer) : 0;
  }
  [[nodiscard]] static query::cell combine(query::view_value how, const query::cell& a, const query::cell& b);
  void add(const reader& as, const query::cell& value, row_batch& to);
  void add_same(const reader& as, const query::cell& value, row_batch& to);

  std::span<const query::column> columns_;  ///< Of the source.
  string_table& texts_;
  id_texts& names_;
  const calls& found_;
  const bool lasting_;
  const string_table::number source_;  ///< The name of the source.
  std::vector<reader> readers_;
  const std::size_t process_, device_, call_, enqueued_;  ///< Places of columns of the source.
  bool needs_calls_ = false;
};

}  // namespace sluice::exports
