#include "core/summary/passes/recording_sections.hpp"

#include <algorithm>

#include "core/index/growing_index.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/make_report.hpp"
#include "core/summary/metrics/build_stored_metrics.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/summary/passes/recording_scan.hpp"

namespace sluice::summary {
namespace {

/// A look-up of blocks mostly needs the run of the event that uses a block, and those in which the program allocated
/// what it uses again and again.
constexpr std::size_t max_kept_runs = 3;
/// With very many live blocks, even one event store takes more. Then none is kept while the next is read.
constexpr std::size_t max_kept_bytes = 150'000'000;

}  // namespace

std::shared_ptr<const index::event_store> read_all_events(const trace::snapshot& recording,
                                                          const std::function<bool()>& goes_on,
                                                          trace::process_id only) {
  constexpr std::size_t chunks_between_looks = 16;
  auto store = std::make_shared<index::growing_index>(only);
  while (!store->absorb(recording, chunks_between_looks))
    if (goes_on && !goes_on()) return nullptr;
  return store;
}

result<std::unique_ptr<recording_sections>> recording_sections::open(std::shared_ptr<const trace::snapshot> recording,
                                                                     std::function<bool()> goes_on,
                                                                     std::uint64_t events_in_a_run) {
  unfinished_options options;
  if (goes_on) options.cancelled = [&goes_on] { return !goes_on(); };
  auto summed = summed_up(std::move(recording), options);
  if (!summed) return tl::unexpected(summed.error());
  std::unique_ptr<recording_sections> opened(new recording_sections(std::move(*summed), std::move(goes_on)));
  opened->stored_ = find_stored_metrics(*opened->recording_);
  if (!opened->stored_) return opened;
  opened->steps_ = get_steps(*opened->stored_, opened->recording_);
  // A file whose sections are damaged is read as if it had none.
  if (auto reader = section_reader::open(opened->recording_, opened->steps_)) {
    opened->reader_ = std::move(*reader);
    opened->plan_runs(events_in_a_run);
  }
  return opened;
}

void recording_sections::plan_runs(std::uint64_t events_in_a_run) {
  const section_list& sections = reader_->sections();
  std::uint64_t events = 0;
  for (std::size_t section = 0; section < sections.size(); ++section) {
    events += sections.events(section);
    if (section > 0 && events <= events_in_a_run) continue;
    first_.push_back(section);
    events = sections.events(section);
  }
}

result<std::shared_ptr<const index::step_facts>> recording_sections::steps() {
  if (steps_) return steps_;
  const auto store = get(0, index::section_scope::everything);
  if (!store) return tl::unexpected(store.error());
  return (*store)->tensors(*recording_)->steps;
}

time_range recording_sections::range_of(std::size_t run) const {
  if (!reader_) return all_time;
  return reader_->find_run(first_[run], last_section(run));
}

std::size_t recording_sections::run_at(time_ns time) const {
  if (!reader_) return 0;
  const auto behind = std::upper_bound(first_.begin(), first_.end(), reader_->section_at(time));
  return static_cast<std::size_t>(behind - first_.begin()) - 1;
}

result<std::shared_ptr<const index::event_store>> recording_sections::read(std::size_t run,
                                                                           index::section_scope scope) const {
  if (reader_) return reader_->get_index(first_[run], last_section(run), scope, goes_on_);
  auto store = read_all_events(*recording_, goes_on_);
  if (!store) return fail(error_code::cancelled, "reading the recording was cancelled", recording_->path());
  return store;
}

result<std::shared_ptr<const index::event_store>> recording_sections::get(std::size_t run, index::section_scope scope) {
  // Without sections, the only event store has everything.
  if (!reader_) scope = index::section_scope::everything;
  const auto known = std::find_if(kept_.begin(), kept_.end(), [&](const kept_run& each) {
    return each.run == run && index::is_in(scope, each.scope);
  });
  if (known != kept_.end()) {
    std::rotate(kept_.begin(), known, known + 1);
    return kept_.front().store;
  }
  std::size_t bytes = 0;
  for (const kept_run& each : kept_) bytes += each.store->memory_bytes();
  for (; !kept_.empty() && (kept_.size() == max_kept_runs || bytes > max_kept_bytes); kept_.pop_back())
    bytes -= kept_.back().store->memory_bytes();
  auto store = read(run, scope);
  if (store) kept_.insert(kept_.begin(), {run, scope, *store});
  return store;
}

result<void> recording_sections::for_each(index::section_scope scope, time_range range, const operation& add) {
  const std::size_t last = run_at(std::max(range.begin, range.end - 1));
  for (std::size_t run = run_at(range.begin); run <= last; ++run) {
    // A sequence of several runs is too long for any of them to be kept until it is read again.
    const auto store = reader_ ? read(run, scope) : get(run, scope);
    if (!store) return tl::unexpected(store.error());
    const time_range covered = range_of(run);
    if (!add(**store, {std::max(range.begin, covered.begin), std::min(range.end, covered.end)})) break;
  }
  return {};
}

// --- blocks ---------------------------------------------------------------------------------------------------------

result<std::shared_ptr<const index::event_store>> recording_sections::find(trace::block_id block) {
  for (auto each = kept_.begin(); each != kept_.end(); ++each) {
    if (each->scope != index::section_scope::everything || each->store->memory().find(block) == nullptr) continue;
    std::rotate(kept_.begin(), each, each + 1);
    return kept_.front().store;
  }
  const auto look = [&](std::size_t run) -> result<std::shared_ptr<const index::event_store>> {
    auto store = get(run, index::section_scope::everything);
    if (store && (*store)->memory().find(block) == nullptr) store = nullptr;
    return store;
  };
  if (!reader_) return look(0);
  const auto chunks = reader_->whole()->chunks->find([&](const index::chunk_reach& reach) {
    return raw(block) >= reach.lowest_block && raw(block) <= reach.highest_block;
  });
  if (!chunks) return tl::unexpected(chunks.error());
  for (const std::size_t chunk : *chunks) {
    const trace::chunk_info about = recording_->chunk(chunk);
    for (std::size_t run = run_at(about.min_time); run <= run_at(about.max_time); ++run)
      if (auto store = look(run); !store || *store) return store;
  }
  return nullptr;
}

result<std::shared_ptr<const index::chunk_index>> recording_sections::chunks() {
  if (reader_) return reader_->whole()->chunks;
  const auto store = get(0, index::section_scope::everything);
  if (!store) return tl::unexpected(store.error());
  return std::shared_ptr<const index::chunk_index>(*store, &(*store)->chunks());
}

// --- metrics --------------------------------------------------------------------------------------------------------

result<metrics::range_statistics> recording_sections::statistics(std::optional<time_range> range) {
  if (!range && stored_) return stored_->metrics.whole;
  const time_range span = bounded(range.value_or(index::recorded_range(*recording_)));
  metrics::range_measurer measurer(span);
  const auto added = for_each(index::section_scope::metrics, span, [&](const auto& store, time_range part) {
    measurer.add(store, part);
    return true;
  });
  if (!added) return tl::unexpected(added.error());
  return measurer.metrics(recording_->tables());
}

result<metrics::report_metrics> recording_sections::report(std::optional<time_range> range) {
  if (!range && stored_) return stored_->metrics;
  const time_range key = range.value_or(all_time);
  if (!reported_ || reported_->first != key) {
    auto computed = compute_report(range);
    if (!computed) return computed;
    reported_.emplace(key, std::move(*computed));
  }
  return reported_->second;
}

result<metrics::report_metrics> recording_sections::compute_report(std::optional<time_range> range) {
  if (!reader_) {
    const auto store = get(0, index::section_scope::everything);
    if (!store) return tl::unexpected(store.error());
    return metrics::compute_metrics(**store, *recording_, range);
  }
  const auto wanted = [this] { return !goes_on_ || goes_on_(); };
  const recording_scan scan(*recording_, wanted);
  if (!wanted()) return fail(error_code::cancelled, "reading the recording was cancelled");
  metrics::unsectioned_facts facts = collect_unsectioned_facts(scan, 0);
  facts.warnings = stored_->metrics.warnings;  // The scan does not see all contradictions.
  auto made = build_stored_metrics(*reader_, facts, {}, {}, goes_on_, range);
  if (!made) return tl::unexpected(made.error());
  return std::move(made->metrics);
}

}  // namespace sluice::summary
