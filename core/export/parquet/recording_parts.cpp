#include "core/export/parquet/recording_parts.hpp"

#include <algorithm>

#include "core/summary/passes/finalize.hpp"

namespace sluice::exports {
namespace {

/// The events of a part. Larger parts take more memory, some 100 bytes per event. Smaller parts read long-lived blocks
/// more often.
constexpr std::uint64_t events_at_once = 300'000;

}  // namespace

result<recording_parts> recording_parts::open(job& export_job) {
  std::shared_ptr<const trace::snapshot> trace(std::shared_ptr<void>(), &export_job.trace());
  const auto summed = summary::summed_up(trace, {.cancelled = [&export_job] { return export_job.cancelled().load(); }});
  if (!summed) return tl::unexpected(summed.error());
  recording_parts parts;
  parts.context_ = std::make_unique<query::sql_context>();
  query::sql_context& context = *parts.context_;
  context.trace = *summed;
  context.frames = std::make_unique<symbols::frame_cache>(symbols::options_for(export_job.trace()));
  context.cancelled = &export_job.cancelled();
  if (context.whole() == nullptr) return parts;
  auto sections = summary::section_reader::open(*summed, context.steps);
  if (sections)
    parts.sections_ = std::move(*sections);
  else if (sections.error().code != error_code::not_found)
    return tl::unexpected(sections.error());
  return parts;
}

result<const index::chunk_index*> recording_parts::chunks() {
  if (sections_) return sections_->whole()->chunks.get();
  const index::event_store* store = context_->analysed();
  if (store == nullptr) return tl::unexpected(context_->stop_reason());
  return &store->chunks();
}

result<void> recording_parts::for_each(const visitor& visit) {
  if (!sections_) {
    const index::event_store* store = context_->analysed();
    if (store == nullptr) return tl::unexpected(context_->stop_reason());
    return visit(*store, all_time);
  }
  const std::size_t count = sections_->sections().size();
  for (std::size_t first = 0, last = 0; first < count; first = last + 1) {
    last = first;
    std::uint64_t events = sections_->sections().events(first);
    while (last + 1 < count && events + sections_->sections().events(last + 1) <= events_at_once)
      events += sections_->sections().events(++last);
    const auto part =
        sections_->get_index(first, last, index::section_scope::everything, [this] { return !context_->stopped(); });
    if (!part) return tl::unexpected(part.error());
    if (auto done = visit(**part, sections_->find_run(first, last)); !done) return done;
  }
  return {};
}

}  // namespace sluice::exports
