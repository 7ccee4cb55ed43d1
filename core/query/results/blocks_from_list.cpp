#include "core/query/results/blocks_from_list.hpp"

#include <algorithm>

#include "core/query/results/blocks.hpp"

namespace sluice::query {
namespace {

/// The result may hold this many excess blocks before it drops them.
constexpr std::size_t found_between_cuts = std::size_t{1} << 14;

using steady = std::chrono::steady_clock;

/// Maps signed values to unsigned values in the same order.
std::uint64_t in_order(time_ns value) { return static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << 63; }
time_ns get_time(std::uint64_t value) { return static_cast<time_ns>(value); }

}  // namespace

blocks_from_list::blocks_from_list(const blocks_query& query, const sources& source,
                                   std::unique_ptr<long_result<block_table>> without)
    : query_(query),
      from_(source),
      list_(*source.stored->blocks),
      range_(bounded(query.range)),
      end_(index::recorded_range(source.trace).end),
      without_(std::move(without)),
      text_(query.filter, from_) {
  if (query_.groups) groups_.emplace(*query_.groups, from_);
}

result<bool> blocks_from_list::work(steady::time_point deadline, const std::atomic<bool>& cancelled) {
  if (left_) return without_->work(deadline, cancelled);
  do {
    if (cancelled) return fail(error_code::cancelled, "the query was cancelled");
    if (done_) return true;
    // This is read before the number of chunks, because another thread may add chunks.
    const bool listed = list_.complete();
    if (next_ < list_.chunks() && (listed || query_.sort != block_column::name)) {
      take(next_++);
      if (!got_) return tl::unexpected(got_.error());
    } else if (listed) {
      if (!sorted_) {
        cut(max_rows());
        std::sort(found_.begin(), found_.end());
        sorted_ = true;
      }
      const auto fetched = fetch(deadline, found_.size());
      if (!fetched) return fetched;
      done_ = *fetched;
    } else if (const auto more = list_.extend([&cancelled] { return !cancelled; }); !more) {
      if (more.error().code == error_code::cancelled) return tl::unexpected(more.error());
      left_ = true;
      return without_->work(deadline, cancelled);
    }
  } while (!done_ && steady::now() < deadline);
  return done_;
}

float blocks_from_list::progress() const {
  if (left_) return without_->progress();
  const auto chunks = static_cast<float>(std::max<std::size_t>(list_.chunks(), 1));
  return list_.progress() * static_cast<float>(next_) / chunks;
}

result<block_table> blocks_from_list::so_far(bool& provisional) {
  if (left_) return without_->so_far(provisional);
  std::size_t rows = found_.size();
  if (!done_) {
    constexpr std::size_t max_kept = 16 * block_table::first_rows;
    if (rows_.size() > max_kept) rows_.clear();
    rows = std::min(max_rows(), block_table::first_rows);
    if (found_.size() > rows) {
      std::partial_sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(rows), found_.end());
    } else {
      std::sort(found_.begin(), found_.end());
      rows = found_.size();
    }
    if (const auto fetched = fetch(steady::time_point::max(), rows); !fetched) return tl::unexpected(fetched.error());
  }
  block_table table;
  table.count = count_;
  table.total_bytes = bytes_;
  table.uses_known = query_.needs_uses() && list_.uses_known();
  table.rows.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) table.rows.push_back(rows_.at(found_[i].place));
  const sources source{from_.index,  from_.trace, from_.cancelled, from_.frames,
                       from_.lookup, nullptr,     nullptr,         provisional};
  complete_rows(query_, source, from_.stored->facts ? from_.stored->facts->steps.get() : nullptr, table);
  return table;
}

// --- one chunk ------------------------------------------------------------------------------------------------------

const blocks_from_list::values& blocks_from_list::column(list_column which) {
  values& subject = columns_[static_cast<std::size_t>(which)];
  if (got_) got_ = list_.read(chunk_, which, columns_);
  if (!got_) subject.assign(facts_.rows, 0);
  return subject;
}

