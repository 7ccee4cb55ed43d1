#include "core/summary/figures/build_stored_figures.hpp"

#include <utility>

#include "core/summary/figures/section_feed.hpp"

namespace sluice::analysis {

result<stored_figures> build_stored_figures(const section_reader& from, const unsectioned_facts& unsectioned,
                                            const stored_figures_options& options, const run_visitor& also,
                                            const std::function<bool()>& goes_on) {
  const figures_scope scope{&from.snapshot(), time_range_of(from.snapshot())};
  stored_figures_builder all(scope, *from.whole()->steps, unsectioned);
  section_feed feed(from, options, goes_on);
  if (const auto added = feed.add(all, 0, from.sections().size(), also); !added) return tl::unexpected(added.error());
  if (const auto looked = feed.look(all); !looked) return tl::unexpected(looked.error());
  return all.take();
}

}  // namespace sluice::analysis
