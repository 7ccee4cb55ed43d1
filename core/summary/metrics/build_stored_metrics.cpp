#include "core/summary/metrics/build_stored_metrics.hpp"

#include <utility>

#include "core/summary/metrics/section_feed.hpp"

namespace sluice::summary {

result<stored_metrics> build_stored_metrics(const section_reader& from, const metrics::unsectioned_facts& unsectioned,
                                            const stored_metrics_options& options, const run_visitor& also,
                                            const std::function<bool()>& goes_on) {
  const metrics::metrics_scope scope{&from.snapshot(), index::time_range_of(from.snapshot())};
  stored_metrics_builder all(scope, *from.whole()->steps, unsectioned);
  section_feed feed(from, options, goes_on);
  if (const auto added = feed.add(all, 0, from.sections().size(), also); !added) return tl::unexpected(added.error());
  if (const auto looked = feed.revisit(all); !looked) return tl::unexpected(looked.error());
  return all.take();
}

}  // namespace sluice::summary
