#include <algorithm>
#include <optional>
#include <span>

#include "core/query/results/blocks.hpp"
#include "core/query/results/long_result.hpp"
#include "core/query/sources/block_list.hpp"

namespace sluice::query {
namespace {

using steady = std::chrono::steady_clock;

class blocks_from_list final : public any_long_result {
 public:
  blocks_from_list(const blocks_query& query, const sources& source, unique_result without)
      : query_(query),
        from_(source),
        list_(*source.stored->blocks),
        without_(std::move(without)),
        selection_(query, from_) {}

  result<bool> work(deadline_type deadline) override {
    if (left_) return without_->work(deadline);
    do {
      if (from_.cancelled) return fail(error_code::cancelled, "the query was cancelled");
      if (done_) return true;
      // This is read before the number of chunks, because another thread may add chunks.
      const bool listed = list_.complete();
      if (next_ < list_.chunks()) {
        if (auto taken = take_next(); !taken) return tl::unexpected(taken.error());
      } else if (listed) {
        if (!sorted_) places_ = selection_.sort();
        sorted_ = true;
        const auto fetched = fetch(deadline, places_);
        if (!fetched) return fetched;
        done_ = *fetched;
      } else if (const auto more = list_.extend([this] { return !from_.cancelled; }); !more) {
        if (more.error().code == error_code::cancelled) return tl::unexpected(more.error());
        left_ = true;
        return without_->work(deadline);
      }
    } while (!done_ && steady::now() < deadline);
    return done_;
  }

  [[nodiscard]] float progress() const override {
    if (left_) return without_->progress();
    const auto chunks = static_cast<float>(std::max<std::size_t>(list_.chunks(), 1));
    return list_.progress() * static_cast<float>(next_) / chunks;
  }

  /// Before the last step, returns at most `block_table::first_rows` rows, so that frequent calls are cheap.
  result<any_value> any_so_far(bool& provisional) override {
    if (left_) return without_->any_so_far(provisional);
    if (!sorted_) {
      selection_.forget_rows();
      places_ = selection_.sort(block_table::first_rows);
    }
    const std::span places(places_.data(), done_ ? places_.size() : std::min(places_.size(), block_table::first_rows));
    if (const auto fetched = fetch(deadline_type::max(), places); !fetched) return tl::unexpected(fetched.error());
    const auto& facts = from_.stored->facts;
    return to_any(result<block_table>(selection_.make_table(places, with_index(from_, from_.index, provisional),
                                                            facts ? facts->steps.get() : nullptr)));
  }

 private:
  result<void> take_next() {
    const std::size_t number = next_++;
    const block_list::chunk_facts facts = list_.facts(number);
    const time_range range = bounded(query_.range);
    block_chunk chunk;
    chunk.place = number * block_list::rows_in_chunk;
    chunk.rows = facts.rows;
    chunk.in_range = facts.last_birth < range.end && facts.first_death > range.begin;
    chunk.uses_known = list_.uses_known();
    chunk.read = [&](list_column column, block_values& to) { return list_.read(number, column, to); };
    if (query_.only_unused) {
      const auto& whole = from_.stored->sections->store().whole_with_segments();
      chunk.contains_others = [whole](trace::block_id block) {
        return whole && std::binary_search(whole->segments.begin(), whole->segments.end(), block);
      };
    }
    return selection_.add(chunk);
  }

  /// Reads those of the rows at `places` that were not read yet. Returns true if all are read.
  result<bool> fetch(deadline_type deadline, std::span<const std::uint64_t> places) {
    block_values columns;
    std::optional<std::size_t> read;
    for (const std::uint64_t place : selection_.list_missing(places)) {
      const std::size_t chunk = place / block_list::rows_in_chunk;
      if (read != chunk) {
        if (read && steady::now() >= deadline) return false;
        for (auto& each : columns) each.clear();
        for (std::size_t i = 0; i < list_columns; ++i)
          if (auto got = list_.read(chunk, static_cast<list_column>(i), columns); !got)
            return tl::unexpected(got.error());
        read = chunk;
      }
      selection_.put_row(place, select_block(columns, place % block_list::rows_in_chunk));
    }
    return true;
  }

  const blocks_query query_;
  const sources from_;
  block_list& list_;
  unique_result without_;
  bool left_ = false;  ///< True: the list cannot be built, and `without_` computes the result.
  block_selection selection_;
  std::size_t next_ = 0;               ///< Chunks before this one are done.
  bool sorted_ = false;                ///< All chunks are done: `places_` has all rows of the result.
  std::vector<std::uint64_t> places_;  ///< The places of rows, in order.
  bool done_ = false;
};

}  // namespace

unique_result start_from_list(const blocks_query& query, const sources& source, unique_result without) {
  return std::make_unique<blocks_from_list>(query, source, std::move(without));
}

}  // namespace sluice::query
