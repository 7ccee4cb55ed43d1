#include "core/summary/passes/growing_summary.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/summary/passes/growing_file.hpp"
#include "core/summary/passes/new_beginning.hpp"
#include "core/summary/passes/planned_sections.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "core/summary/passes/section_pass.hpp"
#include "core/summary/sections/section_writer.hpp"
#include "core/summary/tiles/tile_maker.hpp"

namespace sluice::summary {
namespace {

/// The number of blocks that cross sections and are kept until they are written. In each call, the blocks that have not
/// been written yet are written to the rest file.
constexpr std::size_t max_kept = std::size_t{1} << 12U;

/// The unsectioned facts, together with the objects to which they refer.
struct held_facts {
  metrics::unsectioned_facts facts;
  index::import_owners owners;
  index::copy_contents contents;
};

tl::unexpected<error> cancelled(const trace::snapshot& trace) {
  return fail(error_code::cancelled, "building the summary was cancelled", trace.path());
}

tl::unexpected<error> unreadable(const trace::snapshot& trace) {
  return fail(error_code::corrupt, "a part of the recording cannot be read again", trace.path());
}

}  // namespace

class growing_summary::rest_file : public growing_file {
 public:
  explicit rest_file(growing_file file) : growing_file(std::move(file)) {}
};

class growing_summary::state {
 public:
  state(growing_file settled, const growing_summary_options& options)
      : options_(options),
        settled_file_(std::move(settled)),
        pass_(scan_, {.several_cores = false, .max_kept = max_kept}) {}

  [[nodiscard]] bool is_of_the_file_of(const trace::snapshot& now) const { return !of_ || of_->is_of_the_file_of(now); }

  /// False if it is time to start from scratch. This is the case if rows arrived late, or blocks belong to categories
  /// that no block had before, and enough time has passed to make a new start worthwhile.
  bool takes(const trace::snapshot& now) {
    const auto fresh = now.chunks().subspan(std::exchange(looked_at_, now.chunks().size()));
    newest_ = std::max(newest_, newest_begin(fresh));
    if (!settled_.empty())
      late_ += static_cast<std::size_t>(std::count_if(fresh.begin(), fresh.end(), [&](const trace::chunk_info& chunk) {
        return has_times(chunk) && bounded(chunk.min_time) < settled_.back().end;
      }));
    return (late_ == 0 && !has_more_categories_) || !beginning_.is_worth_another(events_in(now));
  }

  /// Returns nothing if the recording continues in a way that contradicts the settled sections. The caller must then
  /// start from scratch.
  result<std::optional<outcome>> go_on(std::shared_ptr<const trace::snapshot> now,
                                       const std::function<bool()>& goes_on) {
    const trace::snapshot& trace = *now;
    tables_ = trace.tables();
    scan_.go_on(trace, goes_on);
    if (!goes_on()) return cancelled(trace);
    of_ = now;
    sections_ = planned_sections(trace, options_.section_events, settled_);
    const bool as_before = sections_.size() > settled_.size() &&
                           std::equal(settled_.begin(), settled_.end(), sections_.begin(),
                                      [](const auto& a, const auto& b) { return a.time == b.time && a.end == b.end; });
    if (!as_before) return std::nullopt;
    begins_ = collect_begins(sections_);
    std::size_t settles = settled_.size();
    while (settles + 1 < sections_.size() && sections_[settles].end <= newest_ - options_.settles_after) ++settles;

    const auto steps = scan_.steps();
    section_writer into_settled(settled_file_.writer(), begins_);
    pass_.begin(steps, into_settled, goes_on, goes_on);
    if (!pass_.go_until(settles)) return goes_on() ? unreadable(trace) : cancelled(trace);

    auto made_rest = growing_file::make();
    if (!made_rest) return tl::unexpected(made_rest.error());
    const auto rest_to = std::make_shared<rest_file>(std::move(*made_rest));
    section_writer into_rest(rest_to->writer(), begins_);
    section_pass rest(pass_);
    rest.begin(steps, into_rest, goes_on, goes_on);
    if (!rest.go_until(sections_.size())) return goes_on() ? unreadable(trace) : cancelled(trace);
    pass_.settle(rest);
    section_pass_result found = rest.finish();
    if (!found.complete) return goes_on() ? unreadable(trace) : cancelled(trace);
    const auto whole = std::make_shared<index::recording_facts>(std::move(found.whole));
    auto for_older_readers = std::exchange(whole->not_tracked, {});

    auto joined = join(trace, *rest_to);
    if (!joined) return tl::unexpected(joined.error());
    const auto parts = section_reader::of(*joined, sections_, whole);
    tiles_.go_on(settled_file_.writer(), sections_, trace, false);
    auto added = add_tiles(tiles_, *parts, settles, goes_on);
    if (!added) return tl::unexpected(added.error());
    if (!*added) return std::nullopt;
    tile_maker ends(tiles_);
    ends.go_on(rest_to->writer(), sections_, trace, true);
    added = add_tiles(ends, *parts, sections_.size(), goes_on);
    if (!added) return tl::unexpected(added.error());
    if (!*added) return std::nullopt;
    ends.end();
    ends.put_highest(*whole);
    auto facts = get_facts(found.malformed);
    auto for_metrics = std::make_shared<index::recording_facts>(*whole);
    whole->not_tracked = std::move(for_older_readers);
    into_rest.add_whole(*whole);
    rest_to->writer().add_summary<trace::section_row>(sections_);
    settled_.assign(sections_.begin(), sections_.begin() + static_cast<std::ptrdiff_t>(settles));

    joined = join(trace, *rest_to);
    if (!joined) return tl::unexpected(joined.error());
    auto sections = section_reader::of(*joined, sections_, std::move(for_metrics));
    beginning_.ended(events_in(trace));
    const auto categories = std::count_if(ends.curves().begin(), ends.curves().end(),
                                          [](const auto& row) { return row.type == trace::curve_kind::category; });
    if (!categories_at_first_) categories_at_first_ = categories;
    has_more_categories_ = categories > *categories_at_first_;
    return outcome{std::move(sections), std::move(facts), rest_to, settles, 0, late_};
  }

