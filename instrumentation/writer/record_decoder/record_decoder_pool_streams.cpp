// Handles short block records: records of frameworks, and records that refer to pool_streams.
#include <utility>

#include "instrumentation/writer/record_decoder/record_decoder.hpp"

namespace sluice::writer {

using namespace trace;

void record_decoder::on(const context& c, const ring::framework_alloc_record& r) {
  ring::alloc_record whole{};
  whole.header = r.header;
  whole.address = r.address;
  whole.bytes = r.bytes;
  whole.name = r.name;
  whole.stack = r.stack;
  whole.device = static_cast<std::uint32_t>(r.device);
  whole.layer = static_cast<std::uint8_t>(layer::framework);
  whole.kind = static_cast<std::uint8_t>(memory_kind::device);
  on(c, whole);
}

void record_decoder::on(const context& c, const ring::framework_free_record& r) {
  ring::free_record whole{};
  whole.header = r.header;
  whole.address = r.address;
  whole.layer = static_cast<std::uint8_t>(layer::framework);
  whole.kind = static_cast<std::uint8_t>(memory_kind::device);
  on(c, whole);
}

/// The pool_stream of a record. Null if it was never introduced; the record then counts as lost.
const ring::pool_stream_record* record_decoder::pool_stream_of(const context& c, std::uint64_t key) {
  const ring::pool_stream_record* const found = names_.pool_stream(key);
  if (found != nullptr) [[likely]]
    return found;
  loss_event& loss = c.process.streamless[c.copy];
  if (loss.events++ == 0) loss.time = c.time;
  loss.end = c.time;
  streamless_ = true;
  return nullptr;
}

void record_decoder::on(const context& c, const ring::pool_stream_alloc_record& r) {
  const ring::pool_stream_record* const pool_stream = pool_stream_of(c, r.pool_stream);
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
  on(c, whole);
}

void record_decoder::on(const context& c, const ring::pool_stream_free_record& r) {
  const ring::pool_stream_record* const pool_stream = pool_stream_of(c, r.pool_stream);
  if (pool_stream == nullptr) return;
  ring::free_record whole{};
  whole.header = r.header;
  whole.address = r.address;
  whole.stream = pool_stream->stream;
  whole.layer = pool_stream->layer;
  whole.kind = pool_stream->kind;
  on(c, whole);
}

/// Reports at most one loss per turn and copy. These blocks are in the pool layer, and each copy repairs its own pools.
void record_decoder::report_streamless() {
  streamless_ = false;
  for (const auto& process : processes_) {
    for (auto& [copy, loss] : std::exchange(process->streamless, {})) {
      loss.memory_events = loss.events;
      add_loss(*process, loss, copy, ring::layer_bit(layer::pool));
    }
  }
  if (std::exchange(streamless_reported_, true)) return;
  add_message(severity::warning,
              "a process reported blocks in pools and streams that it never introduced: they are counted as lost");
}

}  // namespace sluice::writer
