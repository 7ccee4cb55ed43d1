#include "core/query/results/blocks.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/metrics/base/attribution_choice.hpp"
#include "core/query/results/query_operator.hpp"

namespace sluice::query {
namespace {

/// The selection may hold this many excess blocks before it drops them.
constexpr std::size_t found_between_cuts = std::size_t{1} << 14;
constexpr std::size_t rows_in_chunk = 8192;

/// Maps signed values to unsigned values in the same order.
std::uint64_t in_order(time_ns value) { return static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << 63; }
time_ns as_time(std::uint64_t value) { return static_cast<time_ns>(value); }
time_ns death(const block_row& row) { return row.died == trace::unknown_time ? INT64_MAX : row.died; }

void put_asked_by(const blocks_query& query, const sources& source, block_table& table) {
  metrics::stack_use use;
  for (const block_row& row : table.rows) use.shares.push_back({row.stack, {row.bytes, 1, 0, 0}});
  symbols::attributor who(source.frames, source.trace.tables(), source.lookup, &source.provisional);
  table.by = query.by.value_or(metrics::most_even(use, who).by);
  std::unordered_map<symbols::line_id, std::uint32_t> places;
  std::unordered_map<std::uint64_t, std::uint32_t> frameworks;
  const auto put = [&](std::string name) {
    table.names.push_back(std::move(name));
    return static_cast<std::uint32_t>(table.names.size() - 1);
  };
  const std::uint32_t nobody = put("");
  for (const block_row& row : table.rows) {
    std::uint32_t place = nobody;
    const bool owned = table.by == symbols::attribution::owner && row.layer > trace::layer::pool;
    if (owned) {
      // A framework owns the memory that it hands out, so its name is the owner's.
      const auto [at, fresh] = frameworks.try_emplace(raw(row.name), nobody);
      if (fresh) at->second = put(std::string(source.trace.tables().text(row.name)));
      place = at->second;
    } else if (row.stack != trace::stack_id::none) {
      const symbols::line_id line = who.of(row.stack, table.by);
      const auto [at, fresh] = places.try_emplace(line, nobody);
      if (fresh && line != who.unknown(table.by))
        at->second = put(symbols::format_place_and_name(source.frames.line(line)));
      place = at->second;
    }
    table.asked_by.push_back(place);
  }
}

void put_steps(const index::step_facts* steps, block_table& table) {
  if (steps == nullptr || steps->lists().empty()) return;
  const auto& lists = steps->lists();
  table.steps.reserve(table.rows.size());
  for (const block_row& row : table.rows) {
    const auto found = lists.find(row.process);
    const index::step* in = found == lists.end() ? nullptr : found->second.at(row.born);
    table.steps.push_back(in == nullptr ? -1 : in->number);
  }
}

}  // namespace

void complete_rows(const blocks_query& query, const sources& source, const index::step_facts* steps,
                   block_table& table) {
  put_steps(steps, table);
  put_asked_by(query, source, table);
}

// --- the selection -----------------------------------------------------------------------------------------------------

block_selection::block_selection(const blocks_query& query, const sources& source)
    : query_(query),
      tables_(source.trace.tables()),
      range_(bounded(query.range)),
      end_(index::recorded_range(source.trace).end),
      text_(query.filter, source) {
  if (query_.groups) groups_.emplace(*query_.groups, source);
}

result<void> block_selection::add(const block_chunk& chunk) {
  chunk_ = &chunk;
  uses_known_ |= chunk.uses_known && query_.needs_uses();
  for (values& each : columns_) each.clear();
  passes_.assign(chunk.rows, 1);
  filter();
  if (std::find(passes_.begin(), passes_.end(), 1) == passes_.end()) return got_;
  const values& bytes = column(list_column::bytes);
  make_keys();
  const values* blocks = nullptr;
  for (std::size_t i = 0; i < chunk.rows; ++i) {
    if (passes_[i] == 0) continue;
    ++count_;
    bytes_ += bytes[i];
    if (last_ && last_->key < keys_[i]) continue;
    if (blocks == nullptr) blocks = &column(list_column::block);
    const found next{keys_[i], (*blocks)[i], chunk.place + i};
    if (last_ && *last_ < next) continue;
    found_.push_back(next);
    if (found_.size() >= found_between_cuts + max_rows()) drop_last();
  }
  return got_;
}

void block_selection::drop_last() {
  if (found_.size() <= max_rows()) return;
  if (max_rows() == 0) return found_.clear();
  const auto last = found_.begin() + static_cast<std::ptrdiff_t>(max_rows()) - 1;
  std::nth_element(found_.begin(), last, found_.end());
  last_ = *last;
  found_.erase(last + 1, found_.end());
}

std::vector<std::uint64_t> block_selection::cut(std::uint64_t begin) {
  drop_last();
  std::vector<std::uint64_t> places;
  for (const found& each : found_)
    if (each.place >= begin) places.push_back(each.place);
  if (rows_.size() > found_between_cuts + 2 * found_.size()) {
    std::unordered_set<std::uint64_t> kept;
    for (const found& each : found_) kept.insert(each.place);
    std::erase_if(rows_, [&](const auto& row) { return !kept.contains(row.first); });
  }
  return places;
}

std::vector<std::uint64_t> block_selection::sort(std::size_t count) {
  count = std::min({count, max_rows(), found_.size()});
  if (count < max_rows() && count < found_.size()) {
    std::partial_sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(count), found_.end());
  } else {
    drop_last();
    std::sort(found_.begin(), found_.end());
  }
  std::vector<std::uint64_t> places;
  for (std::size_t i = 0; i < count; ++i) places.push_back(found_[i].place);
  return places;
}

