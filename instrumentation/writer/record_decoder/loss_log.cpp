#include "instrumentation/writer/record_decoder/loss_log.hpp"

#include <algorithm>
#include <utility>

#include "instrumentation/writer/record_decoder/messages.hpp"

namespace sluice::writer {

using namespace trace;

void loss_log::add(recorded_process& process, loss_event loss, std::uint32_t copy, ring::layer_bits layers) {
  loss.process = process.names.id;
  file_.add(loss);
  events_ += loss.events;
  memory_events_ += loss.memory_events;
  // A ring reports losses late (when it has space again, or at its end): the live set may already have arrived.
  const bool doubtful =
      loss.memory_events != 0 && process.doubts.add(copy, layers != 0 ? layers : ring::all_layers, loss.end);
  if (doubtful) checkpoints_.request(loss.end);
}

// ------------------------------------------------------------------------------------------------------------- rings

void loss_log::count_reported(ring_source& ring, const record_view& record) {
  if ((record.flags & ring::flag_of_ring) == 0) return;
  const auto r = decode<ring::loss_record>(record);
  ring.reported_losses += r.events;
  ring.reported_memory_losses += r.memory_events;
}

void loss_log::add_unreported(ring_source& ring, const ring_reader::losses& lost) {
  if (lost.events <= ring.reported_losses) return;
  loss_event loss;
  loss.time = clock_.convert(ring.clock, 0, lost.first);
  loss.end = std::max(loss.time, clock_.convert(ring.clock, 0, lost.last));
  loss.events = lost.events - ring.reported_losses;
  loss.memory_events = lost.memory_events - std::min(lost.memory_events, ring.reported_memory_losses);
  loss.thread = ring.thread;
  ring.reported_losses = lost.events;
  ring.reported_memory_losses = lost.memory_events;
  add(*ring.process, loss, ring.copy, lost.layers);
}

void loss_log::add_ringless(ring_source& ring, const ring_reader::losses& lost) {
  const time_ns since = std::exchange(ring.ringless_looked, clock_.now());
  if (lost.ringless_events <= ring.ringless_losses) return;
  loss_event loss;
  loss.time = std::min(since, clock_.now());
  loss.end = clock_.now();
  loss.events = lost.ringless_events - ring.ringless_losses;
  loss.memory_events = lost.ringless_memory_events - std::min(lost.ringless_memory_events, ring.ringless_memory_losses);
  ring.ringless_losses = lost.ringless_events;
  ring.ringless_memory_losses = std::max(ring.ringless_memory_losses, lost.ringless_memory_events);
  add(*ring.process, loss, ring.copy, ring::all_layers);
}

void loss_log::add_ringless(recorded_process& process, std::uint64_t events, std::uint64_t memory_events) {
  if (events == 0) return;
  loss_event loss;
  loss.time = process.names.row.begin == unknown_time ? 0 : process.names.row.begin;
  loss.end = std::max(loss.time, clock_.now());
  loss.events = events;
  loss.memory_events = memory_events;
  add(process, loss, 0, ring::all_layers);
}

void loss_log::add_broken(ring_source& ring) {
  ring.broken = true;
  write_message(file_, clock_.now(), severity::warning,
                "a ring contains invalid records: later events of its thread are lost");
  loss_event loss;
  loss.time = loss.end = clock_.now();
  loss.events = loss.memory_events = 1;  // At least one.
  add(*ring.process, loss, ring.copy, ring::all_layers);
}

void loss_log::count_dropped(const dropped_rows& lost) {
  events_ += lost.own().events;
  memory_events_ += lost.own().memory_events;
}

// ---------------------------------------------------------------------------------------------- unknown pool_streams

void loss_log::add_streamless(const record_context& c) {
  loss_event& loss = c.process.streamless[c.copy];
  if (loss.events++ == 0) loss.time = c.time;
  loss.end = c.time;
  streamless_ = true;
}

/// These blocks are in the pool layer, and each copy repairs its own pools.
void loss_log::write_all_streamless() {
  streamless_ = false;
  for (const auto& process : processes_) {
    for (auto& [copy, loss] : std::exchange(process->streamless, {})) {
      loss.memory_events = loss.events;
      add(*process, loss, copy, ring::layer_bit(layer::pool));
    }
  }
  if (std::exchange(streamless_reported_, true)) return;
  write_message(file_, clock_.now(), severity::warning,
                "a process reported blocks in pools and streams that it never introduced: they are counted as lost");
}

}  // namespace sluice::writer