void blocks_from_list::take(std::size_t chunk) {
  chunk_ = chunk;
  facts_ = list_.facts(chunk);
  for (values& each : columns_) each.clear();
  passes_.assign(facts_.rows, 1);
  filter();
  if (std::find(passes_.begin(), passes_.end(), 1) == passes_.end()) return;
  const values& bytes = column(list_column::bytes);
  const values& key = keys();
  const values* blocks = nullptr;
  for (std::size_t i = 0; i < facts_.rows; ++i) {
    if (passes_[i] == 0) continue;
    ++count_;
    bytes_ += bytes[i];
    if (last_ && last_->key < key[i]) continue;
    if (blocks == nullptr) blocks = &column(list_column::block);
    const found next{key[i], (*blocks)[i], chunk * block_list::rows_in_chunk + i};
    if (last_ && *last_ < next) continue;
    found_.push_back(next);
    if (found_.size() >= found_between_cuts + max_rows()) cut(max_rows());
  }
}

void blocks_from_list::cut(std::size_t most) {
  if (found_.size() <= most) return;
  if (most == 0) return found_.clear();
  const auto last = found_.begin() + static_cast<std::ptrdiff_t>(most) - 1;
  std::nth_element(found_.begin(), last, found_.end());
  last_ = *last;
  found_.erase(last + 1, found_.end());
}

