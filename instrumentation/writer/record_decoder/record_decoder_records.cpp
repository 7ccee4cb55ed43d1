// Turns each record into rows of the trace.
#include <algorithm>
#include <cstring>

#include "instrumentation/writer/record_decoder/record_decoder.hpp"

namespace sluice::writer {

using namespace trace;

namespace {

std::uint32_t context_of(std::uint64_t stream) { return static_cast<std::uint32_t>(stream >> 32); }

}  // namespace

/// Consecutive records of one speaker are processed together.
void record_decoder::process(std::span<const pending> some) {
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

/// Handles the most frequent record types. Returns false for any other type.
inline bool record_decoder::dispatch_frequent(const context& c, const record_head& head, const std::byte* record) {
  switch (head.type) {
    case ring::record_type::alloc:
      hand_on<ring::alloc_record>(c, head, record);
      return true;
    case ring::record_type::free:
      hand_on<ring::free_record>(c, head, record);
      return true;
    case ring::record_type::framework_alloc:
      hand_on<ring::framework_alloc_record>(c, head, record);
      return true;
    case ring::record_type::framework_free:
      hand_on<ring::framework_free_record>(c, head, record);
      return true;
    case ring::record_type::pool_stream_alloc:
      hand_on<ring::pool_stream_alloc_record>(c, head, record);
      return true;
    case ring::record_type::pool_stream_free:
      hand_on<ring::pool_stream_free_record>(c, head, record);
      return true;
    case ring::record_type::touch:
      on_touch(c, sound_record_at(record));
      return true;
    case ring::record_type::api_call:
      hand_on<ring::api_call_record>(c, head, record);
      return true;
    case ring::record_type::kernel:
      hand_on<ring::kernel_record>(c, head, record);
      return true;
    default:
      return false;
  }
}

void record_decoder::dispatch(const context& c, const record_view& record) {
  if (dispatch_memory(c, record) || dispatch_work(c, record)) {
    ++device_events_;
  } else if (!dispatch_definition(c, record)) {
    dispatch_host(c, record);
  }
}

bool record_decoder::dispatch_definition(const context& c, const record_view& record) {
  process_names& names = c.process.names;
  switch (record.type) {
    case ring::record_type::device:
      names_.define(names, decode<ring::device_record>(record));
      return true;
    case ring::record_type::context:
      names_.define(names, decode<ring::context_record>(record));
      return true;
    case ring::record_type::stream:
      names_.define(names, decode<ring::stream_record>(record));
      return true;
    case ring::record_type::pool:
      on(c, decode<ring::pool_record>(record));
      return true;
    case ring::record_type::counter:
      names_.define(names, decode<ring::counter_record>(record));
      return true;
    case ring::record_type::mode:
      names_.define(names, decode<ring::mode_record>(record));
      return true;
    case ring::record_type::graph_definition:
      on(c, decode<ring::graph_definition_record>(record));
      return true;
    default:
      return false;
  }
}

bool record_decoder::dispatch_memory(const context& c, const record_view& record) {
  switch (record.type) {
    case ring::record_type::free_completed:
      on(c, decode<ring::free_completed_record>(record));
      return true;
    case ring::record_type::alloc_failed:
      on(c, decode<ring::alloc_failed_record>(record));
      return true;
    case ring::record_type::pool_state:
      on(c, decode<ring::pool_state_record>(record));
      return true;
    case ring::record_type::share:
      on(c, decode<ring::share_record>(record));
      return true;
    case ring::record_type::live_set:
      on_live_set(c, record);
      return true;
    case ring::record_type::live_sets_complete:
      on(c, decode<ring::live_sets_complete_record>(record));
      return true;
    case ring::record_type::pool_live_set:
      on_pool_live_set(c, record);
      return true;
    case ring::record_type::context_end:
      c.process.blocks.end_context(names_.context(c.process.names, decode<ring::context_end_record>(record).context),
                                   c.time);
      return true;
    case ring::record_type::graph_end:
      c.process.blocks.end_graph(decode<ring::graph_end_record>(record).graph, c.time);
      c.process.graphs.end(decode<ring::graph_end_record>(record).graph);
      return true;
    default:
      return false;
  }
}

bool record_decoder::dispatch_work(const context& c, const record_view& record) {
  switch (record.type) {
    case ring::record_type::content:
      on(c, decode<ring::content_record>(record));
      return true;
    case ring::record_type::copy:
      on(c, decode<ring::copy_record>(record));
      return true;
    case ring::record_type::copy_parts:
      on_copy_parts(c, record);
      return true;
    case ring::record_type::memset:
      on(c, decode<ring::memset_record>(record));
      return true;
    case ring::record_type::migration:
      on(c, decode<ring::migration_record>(record));
      return true;
    case ring::record_type::graph_launch:
      on(c, decode<ring::graph_launch_record>(record));
      return true;
    case ring::record_type::event_record:
    case ring::record_type::event_wait:
      on_event_edge(c, decode<ring::event_edge_record>(record), record.type == ring::record_type::event_record);
      return true;
    case ring::record_type::sync:
      on(c, decode<ring::sync_record>(record));
      return true;
    case ring::record_type::node_touch:
      on_node_touch(c, record);
      return true;
    case ring::record_type::child_graph: {
      const auto r = decode<ring::child_graph_record>(record);
      c.process.graphs.set_child(r.graph, r.node, r.child, begin<graph_launch_event>(c));
      return true;
    }
    case ring::record_type::node_switch: {
      const auto r = decode<ring::node_switch_record>(record);
      c.process.graphs.enable(r.graph, r.node, r.enabled != 0);
      return true;
    }
    case ring::record_type::graph_call:
      on(c, decode<ring::graph_call_record>(record));
      return true;
    default:
      return false;
  }
}

void record_decoder::dispatch_host(const context& c, const record_view& record) {
  switch (record.type) {
    case ring::record_type::device_memory:
      return on(c, decode<ring::device_memory_record>(record));
    case ring::record_type::watermark:
      return on(c, decode<ring::watermark_record>(record));
    case ring::record_type::range:
      return on(c, decode<ring::range_record>(record));
    case ring::record_type::range_begin:
      return on(c, decode<ring::range_begin_record>(record));
    case ring::record_type::range_end:
      return on(c, decode<ring::range_end_record>(record));
    case ring::record_type::thread_name:
      return on(c, decode<ring::thread_name_record>(record));
    case ring::record_type::tag:
      return on(c, decode<ring::tag_record>(record));
    case ring::record_type::marker:
      return on(c, decode<ring::marker_record>(record));
    case ring::record_type::counter_value:
      return on(c, decode<ring::counter_value_record>(record));
    case ring::record_type::file_io:
      return on(c, decode<ring::file_io_record>(record));
    case ring::record_type::message:
      return on(c, decode<ring::message_record>(record));
    case ring::record_type::loss:
      return on(c, decode<ring::loss_record>(record));
    case ring::record_type::fault:
      return on_fault(c, record);
    default:
      return;  // From a newer producer: skipped.
  }
}

// ------------------------------------------------------------------------------------------------------------- memory

void record_decoder::on(const context& c, const ring::alloc_record& r) {
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
  if ((c.flags & ring::flag_born_before) != 0) row.flags |= born_before;
  if ((c.flags & ring::flag_registered) != 0) row.flags |= registered;
  if ((c.flags & ring::flag_ipc) != 0) row.flags |= ipc_import;
  if ((c.flags & ring::flag_graph) != 0) row.flags |= graph_memory;
  failures_.add_allocation(c.thread, row.layer, row.kind, row.bytes);
  c.process.blocks.add(row, {r.parent, r.owner, (c.flags & ring::flag_shared) != 0}, now_);
  if (options_.max_device_bytes != 0) consider_peak(c.process);
  consider_checkpoint(c.time);
}

void record_decoder::on(const context& c, const ring::free_record& r) {
  free_request request;
  request.row = begin<free_event>(c);
  request.row.layer = checked<layer>(r.layer);
  request.row.address = r.address;
  request.row.stream = names_.stream(c.process.names, r.stream);
  request.row.correlation = r.correlation;
  request.kind = checked<memory_kind>(r.kind);
  request.range = r.bytes;
  c.process.blocks.remove(request, now_);
  if (options_.max_device_bytes != 0) consider_peak(c.process);
  consider_checkpoint(c.time);
}

void record_decoder::on(const context& c, const ring::free_completed_record& r) {
  c.process.blocks.complete(checked<layer>(r.layer), r.address, c.time, now_);
}

void record_decoder::on(const context& c, const ring::alloc_failed_record& r) {
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

/// Arrives after the record of the shared block.
void record_decoder::on(const context& c, const ring::share_record& r) {
  process_names& names = c.process.names;
  const auto kind = static_cast<ring::shared_thing>(r.kind);
  const bool imported = r.imported != 0;
  if (kind == ring::shared_thing::pool) {
    if (imported) return shares_.imported_pool(r.key, names.id, r.what);
    return shares_.exported_pool(r.key, names_.pool(names, r.what));
  }
  const alloc_event* block = kind == ring::shared_thing::physical ? c.process.blocks.find_physical(r.what)
                                                                  : c.process.blocks.find_of_driver(r.what);
  if (block == nullptr) return;
  if (!imported) {
    return kind == ring::shared_thing::pool_block ? shares_.exported_from_pool(r.key, *block)
                                                  : shares_.exported(r.key, *block);
  }
  if ((block->flags & ipc_import) == 0) return;
  auto row = begin<link_event>(c);
  row.from = block->id;
  if (kind == ring::shared_thing::pool_block) return shares_.imported_from_pool(r.key, names.id, r.pool, row);
  shares_.imported(r.key, row);
}

void record_decoder::on(const context& c, const ring::pool_state_record& r) {
  auto row = begin<pool_event>(c);
  row.pool = names_.pool(c.process.names, r.pool);
  row.operation = checked<pool_operation>(r.operation);
  row.reserved = r.reserved_bytes;
  row.used = r.used_bytes;
  row.threshold = r.threshold;
  file_.add(row);
}

void record_decoder::on(const context& c, const ring::device_memory_record& r) {
  auto row = begin<device_memory_event>(c);
  row.device = names_.device(c.process.names, r.device);
  row.free = r.free_bytes;
  row.total = r.total_bytes;
  row.recorder = r.recorder_bytes;
  file_.add(row);
}

// --------------------------------------------------------------------------------------------------- calls and work

void record_decoder::on(const context& c, const ring::api_call_record& r) {
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

void record_decoder::on(const context& c, const ring::content_record& r) {
  if (r.stage > static_cast<std::uint8_t>(ring::content_stage::arrived)) return;
  c.process.work.add_content(
      r.correlation, {static_cast<ring::content_stage>(r.stage), checked<content_check>(r.check), r.hash, r.bytes});
}

void record_decoder::on(const context& c, const ring::copy_record& r) {
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
  row.asynchronous = (c.flags & ring::flag_asynchronous) != 0;
  row.channel = r.channel;
  row.copies = std::max<std::uint32_t>(r.copies, 1);
  c.process.work.add_work(row, now_);
}

void record_decoder::on_copy_parts(const context& c, const record_view& record) {
  const auto r = decode<ring::copy_parts_record>(record);
  std::vector<work_joiner::part> parts(std::min<std::size_t>(
      r.count, (record.bytes.size() - std::min(record.bytes.size(), sizeof r)) / sizeof(work_joiner::part)));
  if (parts.empty()) return;
  std::memcpy(parts.data(), record.bytes.data() + sizeof r, parts.size() * sizeof parts[0]);
  c.process.work.add_parts(r.correlation, r.total, r.first, parts);
}

void record_decoder::on(const context& c, const ring::memset_record& r) {
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

void record_decoder::on(const context& c, const ring::kernel_record& r) {
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

void record_decoder::on(const context& c, const ring::migration_record& r) {
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

void record_decoder::on(const context& c, const ring::watermark_record&) {
  auto row = begin<watermark_event>(c);
  row.complete_until = c.time;
  c.process.work.add_watermark(row);
}

void record_decoder::on_event_edge(const context& c, const ring::event_edge_record& r, bool recorded) {
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

void record_decoder::on(const context& c, const ring::sync_record& r) {
  auto row = begin<sync_event>(c);
  row.end = end_time(c, r.end);
  row.kind = checked<sync_kind>(r.kind);
  row.stack = stacks_.stack(c.process.stacks, r.stack);
  row.stream = names_.stream(c.process.names, r.stream);
  file_.add(row);
}

// --------------------------------------------------------------------------------------------------------- host events

void record_decoder::on(const context& c, const ring::range_record& r) {
  auto row = begin<host_range_event>(c);
  row.end = end_time(c, r.end);
  row.name = names_.text(r.name);
  row.domain = names_.text(r.domain);
  file_.add(row);
}

void record_decoder::on(const context& c, const ring::range_begin_record& r) {
  auto row = begin<host_range_event>(c);
  row.name = names_.text(r.name);
  row.domain = names_.text(r.domain);
  c.process.ranges.begin(r.id, row);
}

void record_decoder::on(const context& c, const ring::range_end_record& r) {
  auto at = begin<host_range_event>(c);
  at.domain = names_.text(r.domain);
  c.process.ranges.end(r.id, at);
}

void record_decoder::on(const context& c, const ring::thread_name_record& r) {
  names_.name_thread(c.process.names, r.tid, r.name);
}

/// A tag applies to the innermost live block that contains the address; it is ignored if there is no such block.
void record_decoder::on(const context& c, const ring::tag_record& r) {
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

void record_decoder::on(const context& c, const ring::marker_record& r) {
  auto row = begin<marker_event>(c);
  row.name = names_.text(r.name);
  row.step = r.step;
  file_.add(row);
}

void record_decoder::on(const context& c, const ring::counter_value_record& r) {
  auto row = begin<counter_event>(c);
  row.counter = names_.counter(c.process.names, r.counter);
  row.value = r.value;
  file_.add(row);
}

void record_decoder::on(const context& c, const ring::file_io_record& r) {
  auto row = begin<file_io_event>(c);
  row.end = end_time(c, r.end);
  row.operation = checked<file_operation>(r.operation);
  row.file = names_.text(r.file);
  row.offset = r.offset;
  row.bytes = r.bytes;
  file_.add(row);
}

void record_decoder::on(const context& c, const ring::message_record& r) {
  auto row = begin<message_event>(c);
  row.severity = checked<severity>(r.severity);
  row.text = names_.text(r.text);
  file_.add(row);
}

void record_decoder::on(const context& c, const ring::loss_record& r) {
  auto row = begin<loss_event>(c);
  row.end = std::max(row.time, convert(c, r.end));
  row.events = r.events;
  row.memory_events = r.memory_events;
  add_loss(c.process, row, c.copy, r.layers);
}

}  // namespace sluice::writer
