#include "core/summary/passes/summing_up.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/metrics/metrics_builder.hpp"
#include "core/summary/metrics/section_feed.hpp"
#include "core/summary/metrics/stored_metrics_builder.hpp"
#include "core/summary/passes/growing_file.hpp"
#include "core/summary/passes/planned_sections.hpp"
#include "core/summary/passes/section_pass.hpp"
#include "core/summary/passes/settling.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/summary/sections/section_writer.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "core/summary/tiles/tile_maker.hpp"

namespace sluice::summary {
namespace {

/// The number of sections per event store. An event store takes about 10 MB unless there are many processes, and a few
/// event stores are in memory at the same time.
constexpr std::size_t sections_a_run = 2;
/// The number of blocks that cross sections and are kept until they are written. In each call, the blocks that have not
/// been written yet are written to the rest file.
constexpr std::size_t max_kept_early = std::size_t{1} << 12U;
/// The minimum number of new sections between two calls, because each call processes everything that cannot be settled,
/// and infers the latest steps.
constexpr std::size_t min_new_sections = 4;
/// Starting from scratch is worthwhile once this many times the duration of summing up everything, measured with one
/// thread, has passed.
constexpr double worth_times = 10;
constexpr double seconds_an_event = 0.6e-6;
/// The share of the total time after which the first pass has processed the sections, as measured.
constexpr double swept_through = 1.0 / 3;

tl::unexpected<error> cancelled(const trace::snapshot& trace) {
  return fail(error_code::cancelled, "building the summary was cancelled", trace.path());
}

tl::unexpected<error> unreadable(const trace::snapshot& trace) {
  return fail(error_code::corrupt, "a part of the recording cannot be read again", trace.path());
}

tl::unexpected<error> contradictory(const trace::snapshot& trace) {
  return fail(error_code::corrupt, "parts of the recording contradict one another", trace.path());
}

}  // namespace

/// The passes that process the sections in order.
class summing_up::part {
 public:
  part(const recording_scan& known, const section_pass_options& options) : pass(known, options) {}

  void set_sections(std::span<const trace::section_row> now) {
    sections.assign(now.begin(), now.end());
    begins = collect_begins(sections);
  }

  /// Makes the metrics continue with `now`. Returns false if the sections added so far are no longer valid.
  [[nodiscard]] bool look_at(std::shared_ptr<const section_reader> now, const metrics::unsectioned_facts& facts) {
    // Keeps the old facts until nothing refers to them any more.
    const auto before = std::exchange(parts_, std::move(now));
    const auto facts_before = std::exchange(facts_, std::make_shared<const metrics::unsectioned_facts>(facts));
    const index::recording_facts& whole = *parts_->whole();
    const time_range range = index::recorded_range(parts_->snapshot());
    if (!before) {
      scope_ = {&parts_->snapshot(), range};
      metrics.emplace(scope_, *whole.steps, *facts_);
      return true;
    }
    if (range.begin != scope_.range.begin || !found_alike(*before->whole(), whole)) return false;
    scope_ = {&parts_->snapshot(), range};
    const time_ns until = added > 0 ? before->find_run(added - 1, added - 1).end : scope_.range.begin;
    return metrics->go_on(*whole.steps, *facts_, until);
  }

  /// Adds the sections before number `behind` to the tiles and metrics. Returns false if the tiles do not match the
  /// earlier tiles. Errors: those of `section_feed::add`; cancelled once `goes_on`, which is called after each event
  /// store, returns false. After cancelled, a later call can continue.
  [[nodiscard]] result<bool> add(section_feed& feed, std::size_t behind, const std::function<bool()>& goes_on) {
    bool fits = true;
    const auto done =
        feed.add(*metrics, added, behind, [&](const index::event_store& store, std::size_t first, std::size_t last) {
          fits = tiles.add(store, first, last) && store.is_complete();
          added = last + 1;
          return fits && goes_on();
        });
    if (!fits) return false;
    if (!done) return tl::unexpected(done.error());
    return true;
  }

