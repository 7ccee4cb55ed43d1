#include "core/summary/figures/build_stored_figures.hpp"

#include <algorithm>
#include <future>
#include <set>
#include <system_error>

#include "core/base/threads/worker_thread.hpp"
#include "core/summary/figures/stored_figures_builder.hpp"

namespace sluice::analysis {
namespace {

/// Large sections, in which many blocks live, are read one at a time.
constexpr std::uint64_t most_events_a_run = 200'000;

}  // namespace

result<stored_figures> build_stored_figures(const section_reader& from, const unsectioned_facts& unsectioned,
                                            std::size_t sections_a_run, const run_visitor& also,
                                            const std::function<bool()>& goes_on) {
  const std::size_t sections = from.sections().size();
  if (sections == 0 || sections_a_run == 0)
    return fail(error_code::invalid_argument, "there is nothing to gather", from.snapshot().path());
  stored_figures_builder all(from.snapshot(), *from.whole()->steps, unsectioned);
  const auto last_of = [&](std::size_t first) {
    std::size_t last = first;
    std::uint64_t events = from.sections()[first].events;
    while (last + 1 < std::min(first + sections_a_run, sections)) {
      events += from.sections()[last + 1].events;
      if (events > most_events_a_run) break;
      ++last;
    }
    return last;
  };
  const auto read = [&](std::size_t first) {
    const auto index = [&, first, last = last_of(first)] {
      return from.index_of(first, last, section_scope::everything, goes_on);
    };
    try {
      return start_async(index);
    } catch (const std::system_error&) {
      return std::async(std::launch::deferred, index);  // No thread is available: read without overlap.
    }
  };
  auto next = read(0);
  for (std::size_t first = 0, last = 0; first < sections; first = last + 1) {
    last = last_of(first);
    const auto run = next.get();
    if (!run) return tl::unexpected(run.error());
    if (last + 1 < sections) next = read(last + 1);
    all.add(**run, from.run_of(first, last));
    if (also && !also(**run, first, last)) return fail(error_code::cancelled, "cancelled", from.snapshot().path());
  }
  std::set<std::size_t> again;
  for (const time_ns moment : all.moments()) again.insert(from.section_at(moment));
  for (const std::size_t section : again) {
    const auto run = from.index_of(section, section, section_scope::everything, goes_on);
    if (!run) return tl::unexpected(run.error());
    all.look(**run, from.run_of(section, section));
  }
  return all.take();
}

}  // namespace sluice::analysis
