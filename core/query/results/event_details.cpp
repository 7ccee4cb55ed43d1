#include "core/query/results/event_details.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/base/link_share.hpp"
#include "core/query/results/rows_about.hpp"
#include "core/trace/model/driver_results.hpp"
#include "core/trace/model/names.hpp"
#include "core/trace/model/system_calls.hpp"

namespace sluice::query {
namespace {

using trace::unknown_time;

std::string bytes_exactly(std::uint64_t bytes) {
  return bytes < 1024 ? format_bytes(bytes) : fmt::format("{} ({} bytes)", format_bytes(bytes), format_count(bytes));
}

/// Builds one description line by line.
class words {
 public:
  words(const sources& source, trace::event_id id) : from_(source), tables_(source.trace.tables()) { made_.event = id; }

  words& title(std::string text) {
    made_.title = std::move(text);
    return *this;
  }
  words& put(std::string label, std::string value, trace::event_id link = {}, trace::block_id block = {}) {
    if (!value.empty()) made_.details.push_back({std::move(label), std::move(value), link, block});
    return *this;
  }
  words& put(std::string label, trace::string_id text) {
    return put(std::move(label), std::string(tables_.text(text)));
  }
  words& put_nonzero(std::string label, std::uint64_t number) {
    return number == 0 ? *this : put(std::move(label), format_count(number));
  }
  words& bytes(std::string label, std::uint64_t count) { return put(std::move(label), bytes_exactly(count)); }
  words& address(std::string label, std::uint64_t where) {
    return where == 0 ? *this : put(std::move(label), format_address(where));
  }
  words& moment(std::string label, time_ns time) {
    return time == unknown_time ? *this : put(std::move(label), format_moment(bounded(time)));
  }
  words& event(std::string label, trace::event_id id) {
    return id == trace::event_id::none ? *this : put(std::move(label), fmt::format("event {}", raw(id)), id);
  }
  words& block(std::string label, trace::block_id id) {
    if (id == trace::block_id::none) return *this;
    const auto known = find_block(id, from_);
    return put(std::move(label),
               !known ? fmt::format("block {}", raw(id))
                      : fmt::format("{} at {}", format_bytes(known->bytes), format_address(known->address)),
               {}, id);
  }
  words& device(trace::device_id id) {
    return id == trace::device_id::none ? *this : put("Device", index::device_label(id, tables_));
  }
  words& stream(trace::stream_id id) {
    return id == trace::stream_id::none ? *this : put("Stream", index::stream_label(id, tables_));
  }
  words& pool(trace::pool_id id) {
    return id == trace::pool_id::none ? *this : put("Pool", index::pool_label(id, tables_));
  }

  words& span(time_ns begin, time_ns end) {
    made_.span = {begin, std::max(begin, end)};
    return *this;
  }
  words& instant(time_ns time) {
    const time_ns at = bounded(time);
    made_.span = {at, at};
    return moment("Time", at);
  }
  words& interval(time_ns begin, time_ns end) {
    const time_ns from_time = bounded(begin);
    if (end == unknown_time) {
      made_.span = {from_time, std::max(from_time, index::recorded_range(from_.trace).end)};
      return moment("Begin", from_time).put("End", "unknown: it was still running when the recording ended");
    }
    made_.span = {from_time, std::max(from_time, bounded(end))};
    return moment("Begin", from_time).moment("End", made_.span.end).put("Duration", format_time(made_.span.length()));
  }
  /// Adds the time from the call to the start on the device.
  words& queued(time_ns enqueued, time_ns begin) {
    if (enqueued == unknown_time) return *this;
    const time_ns waited = bounded(begin) - bounded(enqueued);
    return moment("Enqueued", enqueued).put("Queued for", waited >= 0 ? format_time(waited) : "");
  }
  words& common(const trace::event_base& row) {
    if (row.process != trace::process_id::none) put("Process", index::process_label(row.process, tables_));
    if (row.thread != trace::thread_id::none) put("Thread", index::thread_label(row.thread, tables_));
    static constexpr std::array names = {"", "sampled", "estimated", "inferred"};
    return put("Provenance", names[static_cast<std::size_t>(row.source) % names.size()]);
  }
  words& stack(trace::stack_id id) {
    made_.stack = from_.frames.stack(id, tables_, from_.lookup, &from_.provisional);
    return *this;
  }
  words& on_track(const track& where) {
    made_.track = track_id(where);
    return *this;
  }
  words& on_stream(const trace::event_base& row, trace::device_id device, trace::stream_id stream) {
    track where;
    where.kind = track_kind::stream;
    where.process = row.process;
    where.device = device;
    where.stream = stream;
    return on_track(where);
  }
  words& on_thread(const trace::event_base& row) {
    track where;
    where.kind = track_kind::host_thread;
    where.process = row.process;
    where.thread = row.thread;
    return on_track(where);
  }
  words& on_memory(trace::device_id device, trace::memory_kind kind) {
    track where;
    where.kind = track_kind::memory;
    where.device = index::is_host_resident(kind) ? trace::device_id::none : device;
    return on_track(where);
  }