  /// Continues to the end of the recording, and writes everything to `to`. Returns false if the recording contradicts
  /// itself or, if a part was summed up `early`, contradicts the early results. Errors: those of `summing_up::end`.
  [[nodiscard]] result<bool> end(const recording_scan& known, trace::file_writer& to, bool early,
                                 const summing_up_options& options) {
    const trace::snapshot& trace = known.trace();
    const auto share = [n = static_cast<double>(sections.size())](std::size_t done) {
      return static_cast<double>(done) / n;
    };
    section_writer into(to, begins);
    const std::function<bool()> wanted = [&] {
      return options.on_progress(swept_through * share(pass.gone_through()));
    };
    pass.set_several_cores(options.several_cores);
    pass.begin(known.steps(), into, wanted, options.goes_on);
    if (early && pass.revised()) return false;
    const bool gone = pass.go_until(sections.size());
    if (early && pass.revised()) return false;
    section_pass_result found = gone ? pass.finish() : section_pass_result{};
    if (!options.goes_on()) return cancelled(trace);
    if (!found.complete) return unreadable(trace);

    const auto whole = std::make_shared<index::recording_facts>(std::move(found.whole));
    auto for_older_readers = std::exchange(whole->not_tracked, {});
    const auto so_far = written_so_far().snapshot(to);
    if (!so_far) return tl::unexpected(so_far.error());
    const auto parts = section_reader::of(trace.with_summaries(**so_far), sections, whole);
    if (!look_at(parts, collect_unsectioned_facts(known, found.malformed))) return false;
    tiles.go_on(to, sections, parts->snapshot(), true);
    section_feed feed(*parts, {.sections_a_run = sections_a_run, .several_cores = options.several_cores},
                      options.goes_on);
    const auto goes = [&] { return options.on_progress(swept_through + (1 - swept_through) * share(added)); };
    const auto done = add(feed, sections.size(), goes);
    if (!options.goes_on()) return cancelled(trace);
    if (!done || !*done) return done;
    if (const auto looked = feed.revisit(*metrics); !looked) return tl::unexpected(looked.error());
    tiles.end();
    tiles.put_highest(*whole);
    whole->not_tracked = std::move(for_older_readers);
    into.add_whole(*whole);
    const auto saved = saved_stored_metrics(metrics->take());
    if (!saved) return tl::unexpected(saved.error());
    to.add_summary<trace::saved_row>(std::span(&*saved, 1));
    to.add_summary<trace::section_row>(sections);
    return true;
  }

  std::vector<trace::section_row> sections;
  std::vector<time_ns> begins;
  section_pass pass;
  tile_maker tiles;
  std::optional<stored_metrics_builder> metrics;
  std::size_t added = 0;  ///< Number of sections added to the tiles and metrics.

 private:
  // `metrics` refers to the following members.
  metrics::metrics_scope scope_{};
  std::shared_ptr<const section_reader> parts_;
  std::shared_ptr<const metrics::unsectioned_facts> facts_;
};

/// The part of a growing recording that will not change any more.
class summing_up::early_part : public part {
 public:
  early_part(const recording_scan& known, growing_file output)
      : part(known, {.several_cores = false, .max_kept = max_kept_early}), file(std::move(output)) {}

  /// False if the processed sections have changed, or rows or tags in them have arrived, since the last call.
  [[nodiscard]] bool still_holds(recording_scan& known, std::span<const trace::section_row> now) {
    const auto fresh = known.trace().chunks().subspan(std::exchange(looked_at_, known.trace().chunks().size()));
    const std::uint64_t tagged = known.take_lowest_tagged();
    const std::size_t gone = pass.gone_through();
    if (gone == 0) return true;
    const bool late = std::any_of(fresh.begin(), fresh.end(), [&](const trace::chunk_info& chunk) {
      return has_times(chunk) && bounded(chunk.min_time) < sections[gone - 1].end;
    });
    const auto same = [](const auto& a, const auto& b) { return a.time == b.time && a.end == b.end; };
    const bool as_before = now.size() > gone && std::equal(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(gone),
                                                           sections.begin(), same);
    return !late && as_before && tagged > pass.highest_judged();
  }

