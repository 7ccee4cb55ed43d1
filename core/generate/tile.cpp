#include "core/generate/tile.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/saturating.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/visit.hpp"
#include "core/trace/file/writer.hpp"
#include "core/trace/model/row_references.hpp"

namespace sluice::generate {
namespace {

using trace::raw;

constexpr std::uint64_t id_limit = std::uint64_t{1} << 62;
constexpr std::uint64_t address_granule = std::uint64_t{2} << 20;

/// The shift of the times, ids and addresses of each repetition from those of the repetition before.
struct stride {
  time_ns time = 0;
  std::uint64_t event = 0, block = 0, graph = 0, correlation = 0, address = 0;
  std::int64_t steps = 0;
};

/// The findings of one pass over the recording.
struct recording_scan {
  std::uint64_t events = 0;
  std::uint64_t last_event = 0, last_block = 0, last_graph = 0, last_correlation = 0;
  std::uint64_t lowest_address = UINT64_MAX, highest_address = 0;
  std::int64_t last_step = -1;
  /// For each block, the free event that would free it at the end of its repetition.
  std::unordered_map<std::uint64_t, trace::free_event> born;
  std::unordered_set<std::uint64_t> freed;  ///< The blocks that are freed in the recording. Allocations and frees may
                                            ///< come in any order.
};

template <class Row>
void look_at(const Row& row, recording_scan& seen) {
  Row copy = row;
  ++seen.events;
  const auto grow = [](std::uint64_t& most, std::uint64_t value) { most = std::max(most, value); };
  trace::for_each_member(copy, [&](auto& member) {
    using member_type = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_same_v<member_type, trace::event_id>) grow(seen.last_event, raw(member));
    if constexpr (std::is_same_v<member_type, trace::block_id>) grow(seen.last_block, raw(member));
    if constexpr (std::is_same_v<member_type, trace::graph_id>) grow(seen.last_graph, raw(member));
  });
  if constexpr (requires { row.correlation; }) grow(seen.last_correlation, row.correlation);
  trace::for_each_address(copy, [&](const std::uint64_t& address) {
    std::uint64_t bytes = 0;
    if constexpr (requires { row.bytes; }) bytes = row.bytes;
    seen.lowest_address = std::min(seen.lowest_address, address);
    grow(seen.highest_address, address > UINT64_MAX - bytes ? UINT64_MAX : address + bytes);
  });
  if constexpr (std::is_same_v<Row, trace::marker_event>) seen.last_step = std::max(seen.last_step, row.step);
  if constexpr (std::is_base_of_v<trace::alloc_event, Row>) {
    trace::free_event end;
    end.process = row.process;
    end.thread = row.thread;
    end.block = row.block;
    end.layer = row.layer;
    end.address = row.address;
    seen.born.emplace(raw(row.block), end);
  }
  if constexpr (std::is_same_v<Row, trace::free_event>) seen.freed.insert(raw(row.block));
}

template <class Id>
void shift_id(Id& id, std::uint64_t distance) {
  if (id != Id::none) id = static_cast<Id>(raw(id) + distance);
}

template <class Row>
Row moved(Row row, const stride& by, std::uint64_t times) {
  const auto shift = static_cast<time_ns>(times) * by.time;
  trace::for_each_time(row, [&](time_ns& time) { saturating_add(time, shift); });
  trace::for_each_address(row, [&](std::uint64_t& address) { address += times * by.address; });
  trace::for_each_member(row, [&](auto& member) {
    using member_type = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_same_v<member_type, trace::event_id>) shift_id(member, times * by.event);
    if constexpr (std::is_same_v<member_type, trace::block_id>) shift_id(member, times * by.block);
    if constexpr (std::is_same_v<member_type, trace::graph_id>) shift_id(member, times * by.graph);
  });
  if constexpr (requires { row.correlation; }) {
    if (row.correlation != 0) row.correlation += times * by.correlation;
  }
  if constexpr (std::is_same_v<Row, trace::marker_event>) {
    if (row.step >= 0) row.step += static_cast<std::int64_t>(times) * by.steps;
  }
  if constexpr (std::is_same_v<Row, trace::clock_anchor_event>) {
    saturating_add(row.monotonic, shift);
    saturating_add(row.realtime, shift);
    row.tsc += static_cast<std::uint64_t>(shift) * 21 /
               10;  // A plausible clock value. Only the differences between neighboring values matter.
  }
  return row;
}

template <class Row>
void copy_table(const trace::table<Row>& source, trace::file_writer& to) {
  for (const Row& row : source.rows()) to.add(row);
}

void copy_tables(const trace::tables& tables, trace::file_writer& to, time_ns later) {
  copy_table(tables.strings, to);
  copy_table(tables.hosts, to);
  for (trace::process_row row : tables.processes.rows()) {
    if (row.end != trace::unknown_time) saturating_add(row.end, later);
    to.add(row);
  }
  copy_table(tables.threads, to);
  copy_table(tables.devices, to);
  copy_table(tables.contexts, to);
  copy_table(tables.streams, to);
  copy_table(tables.pools, to);
  copy_table(tables.counters, to);
  copy_table(tables.frames, to);
  copy_table(tables.stacks, to);
  copy_table(tables.modules, to);
  copy_table(tables.sources, to);
}

