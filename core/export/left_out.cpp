#include "core/export/left_out.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/format.hpp"

namespace sluice::exports {
namespace {

using trace::row_type;

/// The kinds of events to report as omitted, in singular and plural. Rows that only support others (links, checkpoints,
/// clocks) are not reported.
struct kind_words {
  row_type kind{};
  std::string_view one, several;
};
constexpr kind_words kinds[] = {
    {row_type::alloc, "allocation", "allocations"},
    {row_type::free, "free", "frees"},
    {row_type::alloc_failed, "failed allocation", "failed allocations"},
    {row_type::pool_state, "pool state", "pool states"},
    {row_type::device_memory, "free memory sample", "free memory samples"},
    {row_type::transfer, "copy", "copies"},
    {row_type::migration, "migration", "migrations"},
    {row_type::memset, "memset", "memsets"},
    {row_type::kernel, "kernel", "kernels"},
    {row_type::api_call, "API call", "API calls"},
    {row_type::graph_definition, "graph", "graphs"},
    {row_type::graph_launch, "graph launch", "graph launches"},
    {row_type::event_record, "event record", "event records"},
    {row_type::event_wait, "event wait", "event waits"},
    {row_type::sync, "wait", "waits"},
    {row_type::host_range, "range", "ranges"},
    {row_type::marker, "mark", "marks"},
    {row_type::file_io, "file operation", "file operations"},
    {row_type::counter, "counter sample", "counter samples"},
    {row_type::touch, "touch", "touches"},
    {row_type::host_sample, "sample of a host thread", "samples of host threads"},
    {row_type::loss, "report of lost events", "reports of lost events"},
};

template <class Row>
result<std::uint64_t> count_rows(const job& export_job) {
  std::uint64_t number = 0;
  const auto chunks = export_job.trace().chunks();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].type != trace::type_of_row<Row>) continue;
    if (export_job.whole()) {
      number += chunks[i].rows;
      continue;
    }
    if (export_job.cancelled())
      return fail(error_code::cancelled, "the export was cancelled", export_job.trace().path());
    const auto rows = export_job.trace().template read<Row>(i);
    if (!rows) return tl::unexpected(rows.error());
    number += static_cast<std::uint64_t>(
        std::count_if((*rows)->begin(), (*rows)->end(), [&](const Row& row) { return export_job.takes(row); }));
  }
  return number;
}

result<std::uint64_t> count_kind(const job& export_job, row_type kind) {
  switch (kind) {
#define SLUICE_COUNT(row, type) \
  case row_type::type:          \
    return count_rows<trace::row>(export_job);
    SLUICE_FOR_EACH_ROW(SLUICE_COUNT)
#undef SLUICE_COUNT
    default:
      return 0;
  }
}

}  // namespace

result<void> note_left_out(job& export_job, std::span<const row_type> held) {
  std::string text;
  for (const kind_words& each : kinds) {
    if (std::find(held.begin(), held.end(), each.kind) != held.end()) continue;
    const auto number = count_kind(export_job, each.kind);
    if (!number) return tl::unexpected(number.error());
    if (*number == 0) continue;
    text +=
        (text.empty() ? "" : ", ") + format_count(*number) + " " + std::string(*number == 1 ? each.one : each.several);
  }
  if (!text.empty()) export_job.note("not supported by the format and omitted: " + text);
  return {};
}

}  // namespace sluice::exports
