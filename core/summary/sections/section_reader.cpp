#include "core/summary/sections/section_reader.hpp"
#include "core/index/section_index.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/index/columns_needed.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/sections/boundary_blocks.hpp"
#include "core/summary/sections/section_writer.hpp"
#include "core/summary/stored/recording_facts_format.hpp"

namespace sluice::summary {
namespace {

tl::unexpected<error> given_up(const trace::snapshot& trace) {
  return fail(error_code::cancelled, "the index is no longer needed", trace.path());
}

bool is_everywhere(const trace::chunk_info& chunk) {
  return chunk.min_time == INT64_MIN && chunk.max_time == INT64_MAX;
}

/// True for rows that are stored by boundary. A chunk of such rows may have rows of several distant boundaries, so most
/// chunks contain no block that is live at a given time in between.
template <class Row>
constexpr bool are_by_boundary =
    std::is_same_v<Row, trace::boundary_block_row> || std::is_same_v<Row, trace::block_uses_row>;

// --- blocks, as rows ------------------------------------------------------------------------------------------------

index::block_category find_category(std::uint8_t value, std::uint8_t why) {
  if (value >= index::category_count || why >= index::category_reason_count) return {};
  return {static_cast<index::category>(value), static_cast<index::category_reason>(why)};
}

index::known_block select_block(const trace::boundary_block_row& row) {
  constexpr std::uint64_t max_bytes = std::uint64_t{1} << 52;
  index::known_block block;
  index::block_record& b = block.block;
  b.born = bounded(row.time);
  b.died = row.end >= latest_time ? trace::unknown_time : std::max(b.born, bounded(row.end));
  b.id = row.block;
  b.parent = row.parent;
  b.alloc = row.alloc;
  b.free = row.free;
  b.process = row.process;
  b.thread = row.thread;
  b.device = row.device;
  b.stream = row.stream;
  b.pool = row.pool;
  b.stack = row.stack;
  b.name = row.name;
  b.address = row.address;
  b.bytes = std::min(row.bytes, max_bytes);
  b.reserved_bytes = std::min(row.reserved_bytes, max_bytes);
  b.flags = row.flags;
  b.layer = row.layer;
  b.kind = row.kind;
  b.allocated = true;
  b.death_inferred = row.death_inferred;
  block.category = find_category(row.category, row.reason);
  return block;
}

time_ns bounded_if_known(time_ns time) { return time == trace::unknown_time ? time : bounded(time); }

/// Removes everything about other processes, and everything about all processes together.
void keep_process(index::section_facts& facts, trace::process_id only, const trace::tables& tables) {
  facts.only = only;
  auto whole = std::make_shared<index::recording_facts>(*facts.whole);
  for (index::recording_facts::memory& each : whole->memories) each.highest = 0;
  const auto of_others = [&](trace::pool_id pool) {
    const trace::pool_row* row = tables.pools.find(pool);
    return row == nullptr || row->process != only;
  };
  std::erase_if(whole->pools, [&](const auto& each) { return of_others(each.pool); });
  whole->not_tracked.clear();
  facts.whole = std::move(whole);
  std::erase_if(facts.blocks, [&](const index::known_block& each) { return each.block.process != only; });
  std::erase_if(facts.samples, [&](const trace::last_sample_row& each) {
    return each.type != trace::sampled_thing::pool || of_others(each.pool);
  });
  facts.open.clear();
}

index::known_uses get_uses(const trace::block_uses_row& row) {
  index::known_uses known_uses;
  known_uses.block = row.block;
  index::block_touches& uses = known_uses.uses;
  uses.first = {bounded_if_known(row.first_time), row.first_event};
  uses.last = {bounded_if_known(row.last_time), row.last_event};
  uses.kernels = row.kernels;
  uses.copies = row.copies;
  uses.replays = row.replays;
  uses.first_kernel = bounded_if_known(row.first_kernel);
  uses.from_host = {bounded_if_known(row.first_arrival), bounded_if_known(row.last_arrival), row.arrivals,
                    row.pageable_arrivals};
  return known_uses;
}

/// Returns the first saved facts with a version in [lowest, highest]; nothing if there are none.
result<std::optional<trace::saved_row>> saved_facts(const trace::snapshot& recording, std::uint32_t lowest,
                                                    std::uint32_t highest) {
  std::optional<trace::saved_row> found;
  std::vector<trace::saved_row> rows;
  result<void> got;
  recording.for_each_summary(trace::row_type::saved, [&](const trace::chunk_info& chunk) {
    if (found || !got) return;
    got = recording.read_summary<trace::saved_row>(chunk, rows);
    for (trace::saved_row& row : rows)
      if (got && !found && row.name == sections_name && row.version >= lowest && row.version <= highest)
        found = std::move(row);
  });
  if (!got) return tl::unexpected(got.error());
  return found;
}

bool decode(const trace::saved_row& row, index::recording_facts& into) {
  value_reader words(row.bytes, 4 * max_saved_bytes);
  words.get(into);
  return !words.failed() && words.at_end();
}

}  // namespace

/// Calls `use(row, chunk)` for the rows of a chunk. Skips the chunk if none of its rows is live in [from, to).
template <class Row, class Use>
result<void> section_reader::get_rows(const trace::chunk_info& chunk, time_ns begin, time_ns to, Use&& use,
                                      trace::column_set<Row> wanted) const {
  if constexpr (are_by_boundary<Row>) {
    if (!is_everywhere(chunk)) {
      const auto spans = from_->read_spans<Row>(chunk);
      if (!spans) return tl::unexpected(spans.error());
      const auto lives = [=](const trace::row_span& row) { return row.time < to && row.end >= begin; };
      if (std::none_of((*spans)->begin(), (*spans)->end(), lives)) return {};
    }
  }
  // Only this section needs these rows, so they are not cached.
  if constexpr (std::is_same_v<Row, trace::block_category_row>) {
    std::vector<Row> rows;
    if (auto got = from_->read_summary<Row>(chunk, rows); !got) return got;
    for (const Row& row : rows) use(row, chunk);
  } else {
    const auto rows = from_->read_summary<Row>(chunk, wanted);
    if (!rows) return tl::unexpected(rows.error());
    for (const Row& row : **rows) use(row, chunk);
  }
  return {};
}

/// Calls `get_rows` for the chunks of a row type that overlap [from, to), and `goes_on` after each chunk.
template <class Row, class Use>
result<void> section_reader::rows_in(time_ns begin, time_ns to, Use&& use, trace::column_set<Row> wanted,
                                     const std::function<bool()>& goes_on) const {
  result<void> got;
  const auto look = [&](const trace::chunk_info& chunk) {
    if (!got) return;
    got = get_rows<Row>(chunk, begin, to, use, wanted);
    if (got && goes_on && !goes_on()) got = given_up(*from_);
  };
  from_->for_each_summary(trace::type_of_row<Row>, look, begin, to == INT64_MAX ? to : to - 1);
  return got;
}

result<std::shared_ptr<const section_reader>> section_reader::open(std::shared_ptr<const trace::snapshot> recording,
                                                                   std::shared_ptr<const index::step_facts> steps,
                                                                   std::shared_ptr<const section_list> sections) {
  auto reader = std::make_shared<section_reader>();
  reader->from_ = std::move(recording);
  const trace::snapshot& subject = *reader->from_;
  reader->sections_ = sections ? std::move(sections) : section_list::of(reader->from_);
  auto saved = saved_facts(subject, full_sections_version, sections_version);
  if (!saved) return tl::unexpected(saved.error());
  if (!reader->sections_ || !*saved) return fail(error_code::not_found, "the file stores no sections", subject.path());
  reader->in_short_ = (*saved)->version > full_sections_version;
  auto whole = std::make_shared<index::recording_facts>();
  if (!decode(**saved, *whole))
    return fail(error_code::corrupt, "the facts about the sections in the file are invalid", subject.path());
  index::sort_by_graph(whole->graphs);
  whole->chunks = std::make_shared<const index::chunk_index>(reader->from_);
  whole->steps = steps ? std::move(steps) : std::make_shared<const index::step_facts>();
  reader->whole_ = std::move(whole);
  return std::shared_ptr<const section_reader>(std::move(reader));
}

std::shared_ptr<const section_reader> section_reader::of(std::shared_ptr<const trace::snapshot> recording,
                                                         std::span<const trace::section_row> sections,
                                                         std::shared_ptr<const index::recording_facts> whole) {
  auto reader = std::make_shared<section_reader>();
  reader->from_ = std::move(recording);
  reader->whole_ = std::move(whole);
  reader->sections_ = std::make_shared<const section_list>(sections);
  return reader;
}

const std::shared_ptr<const index::recording_facts>& section_reader::whole_with_segments() const {
  if (!in_short_) return whole_;
  std::call_once(segments_read_, [this] {
    const auto saved = saved_facts(*from_, full_sections_version, full_sections_version);
    index::recording_facts facts;
    if (!saved || !*saved || !decode(**saved, facts)) return;
    auto output = std::make_shared<index::recording_facts>(*whole_);
    output->segments = std::move(facts.segments);
    with_segments_ = std::move(output);
  });
  return with_segments_;
}

std::size_t section_reader::section_at(time_ns time) const { return sections_->section_at(bounded(time)); }

time_range section_reader::find_run(std::size_t first, std::size_t last) const {
  return {first == 0 ? -latest_time : get_begin(first),
          last + 1 < sections_->size() ? get_begin(last + 1) : latest_time + 1};
}

std::vector<index::step> section_reader::few_steps_in(time_range range, trace::process_id process) const {
  constexpr std::size_t max_chunks = 3;
  std::vector<index::step> found;
  std::size_t chunks = 0;
  from_->for_each_summary(
      trace::row_type::step, [&](const trace::chunk_info&) { ++chunks; }, range.begin, range.end - 1);
  if (chunks == 0 || chunks > max_chunks) return found;
  const auto got = rows_in<trace::step_row>(range.begin, range.end, [&](const trace::step_row& row, const auto&) {
    if (row.process == process && row.time < range.end && row.end > range.begin) found.push_back(index::get_step(row));
  });
  if (!got) found.clear();
  return found;
}

result<index::section_facts> section_reader::read(std::size_t first, std::size_t last, index::section_scope scope,
                                                  const std::function<bool()>& goes_on) const {
  index::section_facts facts;
  facts.scope = scope;
  facts.run = find_run(first, last);
  facts.whole = scope == index::section_scope::timeline ? whole_ : whole_with_segments();
  if (!facts.whole)
    return fail(error_code::corrupt, "the facts about the segments in the file are invalid", from_->path());
  const time_ns begin = facts.run.begin, end = facts.run.end;
  const auto lives = [=](const auto& row) { return row.time < end && row.end >= begin; };
  result<void> got;
  const auto read = [&]<class Row>(time_ns start, time_ns to, auto&& use) {
    if (got) got = rows_in<Row>(start, to, use, index::columns_needed<Row>(scope), goes_on);
  };
  read.operator()<trace::boundary_block_row>(begin, end, [&](const auto& row, const auto& chunk) {
    if (lives(row) || is_everywhere(chunk)) facts.blocks.push_back(select_block(row));
  });
  read.operator()<trace::block_category_row>(get_begin(first), end, [&](const auto& row, const auto&) {
    facts.categories.push_back({row.block, find_category(row.category, row.reason)});
  });
  if (index::is_drawn(scope)) {
    const time_ns since = get_begin(first);
    read.operator()<trace::last_sample_row>(since, std::max(end, since + 1), [&](const auto& row, const auto& chunk) {
      facts.samples_known = facts.samples_known || is_everywhere(chunk);
      const bool in_run = row.sampled >= begin && row.sampled < end;
      if (!in_run || row.type == trace::sampled_thing::device) facts.samples.push_back(row);
    });
  }
  if (index::is_drawn(scope)) {
    std::map<trace::process_id, std::vector<index::step>> steps;
    read.operator()<trace::step_row>(begin, end, [&](const auto& row, const auto&) {
      if (row.time < end && row.end > begin && row.end > row.time) steps[row.process].push_back(index::get_step(row));
    });
    for (const auto& [process, source] : whole_->steps->sources())
      facts.steps.push_back({process, {source, std::move(steps[process])}});
  }
  if (index::is_drawn(scope) && first > 0) {
    read.operator()<trace::open_slice_row>(begin, begin + 1, [&](const auto& row, const auto&) {
      if (row.time == begin) facts.open.push_back(make_slice(row));
    });
  }
  if (scope == index::section_scope::everything) {
    read.operator()<trace::block_uses_row>(begin, end, [&](const auto& row, const auto&) {
      if (lives(row)) facts.uses.push_back(get_uses(row));
    });
  }
  if (!got) return tl::unexpected(got.error());
  auto chunks = whole_->chunks->in(facts.run, facts.samples_known);
  if (!chunks) return tl::unexpected(chunks.error());
  facts.chunks = std::move(*chunks);
  return facts;
}

result<std::shared_ptr<const index::event_store>> section_reader::get_index(std::size_t first, std::size_t last,
                                                                            index::section_scope scope,
                                                                            const std::function<bool()>& goes_on,
                                                                            trace::process_id only) const {
  if (first > last || last >= sections_->size())
    return fail(error_code::invalid_argument, "the file has no such sections", from_->path());
  auto about = read(first, last, scope, goes_on);
  if (!about) return tl::unexpected(about.error());
  if (only != trace::process_id::none) keep_process(*about, only, from_->tables());
  auto output = std::make_shared<index::section_index>(std::move(*about));
  if (!output->absorb(*from_, goes_on)) return given_up(*from_);
  if (scope == index::section_scope::timeline) output->keep_what_is_drawn(*from_);
  return std::shared_ptr<const index::event_store>(std::move(output));
}

}  // namespace sluice::summary