/// Returns frees for the blocks that a repetition leaves live, sorted, so that equal inputs produce equal bytes.
std::vector<trace::free_event> endings(const recording_scan& seen, time_ns end) {
  std::vector<trace::free_event> releases;
  for (const auto& [block, row] : seen.born) {
    if (!seen.freed.contains(block)) releases.push_back(row);
  }
  std::sort(releases.begin(), releases.end(), [](const auto& a, const auto& b) { return raw(a.block) < raw(b.block); });
  std::uint64_t id = seen.last_event;
  for (trace::free_event& row : releases) {
    row.id = trace::event_id{++id};
    row.time = end;
    row.completed = end;
  }
  return releases;
}

result<recording_scan> look_over(const trace::snapshot& recording, const long_task& task) {
  recording_scan seen;
  for (std::size_t chunk = 0; chunk < recording.chunks().size(); ++chunk) {
    if (auto on = task.go_on(0, recording.path()); !on) return tl::unexpected<error>(on.error());
    const auto read = trace::visit_events(recording, chunk, [&](const auto& row) { look_at(row, seen); });
    if (!read) return tl::unexpected<error>(read.error());
  }
  if (seen.events == 0) return fail(error_code::invalid_argument, "has no events to repeat", recording.path());
  return seen;
}

result<stride> get_stride(const recording_scan& seen, const trace::snapshot& recording, std::size_t endings,
                          std::uint64_t times) {
  stride by;
  by.time =
      saturating_sum(saturating_difference(recording.end(), std::min<time_ns>(recording.begin(), 0)), time_ns{1'000});
  by.event = seen.last_event + endings;
  by.block = seen.last_block;
  by.graph = seen.last_graph;
  by.correlation = seen.last_correlation;
  by.steps = saturating_sum(seen.last_step, std::int64_t{1});
  if (seen.highest_address >= seen.lowest_address) {
    by.address = (seen.highest_address - seen.lowest_address + 2 * address_granule) / address_granule * address_granule;
  }
  const bool fits = [&] {
    for (const std::uint64_t distance : {static_cast<std::uint64_t>(by.time), static_cast<std::uint64_t>(by.steps),
                                         by.event, by.block, by.graph, by.correlation, by.address}) {
      if (distance > id_limit || (times > 0 && distance > id_limit / times)) return false;
    }
    return seen.highest_address <= id_limit && recording.begin() > -static_cast<time_ns>(id_limit / 2);
  }();
  if (!fits) {
    return fail(error_code::invalid_argument,
                "cannot be repeated " + std::to_string(times) + " times: its ids, times or addresses are too large",
                recording.path(), "ask for fewer events");
  }
  return by;
}

}  // namespace

result<generated> tile(const std::string& text, std::uint64_t events, const std::string& to, const long_task& task) {
  const auto opened = trace::file::open(text);
  if (!opened) return tl::unexpected<error>(opened.error());
  const auto source = (*opened)->latest();
  const auto seen = look_over(*source, task);
  if (!seen) return tl::unexpected<error>(seen.error());
  const auto ends = endings(*seen, source->end());
  const std::uint64_t times = std::max<std::uint64_t>((events + seen->events - 1) / seen->events, 1);
  const auto by = get_stride(*seen, *source, ends.size(), times);
  if (!by) return tl::unexpected<error>(by.error());

  trace::writer_options options;
  options.simulated = source->simulated();
  options.realtime_origin = source->realtime_origin();
  auto file = trace::file_writer::create_unpublished(to, options);
  if (!file) return tl::unexpected<error>(file.error());
  copy_tables(source->tables(), *file, static_cast<time_ns>(times - 1) * by->time);
  std::uint64_t written = 0;
  for (std::uint64_t i = 0; i < times; ++i) {
    trace::row_type before{};
    for (std::size_t chunk = 0; chunk < source->chunks().size(); ++chunk) {
      const trace::row_type type = source->chunks()[chunk].type;
      if (!trace::is_event(type)) continue;
      if (auto on = task.go_on(static_cast<double>(i) / static_cast<double>(times), to); !on)
        return tl::unexpected<error>(on.error());
      // Where the kinds of rows start over, the recorder had flushed. Flush here, too, so that late rows are as late as
      // in `from`.
      if (type <= before) {
        if (const auto flushed = file->flush(); !flushed) return tl::unexpected<error>(flushed.error());
      }
      before = type;
      const auto read = trace::visit_events(*source, chunk, [&](const auto& row) {
        file->add(moved(row, *by, i));
        ++written;
      });
      if (!read) return tl::unexpected<error>(read.error());
    }
    if (i + 1 == times) break;
    for (const trace::free_event& row : ends) file->add(moved(row, *by, i));
    written += ends.size();
  }
  const auto closed = summary::finalize(*file, {.cancel = task.cancelled});
  if (!closed) return tl::unexpected<error>(closed.error());
  if (auto on = task.go_on(1, to); !on) return tl::unexpected<error>(on.error());
  if (auto published = file->publish(); !published) return tl::unexpected<error>(published.error());
  return generated{written, file->bytes_written()};
}

}  // namespace sluice::generate