std::vector<std::uint64_t> block_selection::list_missing(std::span<const std::uint64_t> places) const {
  std::vector<std::uint64_t> missing;
  for (const std::uint64_t place : places)
    if (!rows_.contains(place)) missing.push_back(place);
  std::sort(missing.begin(), missing.end());
  return missing;
}

block_table block_selection::make_table(std::span<const std::uint64_t> places, const sources& source,
                                        const index::step_facts* steps,
                                        const std::function<block_row(std::uint64_t)>& get_row) const {
  block_table table;
  table.count = count_;
  table.total_bytes = bytes_;
  table.uses_known = uses_known_;
  table.rows.reserve(places.size());
  for (const std::uint64_t place : places) table.rows.push_back(get_row ? get_row(place) : rows_.at(place));
  complete_rows(query_, source, steps, table);
  return table;
}

/// Returns a column of the current chunk; after a failure, zeros.
const block_selection::values& block_selection::column(list_column which) {
  values& subject = columns_[get_place(which)];
  if (got_) got_ = chunk_->read(which, columns_);
  if (!got_) subject.assign(chunk_->rows, 0);
  return subject;
}

void block_selection::filter() {
  filter_by_traits();
  filter_by_time();
  const auto keep_if = [&](list_column which, auto&& wanted) {
    const values& subject = column(which);
    for (std::size_t i = 0; i < chunk_->rows; ++i) passes_[i] &= static_cast<std::uint8_t>(wanted(subject[i]));
  };
  if (query_.device)
    keep_if(list_column::device, [at = raw(*query_.device)](std::uint64_t value) { return value == at; });
  if (query_.process != trace::process_id::none)
    keep_if(list_column::process, [target = raw(query_.process)](std::uint64_t current) { return current == target; });
  if (query_.min_bytes > 0)
    keep_if(list_column::bytes, [least = query_.min_bytes](std::uint64_t bytes) { return bytes >= least; });
  if (query_.only_unused) filter_unused();
  if (groups_ || !text_.takes_all()) filter_by_code();
}

void block_selection::filter_by_traits() {
  std::uint64_t mask = 0, wanted = 0;
  const auto want = [&](std::uint64_t value, unsigned at) {
    mask |= block_traits::mask << at;
    wanted |= value << at;
  };
  if (query_.layer) want(static_cast<std::uint64_t>(*query_.layer), 0);
  if (query_.kind) want(static_cast<std::uint64_t>(*query_.kind), block_traits::kind_at);
  if (query_.category) want(static_cast<std::uint64_t>(*query_.category), block_traits::category_at);
  if (query_.only_unfreed) want(1, block_traits::unfreed_at);
  if (mask == 0) return;
  const values& traits = column(list_column::traits);
  for (std::size_t i = 0; i < chunk_->rows; ++i) passes_[i] = static_cast<std::uint8_t>((traits[i] & mask) == wanted);
}

void block_selection::filter_by_time() {
  if (chunk_->in_range) return;
  const values& born = column(list_column::born);
  const values& died = column(list_column::died);
  for (std::size_t i = 0; i < chunk_->rows; ++i) {
    const bool lives_on = as_time(died[i]) == trace::unknown_time || as_time(died[i]) > range_.begin;
    passes_[i] &= static_cast<std::uint8_t>(as_time(born[i]) < range_.end && lives_on);
  }
}

