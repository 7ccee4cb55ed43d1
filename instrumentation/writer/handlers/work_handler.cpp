#include "instrumentation/writer/handlers/work_handler.hpp"

#include <algorithm>
#include <vector>

#include "instrumentation/writer/handlers/record_words.hpp"

namespace sluice::writer {

using namespace trace;

bool work_handler::handle(const record_context& c, const record_view& record) {
  switch (record.type) {
    case ring::record_type::content:
      handle_content(c, decode<ring::content_record>(record));
      return true;
    case ring::record_type::copy:
      handle_copy(c, decode<ring::copy_record>(record));
      return true;
    case ring::record_type::copy_parts:
      handle_copy_parts(c, record);
      return true;
    case ring::record_type::memset:
      handle_memset(c, decode<ring::memset_record>(record));
      return true;
    case ring::record_type::migration:
      handle_migration(c, decode<ring::migration_record>(record));
      return true;
    case ring::record_type::event_record:
      handle_event_record(c, decode<ring::event_edge_record>(record));
      return true;
    case ring::record_type::event_wait:
      handle_event_wait(c, decode<ring::event_edge_record>(record));
      return true;
    case ring::record_type::sync:
      handle_sync(c, decode<ring::sync_record>(record));
      return true;
    default:
      return false;
  }
}

// ------------------------------------------------------------------------------------------------------------- calls

void work_handler::handle_api_call(const record_context& c, const ring::api_call_record& r) {
  process_names& names = c.process.names;
  auto& row = start_row<api_call_event>(file_, c);
  row.end = clock_.convert_end(c, r.end);
  row.name = names_.text(r.name);
  row.status = r.status;
  row.correlation = r.correlation;
  row.context = names_.context(names, r.context != 0 ? r.context : stream_context(r.stream));
  row.stream = names_.stream(names, r.stream);
  row.bytes = r.bytes;
  row.stack = stacks_.stack(c.process.stacks, r.stack);
  c.process.work.add_call(r.correlation, {row.id, c.thread, c.time}, r.source, r.destination, r.bytes);
}

void work_handler::handle_call_of_recorder(const record_context& c, const ring::api_call_record& r) {
  c.process.work.add_call(r.correlation, {event_id::none, thread_id::none, c.time}, r.source, r.destination, r.bytes);
}

void work_handler::handle_content(const record_context& c, const ring::content_record& r) {
  if (r.stage > static_cast<std::uint8_t>(ring::content_stage::arrived)) return;
  c.process.work.add_content(
      r.correlation, {static_cast<ring::content_stage>(r.stage), checked<content_check>(r.check), r.hash, r.bytes});
}

void work_handler::handle_sync(const record_context& c, const ring::sync_record& r) {
  auto row = new_row<sync_event>(c);
  row.end = clock_.convert_end(c, r.end);
  row.kind = checked<sync_kind>(r.kind);
  row.stack = stacks_.stack(c.process.stacks, r.stack);
  row.stream = names_.stream(c.process.names, r.stream);
  file_.add(row);
}

// ------------------------------------------------------------------------------------------------------- device work

void work_handler::handle_copy(const record_context& c, const ring::copy_record& r) {
  process_names& names = c.process.names;
  auto row = new_row<transfer_event>(c);
  row.thread = thread_id::none;
  row.end = clock_.convert_end(c, r.end);
  row.direction = checked<trace::direction>(r.direction);
  row.source_kind = checked<memory_kind>(r.source_kind);
  row.destination_kind = checked<memory_kind>(r.destination_kind);
  row.bytes = r.bytes;
  row.source_address = r.source;
  row.destination_address = r.destination;
  row.device = names_.device(names, r.device);
  row.peer = names_.device(names, r.peer);
  row.context = names_.context(names, stream_context(r.stream));
  row.stream = names_.stream(names, r.stream);
  row.correlation = r.correlation;
  row.graph_node = r.graph_node;
  row.asynchronous = (c.flags & ring::flag_asynchronous) != 0;
  row.channel = r.channel;
  row.copies = std::max<std::uint32_t>(r.copies, 1);
  c.process.work.add_work(row, now_);
}

void work_handler::handle_copy_parts(const record_context& c, const record_view& record) {
  const auto r = decode<ring::copy_parts_record>(record);
  std::vector<work_joiner::copy_part> parts;
  parts.reserve(count_groups_after<ring::copy_parts_record, 3>(record, r.count));
  for_each_group_after<ring::copy_parts_record, 3>(record, r.count, [&](const auto& words) {
    parts.push_back({.source = words[0], .destination = words[1], .bytes = words[2]});
  });
  if (!parts.empty()) c.process.work.add_parts(r.correlation, r.total, r.first, parts);
}

void work_handler::handle_memset(const record_context& c, const ring::memset_record& r) {
  process_names& names = c.process.names;
  auto row = new_row<memset_event>(c);
  row.thread = thread_id::none;
  row.end = clock_.convert_end(c, r.end);
  row.kind = checked<memory_kind>(r.kind);
  row.bytes = r.bytes;
  row.address = r.address;
  row.value = r.value;
  row.device = names_.device(names, r.device);
  row.context = names_.context(names, stream_context(r.stream));
  row.stream = names_.stream(names, r.stream);
  row.correlation = r.correlation;
  row.graph_node = r.graph_node;
  c.process.work.add_work(row, now_);
}

inline void work_handler::fill_kernel(kernel_event& row, const record_context& c, const ring::kernel_record& r) {
  process_names& names = c.process.names;
  fill(row, c);
  row.thread = thread_id::none;
  row.end = clock_.convert_end(c, r.end);
  row.name = names_.text(r.name);
  row.device = names_.device(names, r.device);
  row.context = names_.context(names, stream_context(r.stream));
  row.stream = names_.stream(names, r.stream);
  row.correlation = r.correlation;
  row.graph_node = r.graph_node;
  row.grid_x = r.grid[0], row.grid_y = r.grid[1], row.grid_z = r.grid[2];
  row.block_x = r.block[0], row.block_y = r.block[1], row.block_z = r.block[2];
  row.registers = r.registers;
  row.static_shared = r.static_shared;
  row.dynamic_shared = r.dynamic_shared;
}

/// A kernel whose call is known is filled in where it is stored, because kernels are frequent.
void work_handler::handle_kernel(const record_context& c, const ring::kernel_record& r) {
  const work_joiner::call* const call = r.correlation == 0 ? nullptr : c.process.work.find_call(r.correlation);
  if (r.correlation == 0 || call != nullptr) {
    auto& row = file_.start<kernel_event>();
    fill_kernel(row, c, r);
    if (call != nullptr) work_joiner::join(row, *call);
    return;
  }
  kernel_event row;
  fill_kernel(row, c, r);
  c.process.work.add_work(row, now_);
}

void work_handler::handle_migration(const record_context& c, const ring::migration_record& r) {
  auto row = new_row<migration_event>(c);
  row.thread = thread_id::none;
  row.end = clock_.convert_end(c, r.end);
  row.direction = checked<trace::direction>(r.direction);
  row.bytes = r.bytes;
  row.address = r.address;
  row.device = names_.device(c.process.names, r.device);
  row.cause = checked<migration_cause>(r.cause);
  file_.add(row);
}

void work_handler::handle_watermark(const record_context& c, const ring::watermark_record&) {
  auto row = new_row<watermark_event>(c);
  row.complete_until = c.time;
  c.process.work.add_watermark(row);
}

// ------------------------------------------------------------------------------------------------------- CUDA events

void work_handler::handle_event_record(const record_context& c, const ring::event_edge_record& r) {
  process_names& names = c.process.names;
  auto row = new_row<event_record_event>(c);
  row.handle = r.event;
  row.stream = names_.stream(names, r.stream);
  const auto id = static_cast<event_id>(file_.add(row));
  const bool kept = names.event_records.contains(r.event) || names_.budget().take(declared::event, 64);
  if (kept) names.event_records[r.event] = id;
}

void work_handler::handle_event_wait(const record_context& c, const ring::event_edge_record& r) {
  process_names& names = c.process.names;
  auto row = new_row<event_wait_event>(c);
  row.handle = r.event;
  row.stream = names_.stream(names, r.stream);
  const auto record = names.event_records.find(r.event);
  if (record != names.event_records.end()) row.record = record->second;
  file_.add(row);
}

}  // namespace sluice::writer
