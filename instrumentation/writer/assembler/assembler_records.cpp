// Turns each record into rows of the trace.
#include <algorithm>
#include <cstring>

#include "instrumentation/writer/assembler/assembler.hpp"

namespace sluice::collector {

using namespace trace;

namespace {

std::uint32_t context_of(std::uint64_t stream) { return static_cast<std::uint32_t>(stream >> 32); }

}  // namespace

/// Consecutive records of one speaker are processed together.
void assembler::process(std::span<const pending> some) {
  while (!some.empty()) {
    const std::uint32_t voice = some.front().voice;
    const std::byte* const bytes = memory_of(some.front()).bytes.data();
    const speaker& who = speaker_of(some.front());
    context c{*who.process, who.thread, who.clock, who.copy, 0, 0};
    std::size_t done = 0;
    for (; done < some.size() && some[done].voice == voice; ++done) {
      const std::byte* const record = bytes + std::size_t{some[done].word} * 8;
      const record_head head = head_at(record);
      c.flags = head.flags;
      c.time = some[done].time;
      ++now_.records;
      reached_ = std::max(reached_, c.time);
      if (dispatch_frequent(c, head, record)) {
        ++device_events_;
      } else {
        dispatch(c, sound_record_at(record));
      }
      if (options_.simulated) settle(false);
    }
    some = some.subspan(done);
  }
}

/// Handles the most frequent record types. False: it is another type.
inline bool assembler::dispatch_frequent(const context& c, const record_head& head, const std::byte* record) {
  switch (head.type) {
    case record_type::alloc:
      hand_on<alloc_record>(c, head, record);
      return true;
    case record_type::free:
      hand_on<free_record>(c, head, record);
      return true;
    case record_type::framework_alloc:
      hand_on<framework_alloc_record>(c, head, record);
      return true;
    case record_type::framework_free:
      hand_on<framework_free_record>(c, head, record);
      return true;
    case record_type::pool_stream_alloc:
      hand_on<pool_stream_alloc_record>(c, head, record);
      return true;
    case record_type::pool_stream_free:
      hand_on<pool_stream_free_record>(c, head, record);
      return true;
    case record_type::touch:
      on_touch(c, sound_record_at(record));
      return true;
    case record_type::api_call:
      hand_on<api_call_record>(c, head, record);
      return true;
    case record_type::kernel:
      hand_on<kernel_record>(c, head, record);
      return true;
    default:
      return false;
  }
}

void assembler::dispatch(const context& c, const record_view& record) {
  if (dispatch_memory(c, record) || dispatch_work(c, record)) {
    ++device_events_;
  } else if (!dispatch_definition(c, record)) {
    dispatch_host(c, record);
  }
}

bool assembler::dispatch_definition(const context& c, const record_view& record) {
  process_names& names = c.process.names;
  switch (record.type) {
    case record_type::device:
      names_.define(names, decode<device_record>(record));
      return true;
    case record_type::context:
      names_.define(names, decode<context_record>(record));
      return true;
    case record_type::stream:
      names_.define(names, decode<stream_record>(record));
      return true;
    case record_type::pool:
      on(c, decode<pool_record>(record));
      return true;
    case record_type::counter:
      names_.define(names, decode<counter_record>(record));
      return true;
    case record_type::mode:
      names_.define(names, decode<mode_record>(record));
      return true;
    case record_type::graph_definition:
      on(c, decode<graph_definition_record>(record));
      return true;
    default:
      return false;
  }
}

bool assembler::dispatch_memory(const context& c, const record_view& record) {
  switch (record.type) {
    case record_type::free_completed:
      on(c, decode<free_completed_record>(record));
      return true;
    case record_type::alloc_failed:
      on(c, decode<alloc_failed_record>(record));
      return true;
    case record_type::pool_state:
      on(c, decode<pool_state_record>(record));
      return true;
    case record_type::share:
      on(c, decode<share_record>(record));
      return true;
    case record_type::live_set:
      on_live_set(c, record);
      return true;
    case record_type::live_sets_complete:
      on(c, decode<live_sets_complete_record>(record));
      return true;
    case record_type::pool_live_set:
      on_pool_live_set(c, record);
      return true;
    case record_type::context_end:
      c.process.blocks.end_context(names_.context(c.process.names, decode<context_end_record>(record).context), c.time);
      return true;
    case record_type::graph_end:
      c.process.blocks.end_graph(decode<graph_end_record>(record).graph, c.time);
      c.process.graphs.end(decode<graph_end_record>(record).graph);
      return true;
    default:
      return false;
  }
}

bool assembler::dispatch_work(const context& c, const record_view& record) {
  switch (record.type) {
    case record_type::content:
      on(c, decode<content_record>(record));
      return true;
    case record_type::copy:
      on(c, decode<copy_record>(record));
      return true;
    case record_type::copy_parts:
      on_copy_parts(c, record);
      return true;
    case record_type::memset:
      on(c, decode<memset_record>(record));
      return true;
    case record_type::migration:
      on(c, decode<migration_record>(record));
      return true;
    case record_type::graph_launch:
      on(c, decode<graph_launch_record>(record));
      return true;
    case record_type::event_record:
    case record_type::event_wait:
      on_event_edge(c, decode<event_edge_record>(record), record.type == record_type::event_record);
      return true;
    case record_type::sync:
      on(c, decode<sync_record>(record));
      return true;
    case record_type::node_touch:
      on_node_touch(c, record);
      return true;
    case record_type::child_graph: {
      const auto r = decode<child_graph_record>(record);
      c.process.graphs.set_child(r.graph, r.node, r.child, begin<graph_launch_event>(c));
      return true;
    }
    case record_type::node_switch: {
      const auto r = decode<node_switch_record>(record);
      c.process.graphs.enable(r.graph, r.node, r.enabled != 0);
      return true;
    }
    case record_type::graph_call:
      on(c, decode<graph_call_record>(record));
      return true;
    default:
      return false;
  }
}

void assembler::dispatch_host(const context& c, const record_view& record) {
  switch (record.type) {
    case record_type::device_memory:
      return on(c, decode<device_memory_record>(record));
    case record_type::watermark:
      return on(c, decode<watermark_record>(record));
    case record_type::range:
      return on(c, decode<range_record>(record));
    case record_type::range_begin:
      return on(c, decode<range_begin_record>(record));
    case record_type::range_end:
      return on(c, decode<range_end_record>(record));
    case record_type::thread_name:
      return on(c, decode<thread_name_record>(record));
    case record_type::tag:
      return on(c, decode<tag_record>(record));
    case record_type::marker:
      return on(c, decode<marker_record>(record));
    case record_type::counter_value:
      return on(c, decode<counter_value_record>(record));
    case record_type::file_io:
      return on(c, decode<file_io_record>(record));
    case record_type::message:
      return on(c, decode<message_record>(record));
    case record_type::loss:
      return on(c, decode<loss_record>(record));
    case record_type::fault:
      return on_fault(c, record);
    default:
      return;  // From a newer producer: skipped.
  }
}

// ------------------------------------------------------------------------------------------------------------- memory

void assembler::on(const context& c, const alloc_record& r) {
  process_names& names = c.process.names;
  auto row = begin<alloc_event>(c);
  row.layer = checked<layer>(r.layer);
  row.kind = checked<memory_kind>(r.kind);
  row.device = names_.device(names, r.device);
  row.context = names_.context(names, r.context != 0 ? r.context : context_of(r.stream));
  row.stream = names_.stream(names, r.stream);
  row.pool = names_.pool(names, r.pool);
  row.address = r.address;
  row.bytes = r.bytes;
  row.reserved_bytes = r.reserved_bytes;
  row.call_begin = end_time(c, r.call_begin);
  row.correlation = r.correlation;
  row.name = names_.text(r.name);
  row.stack = stacks_.stack(c.process.stacks, r.stack);
  if ((c.flags & flag_born_before) != 0) row.flags |= born_before;
  if ((c.flags & flag_registered) != 0) row.flags |= registered;
  if ((c.flags & flag_ipc) != 0) row.flags |= ipc_import;
  if ((c.flags & flag_graph) != 0) row.flags |= graph_memory;
  failures_.add_allocation(c.thread, row.layer, row.kind, row.bytes);
  c.process.blocks.add(row, {r.parent, r.owner, (c.flags & flag_shared) != 0}, now_);
  if (options_.most_device_bytes != 0) consider_peak(c.process);
  consider_checkpoint(c.time);
}

void assembler::on(const context& c, const free_record& r) {
  free_request request;
  request.row = begin<free_event>(c);
  request.row.layer = checked<layer>(r.layer);
  request.row.address = r.address;
  request.row.stream = names_.stream(c.process.names, r.stream);
  request.row.correlation = r.correlation;
  request.kind = checked<memory_kind>(r.kind);
  request.range = r.bytes;
  c.process.blocks.remove(request, now_);
  if (options_.most_device_bytes != 0) consider_peak(c.process);
  consider_checkpoint(c.time);
}

void assembler::on(const context& c, const free_completed_record& r) {
  c.process.blocks.complete(checked<layer>(r.layer), r.address, c.time, now_);
}

void assembler::on(const context& c, const alloc_failed_record& r) {
  process_names& names = c.process.names;
  auto row = begin<alloc_failed_event>(c);
  row.layer = checked<layer>(r.layer);
  row.kind = checked<memory_kind>(r.kind);
  row.device = names_.device(names, r.device);
  row.stream = names_.stream(names, r.stream);
  row.pool = names_.pool(names, r.pool);
  row.bytes = r.bytes;
  row.error = r.status;
  if (options_.notice_failures) {
    trigger_ = "an allocation failed in process " + std::to_string(c.process.names.row.pid);
  }
  failures_.add_failure(c.thread, row.layer, row.kind, row.bytes);
  row.name = names_.text(r.name);
  row.stack = stacks_.stack(c.process.stacks, r.stack);
  file_.add(row);
}

/// Comes after the record of the shared block.
void assembler::on(const context& c, const share_record& r) {
  process_names& names = c.process.names;
  const auto kind = static_cast<shared_thing>(r.kind);
  const bool imported = r.imported != 0;
  if (kind == shared_thing::pool) {
    if (imported) return shares_.imported_pool(r.key, names.id, r.what);
    return shares_.exported_pool(r.key, names_.pool(names, r.what));
  }
  const alloc_event* block =
      kind == shared_thing::physical ? c.process.blocks.find_physical(r.what) : c.process.blocks.find_of_driver(r.what);
  if (block == nullptr) return;
  if (!imported) {
    return kind == shared_thing::pool_block ? shares_.exported_from_pool(r.key, *block)
                                            : shares_.exported(r.key, *block);
  }
  if ((block->flags & ipc_import) == 0) return;
  auto row = begin<link_event>(c);
  row.from = block->id;
  if (kind == shared_thing::pool_block) return shares_.imported_from_pool(r.key, names.id, r.pool, row);
  shares_.imported(r.key, row);
}

void assembler::on(const context& c, const pool_state_record& r) {
  auto row = begin<pool_event>(c);
  row.pool = names_.pool(c.process.names, r.pool);
  row.operation = checked<pool_operation>(r.operation);
  row.reserved = r.reserved_bytes;
  row.used = r.used_bytes;
  row.threshold = r.threshold;
  file_.add(row);
}

void assembler::on(const context& c, const device_memory_record& r) {
  auto row = begin<device_memory_event>(c);
  row.device = names_.device(c.process.names, r.device);
  row.free = r.free_bytes;
  row.total = r.total_bytes;
  row.recorder = r.recorder_bytes;
  file_.add(row);
}

// --------------------------------------------------------------------------------------------------- calls and work

void assembler::on(const context& c, const api_call_record& r) {
  process_names& names = c.process.names;
  auto& row = start<api_call_event>(c);
  row.end = end_time(c, r.end);
  row.name = names_.text(r.name);
  row.status = r.status;
  row.correlation = r.correlation;
  row.context = names_.context(names, r.context != 0 ? r.context : context_of(r.stream));
  row.stream = names_.stream(names, r.stream);
  row.bytes = r.bytes;
  row.stack = stacks_.stack(c.process.stacks, r.stack);
  c.process.work.add_call(r.correlation, {row.id, c.thread, c.time}, r.source, r.destination, r.bytes);
}

void assembler::on(const context& c, const content_record& r) {
  if (r.stage > static_cast<std::uint8_t>(content_stage::arrived)) return;
  c.process.work.add_content(r.correlation,
                             {static_cast<content_stage>(r.stage), checked<content_check>(r.check), r.hash, r.bytes});
}

void assembler::on(const context& c, const copy_record& r) {
  process_names& names = c.process.names;
  auto row = begin<transfer_event>(c);
  row.thread = thread_id::none;
  row.end = end_time(c, r.end);
  row.direction = checked<trace::direction>(r.direction);
  row.source_kind = checked<memory_kind>(r.source_kind);
  row.destination_kind = checked<memory_kind>(r.destination_kind);
  row.bytes = r.bytes;
  row.source_address = r.source;
  row.destination_address = r.destination;
  row.device = names_.device(names, r.device);
  row.peer = names_.device(names, r.peer);
  row.context = names_.context(names, context_of(r.stream));
  row.stream = names_.stream(names, r.stream);
  row.correlation = r.correlation;
  row.graph_node = r.graph_node;
  row.asynchronous = (c.flags & flag_asynchronous) != 0;
  row.channel = r.channel;
  row.copies = std::max<std::uint32_t>(r.copies, 1);
  c.process.work.add_work(row, now_);
}

void assembler::on_copy_parts(const context& c, const record_view& record) {
  const auto r = decode<copy_parts_record>(record);
  std::vector<work_joiner::part> parts(std::min<std::size_t>(
      r.count, (record.bytes.size() - std::min(record.bytes.size(), sizeof r)) / sizeof(work_joiner::part)));
  if (parts.empty()) return;
  std::memcpy(parts.data(), record.bytes.data() + sizeof r, parts.size() * sizeof parts[0]);
  c.process.work.add_parts(r.correlation, r.total, r.first, parts);
}

void assembler::on(const context& c, const memset_record& r) {
  process_names& names = c.process.names;
  auto row = begin<memset_event>(c);
  row.thread = thread_id::none;
  row.end = end_time(c, r.end);
  row.kind = checked<memory_kind>(r.kind);
  row.bytes = r.bytes;
  row.address = r.address;
  row.value = r.value;
  row.device = names_.device(names, r.device);
  row.context = names_.context(names, context_of(r.stream));
  row.stream = names_.stream(names, r.stream);
  row.correlation = r.correlation;
  row.graph_node = r.graph_node;
  c.process.work.add_work(row, now_);
}

void assembler::on(const context& c, const kernel_record& r) {
  const auto fill_in = [&](kernel_event& row) {
    process_names& names = c.process.names;
    fill(row, c);
    row.thread = thread_id::none;
    row.end = end_time(c, r.end);
    row.name = names_.text(r.name);
    row.device = names_.device(names, r.device);
    row.context = names_.context(names, context_of(r.stream));
    row.stream = names_.stream(names, r.stream);
    row.correlation = r.correlation;
    row.graph_node = r.graph_node;
    row.grid_x = r.grid[0], row.grid_y = r.grid[1], row.grid_z = r.grid[2];
    row.block_x = r.block[0], row.block_y = r.block[1], row.block_z = r.block[2];
    row.registers = r.registers;
    row.static_shared = r.static_shared;
    row.dynamic_shared = r.dynamic_shared;
  };
  const work_joiner::call* const call = r.correlation == 0 ? nullptr : c.process.work.find_call(r.correlation);
  if (r.correlation == 0 || call != nullptr) {
    auto& row = file_.start<kernel_event>();
    fill_in(row);
    if (call != nullptr) work_joiner::join(row, *call);
    return;
  }
  kernel_event row;
  fill_in(row);
  c.process.work.add_work(row, now_);
}

void assembler::on(const context& c, const migration_record& r) {
  auto row = begin<migration_event>(c);
  row.thread = thread_id::none;
  row.end = end_time(c, r.end);
  row.direction = checked<trace::direction>(r.direction);
  row.bytes = r.bytes;
  row.address = r.address;
  row.device = names_.device(c.process.names, r.device);
  row.cause = checked<migration_cause>(r.cause);
  file_.add(row);
}

void assembler::on(const context& c, const watermark_record&) {
  auto row = begin<watermark_event>(c);
  row.complete_until = c.time;
  c.process.work.add_watermark(row);
}

void assembler::on_event_edge(const context& c, const event_edge_record& r, bool recorded) {
  process_names& names = c.process.names;
  if (recorded) {
    auto row = begin<event_record_event>(c);
    row.handle = r.event;
    row.stream = names_.stream(names, r.stream);
    const auto id = static_cast<event_id>(file_.add(row));
    const bool kept = names.event_records.contains(r.event) || names_.budget().take(declared::event, 64);
    if (kept) names.event_records[r.event] = id;
    return;
  }
  auto row = begin<event_wait_event>(c);
  row.handle = r.event;
  row.stream = names_.stream(names, r.stream);
  const auto record = names.event_records.find(r.event);
  if (record != names.event_records.end()) row.record = record->second;
  file_.add(row);
}

void assembler::on(const context& c, const sync_record& r) {
  auto row = begin<sync_event>(c);
  row.end = end_time(c, r.end);
  row.kind = checked<sync_kind>(r.kind);
  row.stack = stacks_.stack(c.process.stacks, r.stack);
  row.stream = names_.stream(c.process.names, r.stream);
  file_.add(row);
}

// -------------------------------------------------------------------------------------------------- what the host says

void assembler::on(const context& c, const range_record& r) {
  auto row = begin<host_range_event>(c);
  row.end = end_time(c, r.end);
  row.name = names_.text(r.name);
  row.domain = names_.text(r.domain);
  file_.add(row);
}

void assembler::on(const context& c, const range_begin_record& r) {
  auto row = begin<host_range_event>(c);
  row.name = names_.text(r.name);
  row.domain = names_.text(r.domain);
  c.process.ranges.begin(r.id, row);
}

void assembler::on(const context& c, const range_end_record& r) {
  auto at = begin<host_range_event>(c);
  at.domain = names_.text(r.domain);
  c.process.ranges.end(r.id, at);
}

void assembler::on(const context& c, const thread_name_record& r) {
  names_.name_thread(c.process.names, r.tid, r.name);
}

/// Applies to the innermost live block that contains the address. Ignored if there is none.
void assembler::on(const context& c, const tag_record& r) {
  const alloc_event* block = c.process.blocks.find_live(r.address);
  if (block == nullptr) return;
  const auto say = [&](std::string_view key, std::uint64_t text) {
    auto row = begin<attribute_event>(c);
    row.target = block->id;
    row.key = names_.text_id(key);
    row.text = names_.text(text);
    if (row.text != string_id::none) file_.add(row);
  };
  say("category", r.category);
  say("name", r.name);
}

void assembler::on(const context& c, const marker_record& r) {
  auto row = begin<marker_event>(c);
  row.name = names_.text(r.name);
  row.step = r.step;
  file_.add(row);
}

void assembler::on(const context& c, const counter_value_record& r) {
  auto row = begin<counter_event>(c);
  row.counter = names_.counter(c.process.names, r.counter);
  row.value = r.value;
  file_.add(row);
}

void assembler::on(const context& c, const file_io_record& r) {
  auto row = begin<file_io_event>(c);
  row.end = end_time(c, r.end);
  row.operation = checked<file_operation>(r.operation);
  row.file = names_.text(r.file);
  row.offset = r.offset;
  row.bytes = r.bytes;
  file_.add(row);
}

void assembler::on(const context& c, const message_record& r) {
  auto row = begin<message_event>(c);
  row.severity = checked<severity>(r.severity);
  row.text = names_.text(r.text);
  file_.add(row);
}

void assembler::on(const context& c, const loss_record& r) {
  auto row = begin<loss_event>(c);
  row.end = std::max(row.time, convert(c, r.end));
  row.events = r.events;
  row.memory_events = r.memory_events;
  add_loss(c.process, row, c.copy, r.layers);
}

}  // namespace sluice::collector