void block_selection::filter_unused() {
  if (!chunk_->uses_known) return passes_.assign(chunk_->rows, 0);
  const values& uses = column(list_column::uses);
  const values& traits = column(list_column::traits);
  const values& blocks = column(list_column::block);
  for (std::size_t i = 0; i < chunk_->rows; ++i) {
    if (passes_[i] == 0) continue;
    const auto kind = static_cast<trace::memory_kind>(traits[i] >> block_traits::kind_at & block_traits::mask);
    const bool unused =
        uses[i] == 0 && index::is_device_resident(kind) && !chunk_->contains_others(trace::block_id{blocks[i]});
    passes_[i] = static_cast<std::uint8_t>(unused);
  }
}

/// Filters by name, address and call stack.
void block_selection::filter_by_code() {
  const values& name = column(list_column::name);
  const values& address = column(list_column::address);
  const values& stack = column(list_column::stack);
  const values& traits = column(list_column::traits);
  const values& stream = column(list_column::stream);
  const values& process = column(list_column::process);
  index::block_record block;
  for (std::size_t i = 0; i < chunk_->rows; ++i) {
    if (passes_[i] == 0) continue;
    block.name = trace::string_id{name[i]};
    block.address = address[i];
    block.stack = trace::stack_id{stack[i]};
    block.layer = static_cast<trace::layer>(traits[i] & block_traits::mask);
    block.stream = trace::stream_id{stream[i]};
    block.process = trace::process_id{process[i]};
    passes_[i] = static_cast<std::uint8_t>((!groups_ || groups_->takes(block)) && text_.takes(block));
  }
}

/// Ranks the names of the chunk's blocks in alphabetical order, among those of earlier chunks, whose keys may change.
void block_selection::rank_names() {
  constexpr std::uint64_t unranked = UINT64_MAX;
  bool more = false;
  std::optional<std::uint64_t> last;
  for (const std::uint64_t name : column(list_column::name))
    if (name != std::exchange(last, name)) more |= ranks_.try_emplace(name, unranked).second;
  if (!more) return;
  std::vector<std::pair<std::string_view, std::uint64_t>> names;
  for (const auto& [name, rank] : ranks_) names.emplace_back(tables_.text(trace::string_id{name}), name);
  std::sort(names.begin(), names.end());
  std::unordered_map<std::uint64_t, std::uint64_t> moved;
  std::uint64_t rank = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0 && names[i].first != names[i - 1].first) ++rank;
    moved.emplace(std::exchange(ranks_[names[i].second], rank), rank);
  }
  const auto move = [&](found& each) { each.key = query_.descending ? ~moved[~each.key] : moved[each.key]; };
  std::for_each(found_.begin(), found_.end(), move);
  if (last_) move(*last_);
}

/// Makes a sort key for each row of the chunk. The keys ascend in the query's order.
void block_selection::make_keys() {
  keys_.resize(chunk_->rows);
  const auto put = [&](auto&& get_key) {
    for (std::size_t i = 0; i < chunk_->rows; ++i) keys_[i] = query_.descending ? ~get_key(i) : get_key(i);
  };
  const auto by_column = [&](list_column which) {
    put([&subject = column(which)](std::size_t i) { return subject[i]; });
  };
  const auto by_time = [&](list_column which) {
    put([&target = column(which)](std::size_t i) { return in_order(as_time(target[i])); });
  };
  const auto by_trait = [&](unsigned at) {
    put([&owner = column(list_column::traits), at](std::size_t i) { return owner[i] >> at & block_traits::mask; });
  };
  const auto by_row = [&](std::initializer_list<list_column> needed, auto&& get_key) {
    for (const list_column each : needed) column(each);
    put([&](std::size_t i) {
      block_row row;
      row.born = as_time(columns_[get_place(list_column::born)][i]);
      row.died = as_time(columns_[get_place(list_column::died)][i]);
      if (needed.size() > 2) row.last_use = as_time(columns_[get_place(list_column::last_use)][i]);
      return in_order(get_key(row));
    });
  };
  switch (query_.sort) {
    case block_column::address:
      return by_column(list_column::address);
    case block_column::bytes:
      return by_column(list_column::bytes);
    case block_column::layer:
      return by_trait(0);
    case block_column::kind:
      return by_trait(block_traits::kind_at);
    case block_column::category:
      return by_trait(block_traits::category_at);
    case block_column::born:
      return by_time(list_column::born);
    case block_column::first_use:
      return by_time(list_column::first_use);
    case block_column::last_use:
      return by_time(list_column::last_use);
    case block_column::name:
      rank_names();
      return put([this, &about = column(list_column::name), rank = std::uint64_t{0}](std::size_t i) mutable {
        return rank = i > 0 && about[i] == about[i - 1] ? rank : ranks_[about[i]];
      });
    // Blocks that were never freed are the last.
    case block_column::died:
      return by_row({list_column::born, list_column::died}, [](const block_row& row) { return death(row); });
    case block_column::lifetime:
      return by_row({list_column::born, list_column::died},
                    [](const block_row& row) { return death(row) == INT64_MAX ? INT64_MAX : row.died - row.born; });
    case block_column::idle:
      return by_row({list_column::born, list_column::died, list_column::last_use},
                    [this](const block_row& row) { return idle_at_end(row, end_); });
  }
}

