#include "core/export/perfetto/perfetto_packets.hpp"

#include <protozero/pbf_writer.hpp>

namespace sluice::exports {
namespace {

using protozero::pbf_writer;

constexpr std::uint32_t sequence = 1;
constexpr std::size_t max_names = std::size_t{1} << 18;

// These are the field numbers of the protocol buffers.
constexpr std::uint32_t trace_packet = 1;
namespace packet {
enum : std::uint32_t {
  clock_snapshot = 6,
  timestamp = 8,
  sequence_id = 10,
  track_event = 11,
  interned_data = 12,
  sequence_flags = 13,
  track_descriptor = 60
};
}
namespace descriptor {
enum : std::uint32_t { uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8 };
}
namespace track_event {
enum : std::uint32_t {
  category_iids = 3,
  debug_annotations = 4,
  legacy_event = 6,
  type = 9,
  name_iid = 10,
  track_uuid = 11,
  counter_value = 30,
  double_counter_value = 44,
  flow_ids = 47,
  terminating_flow_ids = 48
};
}
namespace legacy_event {
enum : std::uint32_t { bind_id = 8, flow_direction = 13 };
enum direction : std::uint8_t { into = 1, out_of = 2 };
}  // namespace legacy_event
enum event_type : std::uint32_t { slice_begin = 1, slice_end = 2, instant_event = 3, counter_event = 4 };
constexpr std::uint32_t incremental_state_cleared = 1, needs_incremental_state = 2;
constexpr std::uint32_t realtime = 1, boottime = 6;

void add_string(pbf_writer& to, std::uint32_t field, std::string_view text) {
  to.add_string(field, text.data(), text.size());
}

}  // namespace

void perfetto_packets::write_packet(std::string_view text) {
  if (!outcome_) return;
  framed_.clear();
  pbf_writer trace(framed_);
  trace.add_message(trace_packet, text.data(), text.size());
  outcome_ = to_.write(framed_);
}

void perfetto_packets::clocks(std::uint64_t boot, std::uint64_t real) {
  packet_.clear();
  pbf_writer out(packet_);
  out.add_uint64(packet::timestamp, boot);
  out.add_uint32(packet::sequence_id, sequence);
  pbf_writer snapshot(out, packet::clock_snapshot);
  const auto clock = [&](std::uint32_t id, std::uint64_t time) {
    pbf_writer one(snapshot, 1);
    one.add_uint32(1, id);
    one.add_uint64(2, time);
  };
  clock(boottime, boot);
  if (real != 0) clock(realtime, real);
  snapshot.add_enum(2, static_cast<int>(boottime));
  snapshot.commit();
  write_packet(packet_);
}

template <class Describe>
void perfetto_packets::write_track(std::uint64_t track, Describe&& describe) {
  packet_.clear();
  pbf_writer out(packet_);
  {
    pbf_writer about(out, packet::track_descriptor);
    about.add_uint64(descriptor::uuid, track);
    describe(about);
  }
  write_packet(packet_);
}

void perfetto_packets::process_track(std::uint64_t track, std::int32_t pid, std::string_view name) {
  write_track(track, [&](pbf_writer& about) {
    pbf_writer process(about, descriptor::process);
    process.add_int32(1, pid);
    add_string(process, 6, name);
  });
}

void perfetto_packets::thread_track(std::uint64_t track, std::uint64_t parent, std::int32_t pid, std::int32_t tid,
                                    std::string_view name) {
  write_track(track, [&](pbf_writer& about) {
    about.add_uint64(descriptor::parent, parent);
    pbf_writer thread(about, descriptor::thread);
    thread.add_int32(1, pid);
    thread.add_int32(2, tid);
    add_string(thread, 5, name);
  });
}

void perfetto_packets::plain_track(std::uint64_t track, std::uint64_t parent, std::string_view name) {
  write_track(track, [&](pbf_writer& about) {
    add_string(about, descriptor::name, name);
    if (parent != 0) about.add_uint64(descriptor::parent, parent);
  });
}

void perfetto_packets::counter_track(std::uint64_t track, std::uint64_t parent, std::string_view name,
                                     perfetto_unit unit) {
  write_track(track, [&](pbf_writer& about) {
    add_string(about, descriptor::name, name);
    if (parent != 0) about.add_uint64(descriptor::parent, parent);
    pbf_writer counter(about, descriptor::counter);
    counter.add_enum(3, static_cast<int>(unit));
  });
}

std::uint64_t perfetto_packets::intern(names& subject, std::string_view text, std::string& fresh) {
  const auto [known, is_fresh] = subject.known.try_emplace(std::string(text), subject.known.size() + 1);
  if (is_fresh) {
    pbf_writer data(fresh);
    pbf_writer name(data, subject.field);
    name.add_uint64(1, known->second);
    add_string(name, 2, text);
  }
  return known->second;
}

void perfetto_packets::forget_names_if_many() {
  if (categories_.known.size() + events_.known.size() + metrics_.known.size() < max_names) return;
  categories_.known.clear();
  events_.known.clear();
  metrics_.known.clear();
  cleared_ = true;
}

void perfetto_packets::write_event(const event& row, std::uint32_t type) {
  forget_names_if_many();
  event_.clear();
  fresh_.clear();
  {
    pbf_writer out(event_);
    out.add_enum(track_event::type, static_cast<int>(type));
    out.add_uint64(track_event::track_uuid, row.track);
    if (!row.category.empty()) out.add_uint64(track_event::category_iids, intern(categories_, row.category, fresh_));
    out.add_uint64(track_event::name_iid, intern(events_, row.name.empty() ? "(no name)" : row.name, fresh_));
    for (const std::uint64_t flow : row.flows) out.add_fixed64(track_event::flow_ids, flow);
    for (const std::uint64_t flow : row.flow_ends) out.add_fixed64(track_event::terminating_flow_ids, flow);
    if (row.call != 0 || row.requested_by != 0) {
      // A terminating flow ends at its first end, but a call may have much work. A graph launch, for example, has all
      // work of the graph.
      pbf_writer arrow(out, track_event::legacy_event);
      arrow.add_uint64(legacy_event::bind_id, row.call != 0 ? row.call : row.requested_by);
      arrow.add_enum(legacy_event::flow_direction, row.call != 0 ? legacy_event::out_of : legacy_event::into);
    }
    for (const perfetto_metric& metric : row.metrics) {
      const std::uint64_t name = intern(metrics_, metric.name, fresh_);
      pbf_writer annotation(out, track_event::debug_annotations);
      annotation.add_uint64(1, name);
      annotation.add_uint64(3, metric.value);
    }
  }
  packet_.clear();
  pbf_writer out(packet_);
  out.add_uint64(packet::timestamp, row.time);
  out.add_uint32(packet::sequence_id, sequence);
  out.add_uint32(packet::sequence_flags, needs_incremental_state | (cleared_ ? incremental_state_cleared : 0));
  cleared_ = false;
  if (!fresh_.empty()) out.add_message(packet::interned_data, fresh_);
  out.add_message(packet::track_event, event_);
  write_packet(packet_);
}

void perfetto_packets::begin_slice(const event& row) { write_event(row, slice_begin); }
void perfetto_packets::instant(const event& row) { write_event(row, instant_event); }

namespace {

/// Writes an event without a name, which needs no interned names.
template <class Fill>
std::string_view bare_event(std::string& into, std::uint64_t track, std::uint64_t time, std::uint32_t type,
                            Fill&& fill) {
  into.clear();
  pbf_writer out(into);
  out.add_uint64(packet::timestamp, time);
  out.add_uint32(packet::sequence_id, sequence);
  pbf_writer event(out, packet::track_event);
  event.add_enum(track_event::type, static_cast<int>(type));
  event.add_uint64(track_event::track_uuid, track);
  fill(event);
  event.commit();
  return into;
}

}  // namespace

void perfetto_packets::end_slice(std::uint64_t track, std::uint64_t time) {
  write_packet(bare_event(packet_, track, time, slice_end, [](pbf_writer&) {}));
}

void perfetto_packets::counter(std::uint64_t track, std::uint64_t time, std::int64_t value) {
  write_packet(bare_event(packet_, track, time, counter_event,
                          [&](pbf_writer& to) { to.add_int64(track_event::counter_value, value); }));
}

void perfetto_packets::counter(std::uint64_t track, std::uint64_t time, double value) {
  write_packet(bare_event(packet_, track, time, counter_event,
                          [&](pbf_writer& to) { to.add_double(track_event::double_counter_value, value); }));
}

}  // namespace sluice::exports
