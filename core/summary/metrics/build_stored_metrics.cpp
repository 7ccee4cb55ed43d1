#include "core/summary/metrics/build_stored_metrics.hpp"

#include <utility>

#include "core/summary/metrics/section_feed.hpp"

namespace sluice::summary {

result<stored_metrics> build_stored_metrics(const section_reader& reader, const metrics::unsectioned_facts& unsectioned,
                                            const stored_metrics_options& options, const run_visitor& also,
                                            const std::function<bool()>& goes_on, std::optional<time_range> range) {
  const metrics::metrics_scope scope{&reader.snapshot(),
                                     bounded(range.value_or(index::recorded_range(reader.snapshot())))};
  stored_metrics_builder builder(scope, *reader.whole()->steps, unsectioned);
  section_feed feed(reader, options, goes_on);
  if (const auto added = feed.add(builder, 0, reader.sections().size(), also); !added)
    return tl::unexpected(added.error());
  if (const auto looked = feed.revisit(builder); !looked) return tl::unexpected(looked.error());
  return builder.take();
}

}  // namespace sluice::summary
