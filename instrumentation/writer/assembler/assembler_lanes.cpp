// What is told of blocks in short, by the lanes that they belong to.
#include <utility>

#include "instrumentation/writer/assembler/assembler.hpp"

namespace sluice::collector {

using namespace trace;

/// What a record leaves to its lane; null, and counted as lost, if nobody introduced that.
const lane_record* assembler::lane_of(const context& c, std::uint64_t key) {
  const lane_record* const found = names_.lane(key);
  if (found != nullptr) [[likely]]
    return found;
  loss_event& loss = c.process.laneless[c.copy];
  if (loss.events++ == 0) loss.time = c.time;
  loss.end = c.time;
  laneless_ = true;
  return nullptr;
}

void assembler::on(const context& c, const lane_alloc_record& r) {
  const lane_record* const lane = lane_of(c, r.lane);
  if (lane == nullptr) return;
  alloc_record whole{};
  whole.header = r.header;
  whole.address = r.address;
  whole.bytes = r.bytes;
  whole.reserved_bytes = r.reserved_bytes;
  whole.call_begin = r.header.time;
  whole.pool = lane->pool;
  whole.stream = lane->stream;
  whole.name = r.name != 0 ? r.name : lane->name;
  whole.parent = r.parent;
  whole.device = lane->device;
  whole.context = lane->context;
  whole.level = lane->level;
  whole.kind = lane->kind;
  on(c, whole);
}

void assembler::on(const context& c, const lane_free_record& r) {
  const lane_record* const lane = lane_of(c, r.lane);
  if (lane == nullptr) return;
  free_record whole{};
  whole.header = r.header;
  whole.address = r.address;
  whole.stream = lane->stream;
  whole.level = lane->level;
  whole.kind = lane->kind;
  on(c, whole);
}

/// Once a turn and copy at most, whatever a process says. Lanes are of pools, and each copy tells what its own hold.
void assembler::report_laneless() {
  laneless_ = false;
  for (const auto& process : processes_) {
    for (auto& [copy, loss] : std::exchange(process->laneless, {})) {
      loss.memory_events = loss.events;
      add_loss(*process, loss, copy, layer_bit(layer::pool));
    }
  }
  if (std::exchange(laneless_reported_, true)) return;
  add_message(severity::warning,
              "a process told of blocks in lanes that it never introduced: they are counted as lost");
}

}  // namespace sluice::collector