  result<std::shared_ptr<const trace::snapshot>> with_metrics(const outcome& output, const stored_metrics& metrics) {
    const auto saved = saved_stored_metrics(metrics);
    if (!saved) return tl::unexpected(saved.error());
    output.rest->writer().add_summary<trace::saved_row>(std::span(&*saved, 1));
    return join(output.trace(), *output.rest);
  }

 private:
  result<std::shared_ptr<const trace::snapshot>> join(const trace::snapshot& trace, growing_file& rest) {
    const auto settled = settled_file_.snapshot();
    if (!settled) return tl::unexpected(settled.error());
    const auto of_rest = rest.snapshot();
    if (!of_rest) return tl::unexpected(of_rest.error());
    return trace.with_summaries(**settled, **of_rest);
  }

  /// Adds the sections before number `behind`. Returns false if their curves or lanes do not match those of the earlier
  /// sections.
  result<bool> add_tiles(tile_maker& to, const section_reader& reader, std::size_t behind,
                         const std::function<bool()>& goes_on) {
    for (std::size_t section = to.added(); section < behind; ++section) {
      const auto output = reader.get_index(section, section, index::section_scope::timeline, goes_on);
      if (!output) return tl::unexpected(output.error());
      if (!to.add(**output, section, section)) return false;
    }
    return true;
  }

  [[nodiscard]] std::shared_ptr<const metrics::unsectioned_facts> get_facts(std::uint64_t malformed) const {
    const auto held = std::make_shared<held_facts>();
    held->owners = scan_.import_owners();
    held->contents = scan_.contents();
    held->facts = collect_unsectioned_facts(scan_, malformed);
    held->facts.owners = &held->owners;
    held->facts.contents = &held->contents;
    return {held, &held->facts};
  }

  const growing_summary_options options_;
  std::shared_ptr<const trace::snapshot> of_;  ///< The snapshot passed to the last call.
  new_beginning beginning_;
  std::optional<std::ptrdiff_t> categories_at_first_;
  bool has_more_categories_ = false;
  std::size_t looked_at_ = 0;  ///< Number of chunks examined so far.
  time_ns newest_ = -latest_time;
  std::size_t late_ = 0;  ///< Number of chunks with rows in sections that were already settled.
  trace::tables tables_;  ///< The tables of the last snapshot, for the scan.
  recording_scan scan_{tables_};
  growing_file settled_file_;
  std::vector<trace::section_row> settled_;   ///< The sections in the file of settled sections.
  std::vector<trace::section_row> sections_;  ///< All sections of the last snapshot.
  std::vector<time_ns> begins_;
  section_pass pass_;  ///< Has processed all settled sections.
  tile_maker tiles_;
};

growing_summary::growing_summary(const growing_summary_options& options) : options_(options) {}
growing_summary::~growing_summary() = default;

result<growing_summary::outcome> growing_summary::sum_up(std::shared_ptr<const trace::snapshot> now,
                                                         const std::function<bool()>& goes_on) {
  if (state_ && (!state_->is_of_the_file_of(*now) || !state_->takes(*now))) state_.reset();
  for (;;) {
    const bool first = !state_;
    if (first) {
      auto file = growing_file::make();
      if (!file) return tl::unexpected(file.error());
      state_ = std::make_unique<state>(std::move(*file), options_);
      static_cast<void>(state_->takes(*now));
      ++beginnings_;
    }
    auto on = state_->go_on(now, goes_on);
    if (on && *on) {
      (*on)->beginning = beginnings_;
      return std::move(**on);
    }
    state_.reset();
    if (!on) return tl::unexpected(on.error());
    if (first) return fail(error_code::corrupt, "parts of the recording contradict one another", now->path());
  }
}

result<std::shared_ptr<const trace::snapshot>> growing_summary::with_metrics(const outcome& output,
                                                                             const stored_metrics& metrics) {
  return state_->with_metrics(output, metrics);
}

}  // namespace sluice::summary
