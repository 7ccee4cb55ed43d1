#include "core/export/result.hpp"

#include <filesystem>
#include <system_error>

#include "core/export/output.hpp"
#include "core/query/sql/sql_text.hpp"

namespace sluice::exports {

result<std::uint64_t> write_result(const std::shared_ptr<const trace::snapshot>& trace, const std::string& text,
                                   const std::string& path, const std::atomic<bool>& cancelled) {
  std::error_code ignored;
  if (std::filesystem::equivalent(path, trace->path(), ignored))
    return fail(error_code::invalid_argument, "is the recording that is exported", path, "choose another name");
  query::sql_options options;
  options.cancelled = &cancelled;
  const auto opened = query::sql_database::open(trace, options);
  if (!opened) return tl::unexpected(opened.error());
  auto rows = (*opened)->prepare(text);
  if (!rows) return tl::unexpected(rows.error());
  auto to = output::create(path, output_shape::stream);
  if (!to) return tl::unexpected(to.error());
  query::sql_writer writer(query::sql_format::csv, rows->columns());
  std::string lines;
  for (;;) {
    const auto more = rows->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    lines.clear();
    writer.row(*rows, lines);
    if (auto written = to->write(lines); !written) return tl::unexpected(written.error());
  }
  lines.clear();
  writer.end(lines);
  if (auto written = to->write(lines); !written) return tl::unexpected(written.error());
  if (auto placed = to->commit(); !placed) return tl::unexpected(placed.error());
  return writer.rows();
}

}  // namespace sluice::exports
