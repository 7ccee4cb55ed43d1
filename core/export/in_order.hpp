#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/export/export.hpp"

/// Visits events of several kinds in order of time, for formats that need that order.
namespace sluice::exports {

/// Converts rows of the types `Rows` to items, and calls `emit(const Item&)` with the items sorted by the members
/// `time` and `order` of `Item`. `make(row, push)` calls `push(Item)` any number of times, never with a time before the
/// row's. `emit` may return a `result<void>`; an error ends the loop. Reads chunks in order of their earliest time, and
/// holds an item only while an unread chunk may have earlier items. O(n log n). Errors: io, corrupt, cancelled, and
/// those of `emit`.
template <class Item, class... Rows, class Make, class Emit>
result<void> in_order(job& export_job, Make&& make, Emit&& emit) {
  const auto chunks = export_job.trace().chunks();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (((chunks[i].type == trace::type_of_row<Rows>) || ...)) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return chunks[a].min_time < chunks[b].min_time; });
  std::vector<Item> heap;
  const auto later = [](const Item& a, const Item& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  };
  const auto give = [&](bool complete, time_ns until) -> result<void> {
    while (!heap.empty() && (complete || heap.front().time < until)) {
      std::pop_heap(heap.begin(), heap.end(), later);
      const Item item = std::move(heap.back());
      heap.pop_back();
      if constexpr (std::is_void_v<decltype(emit(item))>) {
        emit(item);
      } else {
        if (auto done = emit(item); !done) return done;
      }
    }
    return {};
  };
  const auto push = [&](Item item) {
    heap.push_back(std::move(item));
    std::push_heap(heap.begin(), heap.end(), later);
  };
  for (const std::size_t index : order) {
    if (auto given = give(false, chunks[index].min_time); !given) return given;
    result<void> read;
    const auto take = [&]<class Row>() {
      if (chunks[index].type != trace::type_of_row<Row>) return;
      const auto rows = export_job.trace().read<Row>(index);
      if (!rows) {
        read = tl::unexpected<error>(rows.error());
        return;
      }
      for (const Row& row : **rows) make(row, push);
    };
    (take.template operator()<Rows>(), ...);
    if (!read) return read;
    if (auto on = export_job.chunk_done(chunks[index]); !on) return on;
  }
  return give(true, 0);
}

}  // namespace sluice::exports