  [[nodiscard]] std::string text(trace::string_id id) const { return std::string(tables_.text(id)); }
  [[nodiscard]] const trace::tables& tables() const { return tables_; }
  event_details done() { return std::move(made_); }

 private:
  const sources& from_;
  const trace::tables& tables_;
  event_details made_;
};

std::string kind_in_words(trace::memory_kind kind) { return fmt::format("{} memory", get_name(kind)); }

std::string error_in_words(std::int64_t result) {
  const char* name = trace::name_of_result(result);
  return name == nullptr ? fmt::format("error {}", result) : fmt::format("{} ({})", name, result);
}

/// Returns the share of the link's peak bandwidth that a transfer reached, as text.
std::string share_of_link(const trace::transfer_event& row, double bandwidth, const trace::tables& tables) {
  const bool between_devices = row.direction == trace::direction::p2p;
  const trace::device_row* const peer = tables.devices.find(row.peer);
  if (between_devices && peer == nullptr) return "";
  const double peak = metrics::find_link_peak(row.direction, tables.devices.find(row.device), peer);
  const auto share = metrics::link_share(bandwidth, peak);
  if (!share) return "";
  return fmt::format(", {} of {} peak", format_share(*share), between_devices ? "NVLink's" : "the link's");
}

/// Adds the hash of the copied content, and other copies of the same content.
void put_content(const trace::transfer_event& row, const sources& source, words& into) {
  using enum trace::content_check;
  if (row.content == over_budget) into.put("Content", "not hashed, to save time");
  if (row.content == unreadable) into.put("Content", "not hashed: the host cannot read it");
  if (row.content != exact && row.content != sampled) return;
  const std::string method =
      row.content == exact ? "all bytes" : fmt::format("a sample of {}", format_bytes(row.content_bytes));
  into.put("Content", fmt::format("hash {:016x}, of {}", row.content_hash, method));
  const index::content_repeats repeats = source.index.contents(source.trace).get_repeats(row);
  if (repeats.before > 0) {
    into.put(
        "Same content before",
        fmt::format("{}{}, first in the copy at {}",
                    repeats.before == 1 ? "once" : fmt::format("{} times", format_count(repeats.before)),
                    repeats.same_source ? ", unchanged at the same address" : "", format_moment(repeats.first_time)),
        repeats.first);
  }
  if (repeats.after > 0) {
    into.put("Same content again",
             fmt::format("{}, next in the copy at {}",
                         repeats.after == 1 ? "once" : fmt::format("{} times", format_count(repeats.after)),
                         format_moment(repeats.next_time)),
             repeats.next);
  }
}

words describe_alloc(const trace::alloc_event& row, const sources& source, time_ns born) {
  words w(source, row.id);
  w.title(fmt::format("Allocation of {}", format_bytes(row.bytes))).instant(born);
  w.block("Block", row.block).bytes("Bytes", row.bytes);
  if (row.reserved_bytes > row.bytes) w.bytes("Size in pool", row.reserved_bytes);
  w.address("Address", row.address);
  w.put("Layer", std::string(get_label(row.layer))).put("Kind", kind_in_words(row.kind)).put("Name", row.name);
  w.device(row.device).stream(row.stream).pool(row.pool).block("Segment", row.parent);
  w.moment("Call entered", row.call_begin).moment("Reached by the stream", row.device_time);
  w.common(row).stack(row.stack).on_memory(row.device, row.kind);
  return w;
}

event_details describe(const trace::alloc_event& row, const sources& source) {
  return describe_alloc(row, source, row.time).done();
}

event_details describe(const trace::live_block_event& row, const sources& source) {
  return describe_alloc(row, source, row.born).done();
}

event_details describe(const trace::free_event& row, const sources& source) {
  words w(source, row.id);
  const auto block = find_block(row.block, source);
  w.title(!block ? std::string("Free") : fmt::format("Free of {}", format_bytes(block->bytes))).instant(row.time);
  w.block("Block", row.block).address("Address", row.address).put("Layer", std::string(get_label(row.layer)));
  w.stream(row.stream).moment("Completed", row.completed).common(row);
  if (block) w.event("Allocated by", block->alloc).on_memory(block->device, block->kind);
  return w.done();
}

event_details describe(const trace::alloc_failed_event& row, const sources& source) {
  words w(source, row.id);
  w.title(fmt::format("Failed allocation of {}", format_bytes(row.bytes))).instant(row.time);
  w.put("Call", row.name).put("Error", error_in_words(row.error)).bytes("Bytes", row.bytes);
  w.put("Layer", std::string(get_label(row.layer))).put("Kind", kind_in_words(row.kind));
  return w.device(row.device)
      .stream(row.stream)
      .pool(row.pool)
      .common(row)
      .stack(row.stack)
      .on_memory(row.device, row.kind)
      .done();
}

event_details describe(const trace::pool_event& row, const sources& source) {
  static constexpr std::array names = {"sampled", "grew", "shrank", "was trimmed"};
  words w(source, row.id);
  w.title(fmt::format("{} {}", index::pool_label(row.pool, source.trace.tables()),
                      names[static_cast<std::size_t>(row.operation) % names.size()]));
  w.instant(row.time).bytes("Reserved", row.reserved).bytes("Used", row.used).pool(row.pool).common(row);
  for_each_track(source, [&](track&& candidate) {
    if (candidate.kind == track_kind::pool && candidate.pool == row.pool) w.on_track(candidate);
  });
  return w.done();
}

event_details describe(const trace::device_memory_event& row, const sources& source) {
  words w(source, row.id);
  w.title("Device memory, sampled").instant(row.time).device(row.device);
  w.bytes("Total", row.total).bytes("Free", row.free).bytes("Used by the recorder", row.recorder).common(row);
  return w.on_memory(row.device, trace::memory_kind::device).done();
}

event_details describe(const trace::transfer_event& row, const sources& source) {
  words w(source, row.id);
  w.title(fmt::format("Copy {}, {}", get_name(row.direction), format_bytes(row.bytes))).interval(row.time, row.end);
  w.bytes("Bytes", row.bytes);
  if (row.end != unknown_time && row.end > row.time) {
    timeline::slice_item item;
    item.begin = bounded(row.time);
    item.end = bounded(row.end);
    item.bytes = row.bytes;
    const double bandwidth = index::compute_bandwidth(item);
    w.put("Bandwidth", format_rate(bandwidth) + share_of_link(row, bandwidth, w.tables()));
  }
  if (row.copies > 1) w.put("Copies", fmt::format("{} in one batch, timed as a whole", format_count(row.copies)));
  w.put("From", fmt::format("{} memory", name_of_side(row.source_kind)));
  w.put("To", fmt::format("{} memory", name_of_side(row.destination_kind)));
  w.address("From address", row.source_address).address("To address", row.destination_address);
  w.block("From block", row.source_block).block("To block", row.destination_block);
  put_content(row, source, w);
  w.device(row.device).stream(row.stream).put("Asynchronous", row.asynchronous ? "yes" : "no");
  if (row.peer != trace::device_id::none) w.put("From device", index::device_label(row.peer, w.tables()));
  w.queued(row.enqueued, row.time).event("Called by", row.call).put_nonzero("Graph node", row.graph_node);
  w.stack(source.index.copies().find_stack(row.call));
  return w.common(row).on_stream(row, row.device, row.stream).done();
}

event_details describe(const trace::transfer_part_event& row, const sources& source) {
  words w(source, row.id);
  w.title(fmt::format("Copy {} of {} in a batch", row.index + 1, row.count)).instant(row.time);
  if (row.bytes > 0) w.bytes("Bytes", row.bytes);
  w.put("Direction", std::string(get_name(row.direction)));
  w.put("From", fmt::format("{} memory", name_of_side(row.source_kind)));
  w.put("To", fmt::format("{} memory", name_of_side(row.destination_kind)));
  w.address("From address", row.source_address).address("To address", row.destination_address);
  w.block("From block", row.source_block).block("To block", row.destination_block);
  w.event("Ran with the whole batch", row.transfer).event("Called by", row.call);
  return w.stack(source.index.copies().find_stack(row.call)).common(row).done();
}

event_details describe(const trace::migration_event& row, const sources& source) {
  static constexpr std::array causes = {"", "page fault", "prefetch", "eviction", "access counter"};
  words w(source, row.id);
  w.title(fmt::format("Migration {}, {}", get_name(row.direction), format_bytes(row.bytes)))
      .interval(row.time, row.end);
  w.bytes("Bytes", row.bytes).address("Address", row.address).device(row.device);
  w.put("Cause", causes[static_cast<std::size_t>(row.cause) % causes.size()]).common(row);
  track where;
  where.kind = track_kind::direction;
  where.device = row.device;
  where.direction = row.direction;
  return w.on_track(where).done();
}

event_details describe(const trace::memset_event& row, const sources& source) {
  words w(source, row.id);
  w.title(fmt::format("Memset of {}", format_bytes(row.bytes))).interval(row.time, row.end);
  w.bytes("Bytes", row.bytes).put("Value", format_address(row.value)).put("Kind", kind_in_words(row.kind));
  w.address("Address", row.address).block("Block", row.block).device(row.device).stream(row.stream);
  w.event("Called by", row.call).put_nonzero("Graph node", row.graph_node);
  return w.common(row).on_stream(row, row.device, row.stream).done();
}

event_details describe(const trace::kernel_event& row, const sources& source) {
  words w(source, row.id);
  const std::string name = w.text(row.name);
  w.title(name.empty() ? "Kernel" : readable_name(name)).interval(row.time, row.end);
  if (row.grid_x > 0) {
    w.put("Grid", fmt::format("{} x {} x {}", row.grid_x, row.grid_y, row.grid_z));
    w.put("Block", fmt::format("{} x {} x {}", row.block_x, row.block_y, row.block_z));
  }
  w.put_nonzero("Registers per thread", row.registers);
  if (row.static_shared > 0) w.bytes("Static shared memory", row.static_shared);
  if (row.dynamic_shared > 0) w.bytes("Dynamic shared memory", row.dynamic_shared);
  w.device(row.device).stream(row.stream).queued(row.enqueued, row.time).event("Launched by", row.call);
  w.put_nonzero("Graph node", row.graph_node).put_nonzero("Correlation", row.correlation);
  return w.common(row).on_stream(row, row.device, row.stream).done();
}

event_details describe(const trace::api_call_event& row, const sources& source) {
  words w(source, row.id);
  const std::string name = w.text(row.name);
  w.title(name.empty() ? "API call" : name).interval(row.time, row.end);
  w.put("Result", row.status == 0 ? "success" : error_in_words(row.status));
  if (row.bytes > 0) w.bytes("Bytes", row.bytes);
  w.stream(row.stream).put_nonzero("Correlation", row.correlation).common(row).stack(row.stack);
  return w.on_thread(row).done();
}

event_details describe(const trace::graph_definition_event& row, const sources& source) {
  words w(source, row.id);
  return w.title("Graph defined")
      .instant(row.time)
      .put("Name", row.name)
      .put_nonzero("Nodes", row.nodes)
      .common(row)
      .done();
}

event_details describe(const trace::graph_launch_event& row, const sources& source) {
  words w(source, row.id);
  w.title("Graph launch")
      .interval(row.time, row.end)
      .put_nonzero("Graph", raw(row.graph))
      .device(row.device)
      .stream(row.stream);
  return w.put_nonzero("Correlation", row.correlation).common(row).on_stream(row, row.device, row.stream).done();
}

event_details describe(const trace::event_record_event& row, const sources& source) {
  words w(source, row.id);
  return w.title("Event recorded")
      .instant(row.time)
      .stream(row.stream)
      .address("Handle", row.handle)
      .common(row)
      .done();
}

event_details describe(const trace::event_wait_event& row, const sources& source) {
  words w(source, row.id);
  w.title("Wait for an event").instant(row.time).stream(row.stream).address("Handle", row.handle);
  return w.event("Recorded by", row.record).common(row).done();
}

event_details describe(const trace::sync_event& row, const sources& source) {
  static constexpr std::array names = {"Wait", "Wait for an event", "Wait for a stream", "Wait for the device",
                                       "A stream waits for an event"};
  words w(source, row.id);
  w.title(names[static_cast<std::size_t>(row.kind) % names.size()]).interval(row.time, row.end).stream(row.stream);
  w.stack(row.stack);
  return w.common(row).on_thread(row).done();
}

event_details describe(const trace::host_sample_event& row, const sources& source) {
  static constexpr std::array states = {"unknown", "running", "running code of the operating system",
                                        "waiting, off the CPU", "ready to run, but not scheduled"};
  words w(source, row.id);
  w.title("Sample of a thread").interval(row.time, trace::detail::get_end(row));
  w.put("State", states[static_cast<std::size_t>(row.state) % states.size()]);
  if (row.system_call >= 0) {
    const std::string_view name = trace::name_of_system_call(row.system_call);
    w.put("System call", name.empty() ? fmt::format("number {}", row.system_call) : std::string(name));
  }
  if (row.python_distance >= 0)
    w.put("Python frames", fmt::format("read {} apart from the native frames", format_time(row.python_distance)));
  return w.stack(row.stack).common(row).on_thread(row).done();
}

event_details describe(const trace::host_range_event& row, const sources& source) {
  words w(source, row.id);
  w.title(w.text(row.name)).interval(row.time, row.end).put("Domain", row.domain);
  return w.common(row).on_thread(row).done();
}

event_details describe(const trace::marker_event& row, const sources& source) {
  words w(source, row.id);
  w.title(w.text(row.name)).instant(row.time);
  if (row.step >= 0) w.put("Step", format_count(static_cast<std::uint64_t>(row.step)));
  return w.common(row).on_thread(row).done();
}

event_details describe(const trace::file_io_event& row, const sources& source) {
  static constexpr std::array names = {"File operation", "Open", "Read", "Write", "Flush", "Map"};
  words w(source, row.id);
  w.title(
      fmt::format("{}, {}", names[static_cast<std::size_t>(row.operation) % names.size()], format_bytes(row.bytes)));
  w.interval(row.time, row.end).put("File", row.file).bytes("Bytes", row.bytes).bytes("Offset", row.offset);
  if (row.end != unknown_time && row.end > row.time && row.bytes > 0) {
    const double rate = index::compute_bandwidth(row.bytes, bounded(row.time), bounded(row.end));
    w.put("Rate", format_rate(rate));
  }
  return w.common(row).on_thread(row).done();
}

event_details describe(const trace::counter_event& row, const sources& source) {
  words w(source, row.id);
  return w.title("Counter").instant(row.time).put("Value", fmt::format("{}", row.value)).common(row).done();
}

event_details describe(const trace::touch_event& row, const sources& source) {
  words w(source, row.id);
  w.title("Touch (argument-visible)").instant(row.time).block("Block", row.block).stream(row.stream);
  if (const std::string name = w.text(row.name); !name.empty()) w.put("Kernel or call", readable_name(name));
  if (row.graph != trace::graph_id::none) w.put("Node of graph", format_count(raw(row.graph)));
  return w.event("By", row.work).common(row).done();
}

event_details describe(const trace::loss_event& row, const sources& source) {
  words w(source, row.id);
  w.title("Lost events").interval(row.time, row.end).put("Events", format_count(row.events));
  return w.put("Of those, allocations and frees", format_count(row.memory_events)).common(row).done();
}

event_details describe(const trace::checkpoint_event& row, const sources& source) {
  words w(source, row.id);
  w.title("Checkpoint").instant(row.time).put("Blocks live", format_count(row.blocks));
  return w.put("Exact", row.exact ? "yes" : "no").common(row).done();
}

event_details describe(const trace::message_event& row, const sources& source) {
  words w(source, row.id);
  return w.title("Message").instant(row.time).put("Text", row.text).common(row).done();
}

void put_owner(const index::block_record& block, const sources& source, words& to) {
  if (!block.imported()) return;
  const auto known = find_import_owner(block.alloc, source);
  const auto owner = !known ? std::optional<trace::alloc_event>{} : find_row<trace::alloc_event>(known->alloc, source);
  if (!owner) {
    to.put("Imported", "from another process, which is not in this recording; its bytes are counted for their owner");
    return;
  }
  to.put("Imported",
         fmt::format("from {}{}; its bytes are counted there", index::process_label(owner->process, to.tables()),
                     known->source == trace::provenance::inferred ? " (inferred)" : ""));
  to.block("Owner's block", owner->block);
}
event_details describe(const index::block_record& block, const sources& source) {
  words w(source, block.alloc);
  w.title(fmt::format("Block of {}", format_bytes(block.bytes)));
  w.span(block.born, block.freed() ? block.died : index::recorded_range(source.trace).end);
  w.put("Bytes", bytes_exactly(block.bytes));
  if (block.reserved_bytes > block.bytes) w.bytes("Size in pool", block.reserved_bytes);
  w.address("Address", block.address).put("Layer", std::string(get_label(block.layer)));
  w.put("Kind", kind_in_words(block.kind)).put("Name", block.name);
  put_owner(block, source, w);
  w.put("Allocated", block.born_before() ? "before the recording" : format_moment(block.born), block.alloc);
  if (block.freed()) {
    w.put("Freed", format_moment(block.died) + (block.death_inferred ? " (inferred: gone from a checkpoint)" : ""),
          block.free);
    w.put("Lifetime", format_time(block.died - block.born));
  } else {
    w.put("Freed", block.freed_after() ? "after the recording's end" : "never freed");
  }
  w.device(block.device).stream(block.stream).pool(block.pool).block("Segment", block.parent);
  if (block.process != trace::process_id::none) w.put("Process", index::process_label(block.process, w.tables()));
  if (block.thread != trace::thread_id::none) w.put("Thread", index::thread_label(block.thread, w.tables()));
  return w.stack(block.stack).on_memory(block.device, block.kind).done();
}

// --- finding the row ---------------------------------------------------------------------------------------------------

template <class Row>
std::optional<event_details> try_kind(trace::event_id id, const sources& source) {
  std::optional<event_details> found;
  rows_about<Row>(id, source, [&](const Row& row) {
    if (row.id == id && !found) found = describe(row, source);
  });
  return found;
}

std::optional<event_details> find_event(trace::event_id id, const sources& source) {
  using namespace trace;
  std::optional<event_details> found;
  const auto try_each = [&]<class... Rows>() {
    static_cast<void>(((found = try_kind<Rows>(id, source)).has_value() || ...));
  };
  try_each.operator()<kernel_event, transfer_event, api_call_event, alloc_event, free_event, memset_event,
                      migration_event, host_range_event, file_io_event, sync_event, marker_event, pool_event,
                      device_memory_event, alloc_failed_event, graph_launch_event, graph_definition_event,
                      event_record_event, event_wait_event, counter_event, touch_event, transfer_part_event,
                      host_sample_event, loss_event, checkpoint_event, live_block_event, message_event>();
  return found;
}

void put_attributes(trace::event_id id, const sources& source, event_details& into) {
  const trace::tables& tables = source.trace.tables();
  rows_about<trace::attribute_event>(id, source, [&](const trace::attribute_event& row) {
    if (row.target != id) return;
    std::string value = row.text != trace::string_id::none ? std::string(tables.text(row.text))
                        : row.real != 0                    ? fmt::format("{}", row.real)
                                                           : fmt::format("{}", row.integer);
    into.details.push_back({std::string(tables.text(row.key)), std::move(value), {}, {}});
  });
  rows_about<trace::link_event>(id, source, [&](const trace::link_event& row) {
    if (row.from != id) return;
    static constexpr const char* names[] = {"Caused", "Waited for by", "Touch", "Defined", "Owner's block"};
    into.details.push_back({names[static_cast<std::size_t>(row.kind) % std::size(names)],
                            fmt::format("event {}", raw(row.to)),
                            row.to,
                            {}});
  });
}

/// Adds a line for each of the first copies of a batch.
void put_parts(const trace::transfer_event& whole, const sources& source, event_details& into) {
  constexpr std::size_t most = 16;
  std::vector<trace::transfer_part_event> parts;
  static_cast<void>(source.trace.for_each<trace::transfer_part_event>(
      [&](const trace::transfer_part_event& row) {
        if (row.transfer == whole.id) parts.push_back(row);
      },
      whole.enqueued, whole.enqueued + 1));
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  for (std::size_t i = 0; i < parts.size() && i < most; ++i) {
    const trace::transfer_part_event& part = parts[i];
    const bool to_device = part.direction != trace::direction::d2h;
    const trace::block_id block = to_device ? part.destination_block : part.source_block;
    into.details.push_back(
        {fmt::format("Part {} of {}", part.index + 1, part.count),
         fmt::format("{}{}, {} to {}", part.bytes > 0 ? format_bytes(part.bytes) + " " : std::string(),
                     get_name(part.direction), format_address(part.source_address),
                     format_address(part.destination_address)),
         part.id, block});
  }
  if (whole.copies > std::min(parts.size(), most))
    into.details.push_back({"More parts", format_count(whole.copies - std::min(parts.size(), most)), {}, {}});
}

}  // namespace

result<event_details> result_to(const details_query& query, const sources& source) {
  if (query.block != trace::block_id::none) {
    const index::block_record* block = source.index.memory().find(query.block);
    if (block == nullptr)
      return fail(error_code::not_found, "the recording has no block with this id", source.trace.path());
    event_details found = describe(*block, source);
    put_tensor_details(*block, source, found);
    return found;
  }
  if (query.which != same_name::itself) return find_same_name(query.event, query.which, source);
  auto found = find_event(query.event, source);
  if (!found) return fail(error_code::not_found, "the recording has no event with this id", source.trace.path());
  put_attributes(query.event, source, *found);
  if (const auto copy = find_row<trace::transfer_event>(query.event, source); copy && copy->copies > 1)
    put_parts(*copy, source, *found);
  if (const auto kernel = find_row<trace::kernel_event>(query.event, source))
    put_touched_blocks(*kernel, source, *found);
  return std::move(*found);
}

}  // namespace sluice::query
