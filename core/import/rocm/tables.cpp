#include "core/import/rocm/tables.hpp"

#include <algorithm>

namespace sluice::importing::rocm {

namespace {

/// Returns the columns to sort by. Events are read in order of time, because a profiler writes them thread by thread.
std::vector<const char*> get_order(std::span<const nsys_column> columns) {
  for (const nsys_column& each : columns)
    if (std::string_view(each.name) == "start") return {each.name};
  return {};
}

}  // namespace

result<void> read_tables(const nsys_database& database, const std::vector<table_step>& steps, job& work) {
  std::vector<const table_step*> taken;
  std::vector<nsys_plan> plans;
  std::uint64_t total = 1, done = 0;
  for (const table_step& each : steps) {
    if (!database.has(each.table)) continue;
    const auto missing =
        std::find_if(each.columns.begin(), each.columns.begin() + static_cast<std::ptrdiff_t>(each.required),
                     [&](const nsys_column& column) { return !database.has(each.table, column.name); });
    if (missing != each.columns.begin() + static_cast<std::ptrdiff_t>(each.required)) {
      work.not_understood("tables without the column '" + std::string(missing->name) +
                          "': " + each.table.substr(0, 80));
      continue;
    }
    taken.push_back(&each);
    nsys_plan plan{each.table, each.columns, each.required, {}, get_order(each.columns)};
    plan.in_time = !plan.order.empty();
    plans.push_back(std::move(plan));
    for (const auto& table : database.tables())
      if (table.name == each.table) total += table.rows;
  }
  nsys_reader reader(database, std::move(plans));
  if (auto started = reader.start(); !started) return started;
  while (const nsys_reader::batch* batch = reader.next()) {
    for (std::size_t i = 0; i < batch->rows.size(); ++i)
      taken[batch->plan]->take(cells{batch->rows, batch->rows.row(i)});
    done += batch->rows.size();
    const double share = static_cast<double>(done) / static_cast<double>(std::max(total, done + 1));
    if (auto ready = work.advance(share); !ready) return ready;
  }
  for (const auto& broken : reader.broken()) {
    work.not_understood("tables that cannot be read completely: " + taken[broken.plan]->table.substr(0, 80));
    work.say(trace::severity::warning, broken.why.to_string());
  }
  return {};
}

void text_table::put(std::int64_t id, std::string_view text) {
  constexpr std::size_t overhead = 80;  // The bytes that an entry of the table takes in addition to its text.
  held_ += text.size() + overhead;
  if (held_ <= max_bytes) {
    texts_.insert_or_assign(id, std::string(text));
  } else {
    work_.not_understood("texts beyond the memory limit");
  }
}

std::string_view text_table::find(std::int64_t id) const {
  const auto known = texts_.find(id);
  return known == texts_.end() ? std::string_view{} : std::string_view{known->second};
}

std::int64_t lowest_in(const nsys_database& database, const std::vector<std::string>& tables, const char* column) {
  const nsys_column columns[] = {{column}};
  std::int64_t lowest = INT64_MAX;
  nsys_rows rows;
  for (const std::string& table : tables) {
    if (!database.has(table, column)) continue;
    // Read errors are reported when the table's rows are read.
    static_cast<void>(database.read(
        table, columns, {}, {}, 4096, [&] { return &rows; },
        [&](const nsys_rows* got) {
          for (std::size_t i = 0; i < got->size(); ++i)
            if (got->row(i)[0] > 0) lowest = std::min(lowest, got->row(i)[0]);
          return true;
        }));
  }
  return lowest == INT64_MAX ? 0 : lowest;
}

bool is_rocpd(const nsys_database& database) {
  return std::any_of(database.tables().begin(), database.tables().end(), [](const auto& table) {
    const std::string_view name = table.name;
    return name.starts_with("rocpd_info_") || name.starts_with("rocpd_kernel_dispatch");
  });
}

bool is_rpd(const nsys_database& database) { return database.has("rocpd_op") && database.has("rocpd_string"); }

}  // namespace sluice::importing::rocm
