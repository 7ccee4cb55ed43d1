#include "core/query/types/block_uses.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/query/results/result_functions.hpp"

namespace sluice::query {
namespace {

using trace::event_id;
using trace::unknown_time;

/// A use, and what leads to the rest of what is known about it.
struct pending_use {
  block_use use;
  event_id work{};  ///< The kernel, if the touch names it.
  event_id call{};
  trace::process_id process{};
  std::uint64_t correlation = 0;
  trace::stack_id stack{};
};

class use_reader {
 public:
  use_reader(const block_uses_query& query, const sources& source)
      : query_(query), source_(source), tables_(source.trace.tables()) {}

  result<block_use_list> read() {
    block_use_list found;
    const auto is_touch = [](trace::row_type type) { return type == trace::row_type::touch; };
    source_.trace.chunks_to_search().for_each(
        is_touch, [&](std::size_t, const trace::chunk_info&) { found.kernels_known = true; });
    if (auto done = find_chunks(); !done) return tl::unexpected(done.error());
    read_touches();
    read_copies();
    read_launches();
    std::stable_sort(uses_.begin(), uses_.end(),
                     [](const auto& a, const auto& b) { return a.use.enqueued < b.use.enqueued; });
    found.more = cut_ || uses_.size() > query_.most;
    uses_.resize(std::min(uses_.size(), query_.most));
    if (!uses_.empty()) find_kernels(), find_lines();
    if (source_.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    for (pending_use& each : uses_) found.uses.push_back(std::move(each.use));
    return found;
  }

 private:
  result<void> find_chunks() {
    const auto overlaps = [range = bounded(query_.range)](const index::chunk_reach& reach) {
      return reach.end >= range.begin && reach.time <= range.end;
    };
    auto chunks = has_sections(source_) ? source_.stored->sections->store().whole()->chunks->find(overlaps)
                                        : source_.index.chunks().find(overlaps);
    if (!chunks) return tl::unexpected(chunks.error());
    chunks_ = *std::move(chunks);
    return {};
  }

  /// Calls `visit(row)` for the rows of a type until it returns false. Damaged chunks are reported in the messages.
  template <class Row, class Visit>
  void visit_rows(Visit&& visit) const {
    for (const std::size_t chunk : chunks_) {
      if (source_.cancelled) return;
      if (source_.trace.chunk(chunk).type != trace::type_of_row<Row>) continue;
      const auto rows = source_.trace.read<Row>(chunk);
      if (!rows) continue;
      for (const Row& row : **rows)
        if (!visit(row)) return;
    }
  }

  [[nodiscard]] bool is_in_range(time_ns time) const { return time >= query_.range.begin && time <= query_.range.end; }

  /// Adds a use. Returns false if there are enough.
  bool add(pending_use&& next, std::size_t& added) {
    if (!is_in_range(next.use.enqueued)) return true;
    if (added++ == query_.most) return cut_ = true, false;
    uses_.push_back(std::move(next));
    return true;
  }

  template <class Row>
  [[nodiscard]] pending_use make(const Row& row, use_kind kind, time_ns enqueued, trace::stream_id stream) const {
    pending_use made;
    made.use.event = row.id;
    made.use.kind = kind;
    made.use.enqueued = enqueued == unknown_time ? row.time : enqueued;
    if (stream != trace::stream_id::none) made.use.stream = index::stream_label(stream, tables_);
    made.process = row.process;
    return made;
  }

  void read_touches() {
    std::size_t added = 0;
    visit_rows<trace::touch_event>([&](const trace::touch_event& row) {
      if (row.block != query_.block) return true;
      if (row.graph != trace::graph_id::none) {
        graphs_.try_emplace(row.graph, row.name);
        return true;
      }
      pending_use next = make(row, use_kind::kernel, row.time, row.stream);
      next.use.name = readable_name(tables_.text(row.name));
      next.work = row.work;
      next.correlation = row.correlation;
      return add(std::move(next), added);
    });
  }

  template <class Row>
  [[nodiscard]] pending_use make_copy(const Row& row, use_kind kind) const {
    pending_use next = make(row, kind, row.enqueued, row.stream);
    next.use.bytes = row.bytes;
    next.use.device = {row.time, row.end == unknown_time ? row.time : std::max(row.time, row.end)};
    next.call = row.call;
    next.correlation = row.correlation;
    return next;
  }

  void read_copies() {
    std::size_t added = 0;
    visit_rows<trace::transfer_event>([&](const trace::transfer_event& row) {
      if (row.source_block != query_.block && row.destination_block != query_.block) return true;
      pending_use next = make_copy(row, use_kind::copy);
      next.use.direction = row.direction;
      return add(std::move(next), added);
    });
    added = 0;
    visit_rows<trace::memset_event>([&](const trace::memset_event& row) {
      return row.block != query_.block || add(make_copy(row, use_kind::fill), added);
    });
  }

  /// Adds the launches of the graphs with a node that uses the block.
  void read_launches() {
    std::size_t added = 0;
    if (graphs_.empty()) return;
    visit_rows<trace::graph_launch_event>([&](const trace::graph_launch_event& row) {
      const auto graph = graphs_.find(row.graph);
      if (graph == graphs_.end()) return true;
      pending_use next = make(row, use_kind::graph, row.time, row.stream);
      next.use.name = readable_name(tables_.text(graph->second));
      next.correlation = row.correlation;
      if (row.end != unknown_time) next.use.device = {row.time, std::max(row.time, row.end)};
      return add(std::move(next), added);
    });
  }

  using launch_key = std::pair<trace::process_id, std::uint64_t>;

  /// Finds the kernels of the touches: when, and on which stream, the device ran them.
  void find_kernels() {
    std::map<launch_key, std::vector<pending_use*>> by_launch;
    std::map<event_id, std::vector<pending_use*>> by_work;
    for (pending_use& each : uses_) {
      if (each.use.kind != use_kind::kernel) continue;
      if (each.work != event_id::none) {
        by_work[each.work].push_back(&each);
      } else if (each.correlation != 0) {
        by_launch[{each.process, each.correlation}].push_back(&each);
      }
    }
    const auto put = [&](const trace::kernel_event& row, std::vector<pending_use*>& touches) {
      for (pending_use* each : touches) {
        each->use.event = row.id;
        each->use.device = {row.time, row.end == unknown_time ? row.time : std::max(row.time, row.end)};
        if (row.stream != trace::stream_id::none) each->use.stream = index::stream_label(row.stream, tables_);
        each->call = row.call;
      }
    };
    visit_rows<trace::kernel_event>([&](const trace::kernel_event& row) {
      if (const auto found = by_work.find(row.id); found != by_work.end()) {
        put(row, found->second);
        by_work.erase(found);
      } else if (const auto launch = by_launch.find({row.process, row.correlation}); launch != by_launch.end()) {
        put(row, launch->second);
        by_launch.erase(launch);
      }
      return !by_work.empty() || !by_launch.empty();
    });
  }

  /// Finds the lines of the calls that issued the work.
  void find_lines() {
    std::map<event_id, std::vector<pending_use*>> by_call;
    std::map<launch_key, std::vector<pending_use*>> by_launch;
    for (pending_use& each : uses_) {
      if (each.call != event_id::none) {
        by_call[each.call].push_back(&each);
      } else if (each.correlation != 0) {
        by_launch[{each.process, each.correlation}].push_back(&each);
      }
    }
    visit_rows<trace::api_call_event>([&](const trace::api_call_event& row) {
      if (row.stack == trace::stack_id::none) return true;
      if (const auto found = by_call.find(row.id); found != by_call.end())
        for (pending_use* each : found->second) each->stack = row.stack;
      if (const auto found = by_launch.find({row.process, row.correlation}); found != by_launch.end())
        for (pending_use* each : found->second) each->stack = row.stack;
      return true;
    });
    std::map<trace::stack_id, std::string> lines;
    for (pending_use& each : uses_) {
      if (each.stack == trace::stack_id::none) continue;
      const auto [line, fresh] = lines.try_emplace(each.stack);
      if (fresh) line->second = name_line(each.stack);
      each.use.line = line->second;
    }
  }

  [[nodiscard]] std::string name_line(trace::stack_id stack) const {
    const auto frames = source_.frames.stack(stack, tables_, source_.lookup, &source_.provisional);
    if (frames.empty()) return {};
    std::vector<const symbols::frame_line*> lines;
    for (const symbols::frame_line& each : frames) lines.push_back(&each);
    return symbols::format_place_and_name(frames[std::min(symbols::line_to_name(lines), frames.size() - 1)]);
  }

  const block_uses_query& query_;
  const sources& source_;
  const trace::tables& tables_;
  std::vector<std::size_t> chunks_;
  std::vector<pending_use> uses_;
  std::map<trace::graph_id, trace::string_id> graphs_;  ///< With the name of the first node that uses the block.
  bool cut_ = false;
};

}  // namespace

result<block_use_list> result_to(const block_uses_query& query, const sources& source) {
  return use_reader(query, source).read();
}

}  // namespace sluice::query