// --- the blocks of an index --------------------------------------------------------------------------------------------

namespace {

/// Returns the function that tells which blocks of an index contain others.
std::function<bool(trace::block_id)> find_holders(const sources& source) {
  // The file's list of segments is long for a job of many ranks, so it is not copied for each section.
  const index::section_facts* known = source.index.known_from_file();
  const auto segments = known != nullptr ? std::span(known->whole->segments) : std::span<const trace::block_id>();
  std::unordered_set<std::uint64_t> here;
  for (const index::block_record& block : source.index.memory().blocks())
    if (block.parent != trace::block_id::none) here.insert(raw(block.parent));
  return [segments, here = std::move(here)](trace::block_id block) {
    return here.contains(raw(block)) || std::binary_search(segments.begin(), segments.end(), block);
  };
}

class table_of_blocks final : public range_operator<block_table> {
 public:
  explicit table_of_blocks(const blocks_query& query) : range_operator(query.range), query_(query) {}

  result<void> add(const sources& source, time_range part) override {
    if (!selection_) selection_.emplace(query_, source);
    const summary::store_blocks blocks(source.index, source.trace);
    const auto records = blocks.records();
    steps_ = blocks.steps();
    std::vector<std::uint32_t> listed;  // The blocks of this part, in order of their places.
    std::span<const std::uint32_t> here;
    block_chunk chunk;
    chunk.uses_known = blocks.uses_known();
    chunk.read = [&](list_column column, block_values& to) -> result<void> {
      read_column(blocks, here, column, to);
      return {};
    };
    if (query_.only_unused) chunk.contains_others = find_holders(source);
    for (std::uint32_t i = 0; i < records.size();) {
      if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
      const std::size_t first = listed.size();
      for (; i < records.size() && listed.size() < first + rows_in_chunk; ++i) {
        // Blocks that began in an earlier section were counted there.
        const bool counted = part.begin != range_.begin && records[i].born < part.begin;
        if (records[i].allocated && records[i].live_in(part) && !counted) listed.push_back(i);
      }
      here = std::span(listed).subspan(first);
      chunk.place = begin_ + first;
      chunk.rows = here.size();
      if (auto added = selection_->add(chunk); !added) return added;
    }
    // With one part, `finish` gets the same index, and no row is held twice.
    whole_ = part.begin == range_.begin && part.end == range_.end;
    if (whole_) listed_ = std::move(listed);
    if (whole_) return {};
    for (const std::uint64_t place : selection_->cut(begin_))
      selection_->put_row(place, blocks.listed(listed[place - begin_], blocks.uses_known()));
    begin_ += listed.size();
    return {};
  }

  result<block_table> finish(const sources& source) override {
    if (!selection_) return block_table{};
    if (!whole_) return selection_->make_table(selection_->sort(), source, steps_.get());
    const summary::store_blocks blocks(source.index, source.trace);
    const bool uses = query_.needs_uses() && blocks.uses_known();
    return selection_->make_table(selection_->sort(), source, steps_.get(),
                                  [&](std::uint64_t place) { return blocks.listed(listed_[place], uses); });
  }

 private:
  const blocks_query query_;
  std::optional<block_selection> selection_;
  std::shared_ptr<const index::step_facts> steps_;
  std::uint64_t begin_ = 0;            ///< The place of the first block of the next part.
  bool whole_ = false;                 ///< The only part is the whole range.
  std::vector<std::uint32_t> listed_;  ///< The blocks of that part, by place.
};

}  // namespace

operator_of<blocks_query> make_operator(const blocks_query& query) { return std::make_unique<table_of_blocks>(query); }

}  // namespace sluice::query