void blocks_from_list::filter() {
  filter_by_traits();
  filter_by_time();
  const auto keep_if = [&](list_column which, auto&& wanted) {
    const values& subject = column(which);
    for (std::size_t i = 0; i < facts_.rows; ++i) passes_[i] &= static_cast<std::uint8_t>(wanted(subject[i]));
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

void blocks_from_list::filter_by_traits() {
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
  for (std::size_t i = 0; i < facts_.rows; ++i) passes_[i] = static_cast<std::uint8_t>((traits[i] & mask) == wanted);
}

void blocks_from_list::filter_by_time() {
  if (facts_.last_birth < range_.end && facts_.first_death > range_.begin) return;
  const values& born = column(list_column::born);
  const values& died = column(list_column::died);
  for (std::size_t i = 0; i < facts_.rows; ++i) {
    const bool lives_on = get_time(died[i]) == trace::unknown_time || get_time(died[i]) > range_.begin;
    passes_[i] &= static_cast<std::uint8_t>(get_time(born[i]) < range_.end && lives_on);
  }
}

void blocks_from_list::filter_unused() {
  if (!list_.uses_known()) return passes_.assign(facts_.rows, 0);
  const values& uses = column(list_column::uses);
  const values& traits = column(list_column::traits);
  const values& blocks = column(list_column::block);
  const auto& whole = from_.stored->sections->store().whole_with_segments();
  const auto holders = whole ? std::span(whole->segments) : std::span<const trace::block_id>();
  for (std::size_t i = 0; i < facts_.rows; ++i) {
    if (passes_[i] == 0) continue;
    const auto kind = static_cast<trace::memory_kind>(traits[i] >> block_traits::kind_at & block_traits::mask);
    const bool unused = uses[i] == 0 && index::is_device_resident(kind) &&
                        !std::binary_search(holders.begin(), holders.end(), trace::block_id{blocks[i]});
    passes_[i] = static_cast<std::uint8_t>(unused);
  }
}

/// Filters by name, address and call stack.
void blocks_from_list::filter_by_code() {
  const values& name = column(list_column::name);
  const values& address = column(list_column::address);
  const values& stack = column(list_column::stack);
  const values& traits = column(list_column::traits);
  const values& stream = column(list_column::stream);
  const values& process = column(list_column::process);
  index::block_record block;
  for (std::size_t i = 0; i < facts_.rows; ++i) {
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

/// Ranks all names in alphabetical order. Call when all blocks are listed, because then all names are known.
void blocks_from_list::rank_names() {
  const trace::tables& tables = from_.trace.tables();
  std::vector<std::pair<std::string_view, std::uint64_t>> names;
  for (const std::uint64_t name : list_.names()) names.emplace_back(tables.text(trace::string_id{name}), name);
  std::sort(names.begin(), names.end());
  std::uint64_t rank = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0 && names[i].first != names[i - 1].first) ++rank;
    ranks_.emplace(names[i].second, rank);
  }
}

/// Returns a sort key for each row of the chunk. The keys ascend in the query's order.
const blocks_from_list::values& blocks_from_list::keys() {
  keys_.resize(facts_.rows);
  const auto put = [&](auto&& get_key) {
    for (std::size_t i = 0; i < facts_.rows; ++i) keys_[i] = query_.descending ? ~get_key(i) : get_key(i);
  };
  const auto by_column = [&](list_column which) {
    put([&subject = column(which)](std::size_t i) { return subject[i]; });
  };
  const auto by_time = [&](list_column which) {
    put([&target = column(which)](std::size_t i) { return in_order(get_time(target[i])); });
  };
  const auto by_trait = [&](unsigned at) {
    put([&owner = column(list_column::traits), at](std::size_t i) { return owner[i] >> at & block_traits::mask; });
  };
  constexpr auto never = trace::unknown_time;
  switch (query_.sort) {
    case block_column::address:
      by_column(list_column::address);
      break;
    case block_column::bytes:
      by_column(list_column::bytes);
      break;
    case block_column::layer:
      by_trait(0);
      break;
    case block_column::kind:
      by_trait(block_traits::kind_at);
      break;
    case block_column::category:
      by_trait(block_traits::category_at);
      break;
    case block_column::born:
      by_time(list_column::born);
      break;
    case block_column::first_use:
      by_time(list_column::first_use);
      break;
    case block_column::last_use:
      by_time(list_column::last_use);
      break;
    case block_column::died:
      put([&died = column(list_column::died)](std::size_t i) {
        return in_order(get_time(died[i]) == never ? INT64_MAX : get_time(died[i]));
      });
      break;
    case block_column::lifetime:
      put([&born = column(list_column::born), &died = column(list_column::died)](std::size_t i) {
        return in_order(get_time(died[i]) == never ? INT64_MAX : get_time(died[i]) - get_time(born[i]));
      });
      break;
    case block_column::name:
      if (ranks_.empty()) rank_names();
      put([this, &about = column(list_column::name)](std::size_t i) { return ranks_[about[i]]; });
      break;
    case block_column::idle: {
      const values& born = column(list_column::born);
      const values& died = column(list_column::died);
      put([&, &last_use = column(list_column::last_use)](std::size_t i) {
        block_row row;
        row.born = get_time(born[i]);
        row.died = get_time(died[i]);
        row.last_use = get_time(last_use[i]);
        return in_order(idle_at_end(row, end_));
      });
      break;
    }
  }
  return keys_;
}

// --- the rows -------------------------------------------------------------------------------------------------------

/// Reads those of the first `rows` blocks in `found_` that were not read yet. Returns true if all are read.
result<bool> blocks_from_list::fetch(steady::time_point deadline, std::size_t rows) {
  std::vector<std::uint64_t> places;
  for (std::size_t i = 0; i < rows; ++i)
    if (!rows_.contains(found_[i].place)) places.push_back(found_[i].place);
  std::sort(places.begin(), places.end());
  block_list::columns columns;
  std::optional<std::size_t> read;
  for (const std::uint64_t place : places) {
    const std::size_t chunk = place / block_list::rows_in_chunk;
    if (read != chunk) {
      if (read && steady::now() >= deadline) return false;
      for (auto& each : columns) each.clear();
      for (std::size_t i = 0; i < list_columns; ++i)
        if (auto got = list_.read(chunk, static_cast<list_column>(i), columns); !got)
          return tl::unexpected(got.error());
      read = chunk;
    }
    block_row row = block_list::select_block(columns, place % block_list::rows_in_chunk);
    if (!query_.needs_uses()) row.set_uses({});
    rows_.emplace(place, row);
  }
  return true;
}

}  // namespace sluice::query
