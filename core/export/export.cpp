#include "core/export/export.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/cancel.hpp"
#include "core/export/formats.hpp"
#include "core/index/event_store.hpp"

namespace sluice::exports {
namespace {

constexpr std::array all_formats = {
    format{"csv", ".csv", "tables as text: one file with --table, else a folder of files", shape_of_csv, write_csv},
    format{"sqlite", ".sqlite", "the tables and views of `sluice query` as a file", shape_of_sqlite, write_sqlite},
    format{"folded", ".folded", "call stacks and their bytes, for flame graphs; see --measure", shape_of_folded,
           write_folded},
    format{"torch-snapshot", ".pickle", "a PyTorch memory snapshot, for pytorch.org/memory_viz",
           shape_of_torch_snapshot, write_torch_snapshot},
    format{"perfetto", ".pftrace", "a trace for ui.perfetto.dev: tracks, flows, counters with units", shape_of_perfetto,
           write_perfetto},
    format{"chrome", ".json", "Chrome's trace format, as torch.profiler writes it", shape_of_chrome, write_chrome},
    format{"chrome-gz", ".json.gz", "the same, compressed", shape_of_chrome, write_chrome_gz},
    format{"parquet", "", "a data set for DuckDB, Spark, Polars and pandas; needs Python with pyarrow",
           shape_of_parquet, write_parquet},
};

constexpr std::array<std::pair<std::string_view, query::id_kind>, 8> subjects = {{
    {"process", query::id_kind::process},
    {"thread", query::id_kind::thread},
    {"device", query::id_kind::device},
    {"stream", query::id_kind::stream},
    {"pool", query::id_kind::pool},
    {"counter", query::id_kind::counter},
    {"block", query::id_kind::block},
    {"event", query::id_kind::event},
}};

std::string names_of_tables() {
  std::string text;
  for (const query::table& each : query::tables()) text.append(text.empty() ? "" : ", ").append(each.name);
  return text;
}

}  // namespace

job::job(const trace::snapshot& recording, const options& wanted)
    : trace_(recording),
      wanted_(wanted),
      range_(bounded(wanted.range.value_or(index::recorded_range(recording)))),
      redactor_(wanted.redact) {
  for (const trace::chunk_info& chunk : recording.chunks())
    if (trace::is_event(chunk.type)) all_bytes_ += chunk.stored_bytes;
  if (!redactor_.active()) return;
  for (const trace::host_row& host : recording.tables().hosts.rows())
    for (const trace::string_id text : {host.name, host.boot_id}) redactor_.learn_host(recording.tables().text(text));
  for (const trace::string_row& row : recording.tables().strings.rows()) redactor_.learn(row.text);
}

const std::atomic<bool>& job::cancelled() const {
  return wanted_.cancelled == nullptr ? never_cancelled : *wanted_.cancelled;
}

result<void> job::chunk_done(const trace::chunk_info& chunk) {
  done_bytes_ += chunk.stored_bytes;
  if (cancelled()) return fail(error_code::cancelled, "the export was cancelled", trace_.path());
  const double total = static_cast<double>(all_bytes_) * passes_;
  if (wanted_.progress && total > 0)
    wanted_.progress(static_cast<float>(std::min(1.0, static_cast<double>(done_bytes_) / total)));
  return {};
}

std::span<const format> formats() { return all_formats; }

const format* find_format(std::string_view name) {
  for (const format& each : formats())
    if (each.name == name) return &each;
  return nullptr;
}

const format* format_of_file(std::string_view path) {
  const format* best = nullptr;
  for (const format& each : formats())
    if (!each.suffix.empty() && path.ends_with(each.suffix) && (!best || each.suffix.size() > best->suffix.size()))
      best = &each;
  return best;
}

result<subject> parse_subject(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    for (const auto& [word, kind] : subjects) {
      if (word != text.substr(0, colon)) continue;
      subject one{kind, 0};
      const char* end = text.data() + text.size();
      const auto [rest, problem] = std::from_chars(text.data() + colon + 1, end, one.id);
      if (problem == std::errc{} && rest == end && one.id != 0) return one;
    }
  }
  std::string known;
  for (const auto& each : subjects) known.append(known.empty() ? "" : ", ").append(each.first);
  return fail(error_code::invalid_argument, "invalid filter '" + std::string(text) + "'", "--only",
              "expected KIND:ID such as stream:7; kinds: " + known);
}

result<void> check_tables(std::span<const std::string> names) {
  for (const std::string& name : names)
    if (query::find_table(name) == nullptr)
      return fail(error_code::invalid_argument, "unknown table '" + name + "'", "--table",
                  "tables: " + names_of_tables());
  return {};
}

result<written_summary> write(const trace::snapshot& recording, const format& as, const std::string& path,
                              const options& wanted) {
  if (auto known = check_tables(wanted.tables); !known) return tl::unexpected(known.error());
  job export_job(recording, wanted);
  auto to = output::create(path, as.shape(wanted), wanted.replaces);
  if (!to) return tl::unexpected(to.error());
  if (auto written = as.write(export_job, *to); !written) {
    // The error names the file that the user gave, not the temporary file.
    std::string& about = written.error().file;
    if (!to->path().empty() && about.starts_with(to->path())) about.replace(0, to->path().size(), path);
    return tl::unexpected(written.error());
  }
  if (auto placed = to->commit(); !placed) return tl::unexpected(placed.error());
  if (wanted.progress) wanted.progress(1);
  return written_summary{export_job.rows(), to->bytes(), export_job.notes()};
}

}  // namespace sluice::exports
