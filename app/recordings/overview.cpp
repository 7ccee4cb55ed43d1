#include "app/recordings/overview.hpp"

#include "core/query/engine/engine.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/summary/stored/stored_metrics.hpp"

namespace sluice::recordings {
namespace {

/// Less than for a window, because lists are computed beside other work.
constexpr std::size_t memory_bytes = std::size_t{256} << 20;

bool could_take_long(const trace::snapshot& recording) {
  if (recording.growing() || summary::wants_summing_up(recording, {})) return true;
  return recording.file_bytes() > max_bytes_read_whole && summary::find_stored_metrics(recording) == nullptr;
}

}  // namespace

result<overview> read_overview(const std::shared_ptr<trace::file>& recording) {
  if (could_take_long(*recording->latest()))
    return fail(error_code::invalid_argument, "the recording is not summarized", recording->path());
  query::engine_options with;
  with.threads = 1;
  with.memory_bytes = memory_bytes;
  query::engine engine(recording, with);
  const auto report = engine.ask_now(query::report_query{});
  if (!report) return tl::unexpected(report.error());
  auto picture = make_thumbnail(engine);
  if (!picture) return tl::unexpected(picture.error());
  return overview{make_verdict_line(**report), std::move(*picture)};
}

result<overview> read_overview(const std::string& path) {
  trace::reader_options options;
  options.cache_bytes = std::size_t{32} << 20;
  auto file = trace::file::open(path, options);
  if (!file) return tl::unexpected(file.error());
  return read_overview(*file);
}

}  // namespace sluice::recordings
