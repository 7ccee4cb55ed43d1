#include "core/export/table_rows.hpp"

#include <algorithm>

namespace sluice::exports {
namespace {

/// Like `job::takes`, but using the columns.
class row_filter {
 public:
  row_filter(const job& what, const query::table& table)
      : what_(what),
        table_(table),
        time_(table.columns.data() + table.find("time")),
        end_(table.find("end") < table.columns.size() ? table.columns.data() + table.find("end") : nullptr) {}

  [[nodiscard]] bool takes(const void* row) const {
    const options& wanted = what_.wanted();
    if (wanted.range) {
      const std::int64_t time = time_->read(row, what_.tables()).integer;
      std::int64_t end = time;
      if (end_ != nullptr)
        if (const query::cell last = end_->read(row, what_.tables()); last.is == query::cell::kind::integer)
          end = std::max(time, last.integer);
      if (time >= what_.range().end || end < what_.range().begin) return false;
    }
    return std::all_of(wanted.only.begin(), wanted.only.end(), [&](const subject& one) {
      return std::any_of(wanted.only.begin(), wanted.only.end(),
                         [&](const subject& other) { return other.kind == one.kind && names(row, other); });
    });
  }

 private:
  [[nodiscard]] bool names(const void* row, const subject& one) const {
    return std::any_of(table_.columns.begin(), table_.columns.end(), [&](const query::column& each) {
      if (each.id != one.kind) return false;
      const query::cell value = each.read(row, what_.tables());
      return value.is == query::cell::kind::integer && static_cast<std::uint64_t>(value.integer) == one.id;
    });
  }

  const job& what_;
  const query::table& table_;
  const query::column* time_;
  const query::column* end_;
};

}  // namespace

result<void> for_each_row(job& what, const query::table& from,
                          const std::function<result<void>(const void* row)>& visit) {
  return for_each_chunk(what, from, [&](std::span<const void* const> rows) -> result<void> {
    for (const void* row : rows) {
      if (!from.events && what.cancelled())
        return fail(error_code::cancelled, "the export was cancelled", what.trace().path());
      if (auto done = visit(row); !done) return done;
    }
    return {};
  });
}

result<void> for_each_chunk(job& what, const query::table& from,
                            const std::function<result<void>(std::span<const void* const> rows)>& visit) {
  std::vector<const void*> wanted;
  if (!from.events) {
    const auto rows = from.read(what.trace(), 0);
    if (!rows) return tl::unexpected(rows.error());
    for (std::size_t i = 0; i < rows->count; ++i) wanted.push_back((*rows)[i]);
    what.count_rows(rows->count);
    return visit(wanted);
  }
  const row_filter filter(what, from);
  const auto chunks = what.trace().chunks();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].type != from.type) continue;
    const bool reaches =
        !what.wanted().range || (chunks[i].min_time < what.range().end && chunks[i].max_time >= what.range().begin);
    if (reaches) {
      const auto rows = from.read_once(what.trace(), i);
      if (!rows) return tl::unexpected(rows.error());
      wanted.clear();
      for (std::size_t row = 0; row < rows->count; ++row)
        if (filter.takes((*rows)[row])) wanted.push_back((*rows)[row]);
      what.count_rows(wanted.size());
      if (auto done = visit(wanted); !done) return done;
    }
    if (auto on = what.chunk_done(chunks[i]); !on) return on;
  }
  return {};
}

std::vector<const query::table*> wanted_tables(const options& wanted) {
  std::vector<const query::table*> all;
  for (const query::table& each : query::tables())
    if (wanted.tables.empty() ||
        std::find(wanted.tables.begin(), wanted.tables.end(), each.name) != wanted.tables.end())
      all.push_back(&each);
  return all;
}

}  // namespace sluice::exports
