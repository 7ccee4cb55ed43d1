#include "instrumentation/writer/handlers/memory_handler.hpp"

namespace sluice::writer {

using namespace trace;

bool memory_handler::handle(const record_context& c, const record_view& record) {
  switch (record.type) {
    case ring::record_type::free_completed:
      handle_free_completed(c, decode<ring::free_completed_record>(record));
      return true;
    case ring::record_type::alloc_failed:
      handle_alloc_failed(c, decode<ring::alloc_failed_record>(record));
      return true;
    case ring::record_type::pool_state:
      handle_pool_state(c, decode<ring::pool_state_record>(record));
      return true;
    case ring::record_type::share:
      handle_share(c, decode<ring::share_record>(record));
      return true;
    case ring::record_type::context_end:
      handle_context_end(c, decode<ring::context_end_record>(record));
      return true;
    default:
      return false;
  }
}

// -------------------------------------------------------------------------------------------- allocations and frees

void memory_handler::handle_alloc(const record_context& c, const ring::alloc_record& r) {
  process_names& names = c.process.names;
  auto row = new_row<alloc_event>(c);
  row.layer = checked<layer>(r.layer);
  row.kind = checked<memory_kind>(r.kind);
  row.device = names_.device(names, r.device);
  row.context = names_.context(names, r.context != 0 ? r.context : stream_context(r.stream));
  row.stream = names_.stream(names, r.stream);
  row.pool = names_.pool(names, r.pool);
  row.address = r.address;
  row.bytes = r.bytes;
  row.reserved_bytes = r.reserved_bytes;
  row.call_begin = clock_.convert_end(c, r.call_begin);
  row.correlation = r.correlation;
  row.name = names_.text(r.name);
  row.stack = stacks_.stack(c.process.stacks, r.stack);
  if ((c.flags & ring::flag_born_before) != 0) row.flags |= born_before;
  if ((c.flags & ring::flag_registered) != 0) row.flags |= registered;
  if ((c.flags & ring::flag_ipc) != 0) row.flags |= ipc_import;
  if ((c.flags & ring::flag_graph) != 0) row.flags |= graph_memory;
  failures_.add_allocation(c.thread, row.layer, row.kind, row.bytes);
  const block_ties ties{r.parent, r.owner, (c.flags & ring::flag_shared) != 0};
  if (c.process.blocks.add(row, ties, now_, blocks_.begin())) file_.start(row);
  blocks_.write();
  dumps_.notice_use(c.process);
  checkpoints_.consider(c.time);
}

void memory_handler::handle_free(const record_context& c, const ring::free_record& r) {
  free_request request;
  request.row = new_row<free_event>(c);
  request.row.layer = checked<layer>(r.layer);
  request.row.address = r.address;
  request.row.stream = names_.stream(c.process.names, r.stream);
  request.row.correlation = r.correlation;
  request.kind = checked<memory_kind>(r.kind);
  request.range = r.bytes;
  c.process.blocks.remove(request, now_, blocks_.begin());
  blocks_.write();
  dumps_.notice_use(c.process);
  checkpoints_.consider(c.time);
}

void memory_handler::handle_free_completed(const record_context& c, const ring::free_completed_record& r) {
  c.process.blocks.complete(checked<layer>(r.layer), r.address, c.time, now_, blocks_.begin());
  blocks_.write();
}

void memory_handler::handle_context_end(const record_context& c, const ring::context_end_record& r) {
  const context_id context = names_.context(c.process.names, r.context);
  c.process.blocks.end_context(context, c.time, blocks_.begin());
  blocks_.write();
}

void memory_handler::handle_alloc_failed(const record_context& c, const ring::alloc_failed_record& r) {
  process_names& names = c.process.names;
  auto row = new_row<alloc_failed_event>(c);
  row.layer = checked<layer>(r.layer);
  row.kind = checked<memory_kind>(r.kind);
  row.device = names_.device(names, r.device);
  row.stream = names_.stream(names, r.stream);
  row.pool = names_.pool(names, r.pool);
  row.bytes = r.bytes;
  row.error = r.status;
  dumps_.notice_failure(c.process);
  failures_.add_failure(c.thread, row.layer, row.kind, row.bytes);
  row.name = names_.text(r.name);
  row.stack = stacks_.stack(c.process.stacks, r.stack);
  file_.add(row);
}

// ----------------------------------------------------------------------------------------------------- short records

void memory_handler::handle_framework_alloc(const record_context& c, const ring::framework_alloc_record& r) {
  ring::alloc_record whole{};
  whole.header = r.header;
  whole.address = r.address;
  whole.bytes = r.bytes;
  whole.name = r.name;
  whole.stack = r.stack;
  whole.device = static_cast<std::uint32_t>(r.device);
  whole.layer = static_cast<std::uint8_t>(layer::framework);
  whole.kind = static_cast<std::uint8_t>(memory_kind::device);
  handle_alloc(c, whole);
}

void memory_handler::handle_framework_free(const record_context& c, const ring::framework_free_record& r) {
  ring::free_record whole{};
  whole.header = r.header;
  whole.address = r.address;
  whole.layer = static_cast<std::uint8_t>(layer::framework);
  whole.kind = static_cast<std::uint8_t>(memory_kind::device);
  handle_free(c, whole);
}

/// The pool_stream of a record. Null if it was never introduced; the record then counts as lost.
const ring::pool_stream_record* memory_handler::find_pool_stream(const record_context& c, std::uint64_t key) {
  const ring::pool_stream_record* const found = names_.pool_stream(key);
  if (found == nullptr) [[unlikely]]
    losses_.add_streamless(c);
  return found;
}

void memory_handler::handle_pool_stream_alloc(const record_context& c, const ring::pool_stream_alloc_record& r) {
  const ring::pool_stream_record* const pool_stream = find_pool_stream(c, r.pool_stream);
  if (pool_stream == nullptr) return;
  ring::alloc_record whole{};
  whole.header = r.header;
  whole.address = r.address;
  whole.bytes = r.bytes;
  whole.reserved_bytes = r.reserved_bytes;
  whole.call_begin = r.header.time;
  whole.pool = pool_stream->pool;
  whole.stream = pool_stream->stream;
  whole.name = r.name != 0 ? r.name : pool_stream->name;
  whole.parent = r.parent;
  whole.device = pool_stream->device;
  whole.context = pool_stream->context;
  whole.layer = pool_stream->layer;
  whole.kind = pool_stream->kind;
  handle_alloc(c, whole);
}

void memory_handler::handle_pool_stream_free(const record_context& c, const ring::pool_stream_free_record& r) {
  const ring::pool_stream_record* const pool_stream = find_pool_stream(c, r.pool_stream);
  if (pool_stream == nullptr) return;
  ring::free_record whole{};
  whole.header = r.header;
  whole.address = r.address;
  whole.stream = pool_stream->stream;
  whole.layer = pool_stream->layer;
  whole.kind = pool_stream->kind;
  handle_free(c, whole);
}

// ------------------------------------------------------------------------------------------------- shares and pools

/// Arrives after the record of the shared block.
void memory_handler::handle_share(const record_context& c, const ring::share_record& r) {
  process_names& names = c.process.names;
  const auto kind = static_cast<ring::shared_thing>(r.kind);
  const bool imported = r.imported != 0;
  if (kind == ring::shared_thing::pool) {
    if (imported) return shares_.imported_pool(r.key, names.id, r.object);
    return shares_.exported_pool(r.key, names_.pool(names, r.object));
  }
  const alloc_event* block = kind == ring::shared_thing::physical ? c.process.blocks.find_physical(r.object)
                                                                  : c.process.blocks.find_in_driver(r.object);
  if (block == nullptr) return;
  if (!imported) {
    return kind == ring::shared_thing::pool_block ? shares_.exported_from_pool(r.key, *block)
                                                  : shares_.exported(r.key, *block);
  }
  if ((block->flags & ipc_import) == 0) return;
  auto row = new_row<link_event>(c);
  row.from = block->id;
  if (kind == ring::shared_thing::pool_block) return shares_.imported_from_pool(r.key, names.id, r.pool, row);
  shares_.imported(r.key, row);
}

void memory_handler::handle_pool_state(const record_context& c, const ring::pool_state_record& r) {
  auto row = new_row<pool_event>(c);
  row.pool = names_.pool(c.process.names, r.pool);
  row.operation = checked<pool_operation>(r.operation);
  row.reserved = r.reserved_bytes;
  row.used = r.used_bytes;
  row.threshold = r.threshold;
  file_.add(row);
}

}  // namespace sluice::writer