  /// Continues with a recording for which `still_holds` is true. Returns false if the caller must start from scratch.
  /// Errors: cancelled once `wanted` returns false; those of reading and writing. After cancelled, a later call can
  /// continue.
  [[nodiscard]] result<bool> go_on(const recording_scan& known, const std::function<bool()>& wanted) {
    const trace::snapshot& trace = known.trace();
    const time_ns known_until = known.steps_settled_until();
    if (pass.gone_through() < sections.size() && sections[pass.gone_through()].end > known_until) return true;
    const auto steps = known.steps();
    if (awaits_second_step(*steps, index::recorded_range(trace))) return true;
    const time_ns over =
        std::min(known_until, sections.back().end - settling_time(*steps, index::recorded_range(trace)));
    if (!confirmed(steps, over)) return true;
    std::size_t settles = pass.gone_through();
    while (settles + 1 < sections.size() && sections[settles].end <= over) ++settles;
    // The remaining sections are processed again in each call.
    if (settles == 0 || settles - pass.gone_through() < (sections.size() - settles) / 2) return true;

    bool stopped = false;
    const std::function<bool()> goes = [&] { return !(stopped = stopped || !wanted()); };
    const std::function<bool()> always = [] { return true; };
    const auto why = [&] { return stopped ? cancelled(trace) : unreadable(trace); };
    section_writer into(file.writer(), begins);
    pass.begin(steps, into, goes, always);
    if (pass.revised()) return false;
    if (!pass.go_until(settles)) return why();
    auto output = growing_file::make();
    if (!output) return tl::unexpected(output.error());
    growing_file& rest = rest_.emplace(std::move(*output));
    section_writer into_rest(rest.writer(), begins);
    section_pass ahead(pass);
    ahead.begin(steps, into_rest, goes, always);
    if (!ahead.go_until(sections.size())) return why();
    pass.settle(ahead);
    if (pass.revised()) return false;
    section_pass_result found = ahead.finish();
    if (!found.complete) return unreadable(trace);

    found.whole.not_tracked.clear();
    const auto settled = file.snapshot(), of_rest = rest.snapshot();
    if (!settled) return tl::unexpected(settled.error());
    if (!of_rest) return tl::unexpected(of_rest.error());
    const auto parts = section_reader::of(trace.with_summaries(**settled, **of_rest), sections,
                                          std::make_shared<const index::recording_facts>(std::move(found.whole)));
    if (!look_at(parts, collect_unsectioned_facts(known, found.malformed))) return false;
    tiles.go_on(file.writer(), sections, parts->snapshot(), false);
    section_feed feed(*parts, {.sections_a_run = sections_a_run, .several_cores = false, .one_thread = true}, always);
    return add(feed, feed.end_of_runs(added, settles), goes);
  }

  growing_file file;

 private:
  /// True if the steps were the same in the last call. Steps that were inferred from little data may change.
  [[nodiscard]] bool confirmed(const std::shared_ptr<const index::step_facts>& steps, time_ns over) {
    const auto before = std::exchange(steps_before_, steps);
    const time_ns until = std::exchange(over_before_, over);
    return before != nullptr && before->begin_alike(*steps, until);
  }

  std::size_t looked_at_ = 0;  ///< Number of chunks examined so far.
  std::shared_ptr<const index::step_facts> steps_before_;
  time_ns over_before_ = 0;
  std::optional<growing_file> rest_;  ///< The data of the sections that are not settled.
};

summing_up::summing_up(recording_scan& known) : known_(known) {}
summing_up::~summing_up() = default;

std::size_t summing_up::settled() const { return early_ ? early_->added : 0; }

void summing_up::give_up() {
  failed_ = true;
  early_.reset();
}

void summing_up::go_on(std::span<const trace::section_row> sections, const std::function<bool()>& wanted) {
  if (!is_due(sections.size())) return;
  if (early_ && !early_->still_holds(known_, sections)) early_.reset();
  if (!early_ && !begin_early()) return;
  early_->set_sections(sections);
  const auto done = early_->go_on(known_, wanted);
  if (!done && done.error().code != error_code::cancelled) return give_up();
  if (done && !*done) early_.reset();
  if (done) due_ = sections.size() + min_new_sections;
}

/// Starting early is allowed the first time, and later only if it takes a small part of the elapsed time.
bool summing_up::begin_early() {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> takes(seconds_an_event * static_cast<double>(known_.events()));
  if (begun_ && now - *begun_ < worth_times * takes) return false;
  auto file = growing_file::make();
  if (!file) {
    give_up();
    return false;
  }
  begun_ = now;
  early_ = std::make_unique<early_part>(known_, std::move(*file));
  return early_->still_holds(known_, {});
}

result<void> summing_up::end(trace::file_writer& file, std::span<const trace::section_row> sections,
                             const summing_up_options& options) {
  if (early_ && early_->pass.gone_through() > 0 && early_->still_holds(known_, sections)) {
    early_->set_sections(sections);
    const auto ended = early_->end(known_, early_->file.writer(), true, options);
    if (ended && *ended) return file.add_summaries_of(early_->file.writer());
    if (!options.goes_on()) return cancelled(known_.trace());
  }
  early_.reset();
  part whole(known_, {.several_cores = options.several_cores});
  whole.set_sections(sections);
  const auto ended = whole.end(known_, file, false, options);
  if (!ended) return tl::unexpected(ended.error());
  if (!*ended) return contradictory(known_.trace());
  return {};
}

}  // namespace sluice::summary
