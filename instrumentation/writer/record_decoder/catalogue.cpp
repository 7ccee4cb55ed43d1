#include "instrumentation/writer/record_decoder/catalogue.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <string>

#include "instrumentation/ring/producer_state.hpp"

namespace sluice::writer {

using namespace trace;

namespace {
/// Memory per name besides its characters: entries in the file's table and in the key table, both half full.
constexpr std::size_t a_name = 160;
}  // namespace

bool catalogue::define_text(std::uint64_t key, std::string_view text) {
  if (texts_.contains(key)) return true;
  if (key == 0 || ring::detail::hash_text(text.data(), text.size()) != key) return false;
  if (!budget_.take(declared::name, text.size() + a_name)) {
    leave_names_out();
    return false;
  }
  texts_.put(key, file_.intern(text));
  return true;
}

void catalogue::leave_names_out() {
  if (other_names_ == string_id::none) other_names_ = file_.intern("(other names)");
}

string_id catalogue::bounded_name(std::string_view name) {
  if (name.empty() || budget_.take(declared::name, name.size() + a_name)) return file_.intern(name);
  leave_names_out();
  return other_names_;
}

bool catalogue::define_pool_stream(const ring::pool_stream_record& pool_stream) {
  if (pool_streams_.contains(pool_stream.key)) return true;
  if (pool_stream.key == 0 || ring::detail::pool_stream_key(pool_stream) != pool_stream.key) return false;
  if (!budget_.take(declared::pool_stream, 4 * sizeof pool_stream)) return false;
  pool_streams_.put(pool_stream.key, pool_stream);
  return true;
}

host_id catalogue::host(std::string_view name, std::string_view boot_id) {
  const std::pair key{file_.intern(name), file_.intern(boot_id)};
  const auto [place, fresh] = hosts_.try_emplace(key);
  if (fresh) {
    place->second = next_id<host_id>(last_host_);
    utsname system{};
    std::string description;
    if (uname(&system) == 0) description = std::string(system.sysname) + " " + system.release + " " + system.machine;
    file_.add(host_row{place->second, key.first, key.second, file_.intern(description)});
  }
  return place->second;
}

void catalogue::add_process(process_names& process, const producer_identity& identity, std::uint64_t pid,
                            process_id parent, time_ns begin) {
  process.id = next_id<process_id>(last_process_);
  process.row.id = process.id;
  process.row.pid = pid != 0 ? pid : identity.pid;
  process.row.parent = parent;
  process.row.begin = begin;
  identify(process, identity);
}

void catalogue::identify(process_names& process, const producer_identity& identity) {
  process.row.host = host(identity.host, identity.boot_id);
  process.row.container_pid = identity.pid != process.row.pid ? identity.pid : 0;
  process.row.rank = identity.rank;
  process.row.command = file_.intern(identity.command);
  file_.add(process.row);
}

thread_id catalogue::thread(process_names& process, std::uint64_t tid, std::string_view name) {
  if (!has_place(process.threads, tid, declared::thread)) return thread_id::none;
  const auto [place, fresh] = process.threads.try_emplace(tid);
  thread_row& row = place->second;
  const bool keep = !fresh && process.named_threads.contains(tid);
  const string_id name_id = keep ? row.name : bounded_name(name);
  if (fresh || row.name != name_id) {
    if (fresh) row.id = next_id<thread_id>(last_thread_);
    row.process = process.id;
    row.tid = tid;
    row.name = name_id;
    file_.add(row);
  }
  return row.id;
}

void catalogue::name_thread(process_names& process, std::uint64_t tid, std::uint64_t name) {
  const string_id name_id = text(name);
  if (name_id == string_id::none) return;
  if (thread(process, tid, {}) == thread_id::none) return;
  trace::thread_row& row = process.threads[tid];
  row.name = name_id;
  file_.add(row);
  process.named_threads.insert(tid);
}

// ----------------------------------------------------------------------------------------------------------- devices

void catalogue::define(process_names& process, const ring::device_record& record) {
  if (!has_place(process.devices, record.device, declared::device)) return;
  const bool nameless = record.uuid_high == 0 && record.uuid_low == 0;
  const auto known = process.devices.find(record.device);
  device_id id = known == process.devices.end() ? device_id::none : known->second;
  if (!nameless) {
    const auto [place, fresh] = devices_by_uuid_.try_emplace({record.uuid_high, record.uuid_low}, id);
    if (fresh && place->second == device_id::none) place->second = next_id<device_id>(last_device_);
    id = place->second;
  }
  if (id == device_id::none) id = next_id<device_id>(last_device_);
  process.devices[record.device] = id;

  device_row row;
  row.id = id;
  row.uuid_high = record.uuid_high;
  row.uuid_low = record.uuid_low;
  row.name = text(record.name);
  row.kind = checked<device_kind>(record.kind);
  row.ordinal = record.device;
  row.memory_bytes = record.memory_bytes;
  row.link_generation = record.link_generation;
  row.link_width = record.link_width;
  row.link_peak = record.link_peak;
  row.attainable_h2d = record.attainable_h2d;
  row.attainable_d2h = record.attainable_d2h;
  row.peer_peak = record.peer_peak;
  row.compute_major = record.compute_major;
  row.compute_minor = record.compute_minor;
  if (!nameless && row.kind == device_kind::cuda) {
    trace::device_row& known_row = gpus_[{record.uuid_high, record.uuid_low}];
    // Only some processes know the links to other GPUs.
    row.peer_peak = std::max(row.peer_peak, known_row.peer_peak);
    known_row = row;
  }
  file_.add(row);
}

std::vector<gpu_uuid> catalogue::gpus_without_peer_peak() const {
  std::vector<gpu_uuid> found;
  for (const auto& [uuid, row] : gpus_) {
    if (row.peer_peak == 0) found.push_back(uuid);
  }
  return found;
}

void catalogue::set_peer_peak(const gpu_uuid& gpu, std::uint64_t bytes_per_second) {
  const auto found = gpus_.find(gpu);
  if (found == gpus_.end()) return;
  found->second.peer_peak = bytes_per_second;
  file_.add(found->second);
}

device_id catalogue::look_up_device(process_names& process, std::uint32_t key) {
  if (!has_place(process.devices, key, declared::device)) return device_id::none;
  const auto [place, fresh] = process.devices.try_emplace(key);
  if (fresh) {
    place->second = next_id<device_id>(last_device_);
    device_row row;
    row.id = place->second;
    row.ordinal = key;
    file_.add(row);
  }
  return place->second;
}

// ---------------------------------------------------------------------------------------------- contexts and streams

context_row& catalogue::context_row(process_names& process, std::uint32_t key) {
  return process.row_of(process.contexts, key, last_context_);
}

void catalogue::define(process_names& process, const ring::context_record& record) {
  if (!has_place(process.contexts, record.context, declared::context)) return;
  trace::context_row& row = context_row(process, record.context);
  row.device = device(process, record.device);
  row.handle = record.handle;
  file_.add(row);
  // Streams that were used before their context was declared.
  for (auto& [key, stream] : process.streams) {
    if (stream.context == row.id && stream.device != row.device) {
      stream.device = row.device;
      file_.add(stream);
    }
  }
}

void catalogue::look_up_context(process_names& process, std::uint32_t key) {
  process.last_context = key;
  process.last_context_id = context_id::none;
  if (!has_place(process.contexts, key, declared::context)) return;
  const bool known = process.contexts.contains(key);
  const trace::context_row& row = context_row(process, key);
  if (!known) file_.add(row);
  process.last_context_id = row.id;
}

void catalogue::write_stream(process_names& process, trace::stream_row& row, std::uint64_t key) {
  const auto context_key = static_cast<std::uint32_t>(key >> 32);
  row.context = context(process, context_key);
  const auto owner = process.contexts.find(context_key);
  if (owner != process.contexts.end()) row.device = owner->second.device;
  file_.add(row);
}

stream_row& catalogue::stream_row(process_names& process, std::uint64_t key) {
  trace::stream_row& row = process.row_of(process.streams, key, last_stream_);
  row.handle = key & 0xffff'ffffu;
  return row;
}

void catalogue::define(process_names& process, const ring::stream_record& record) {
  if (!has_place(process.streams, record.stream, declared::stream)) return;
  trace::stream_row* row = &stream_row(process, record.stream);
  // Already declared as a different stream: the key was reused.
  const auto introduced = introduced_streams_.find(raw(row->id));
  if (introduced != introduced_streams_.end() && introduced->second != record.handle) {
    if (!budget_.take(declared::stream, 64)) return;
    const std::uint64_t generation = row->generation + 1;
    process.streams.erase(record.stream);
    process.last_stream = 0;
    process.last_stream_id = stream_id::none;
    row = &stream_row(process, record.stream);
    row->generation = generation;
  }
  introduced_streams_[raw(row->id)] = record.handle;
  row->priority = record.priority;
  row->is_default = (record.header.flags & ring::flag_default_stream) != 0;
  row->name = text(record.name);
  write_stream(process, *row, record.stream);
}

void catalogue::look_up_stream(process_names& process, std::uint64_t key) {
  process.last_stream = key;
  process.last_stream_id = stream_id::none;
  if (!has_place(process.streams, key, declared::stream)) return;
  const bool known = process.streams.contains(key);
  trace::stream_row& row = stream_row(process, key);
  if (!known) write_stream(process, row, key);
  process.last_stream_id = row.id;
}

// --------------------------------------------------------------------------------------- pools, counters and graphs

pool_row& catalogue::pool_row(process_names& process, std::uint64_t key) {
  trace::pool_row& row = process.row_of(process.pools, key, last_pool_);
  row.handle = key;
  return row;
}

void catalogue::define(process_names& process, const ring::pool_record& record) {
  if (!has_place(process.pools, record.pool, declared::pool)) return;
  trace::pool_row& row = pool_row(process, record.pool);
  row.device = device(process, record.device);
  row.layer = checked<layer>(record.layer);
  row.kind = checked<memory_kind>(record.kind);
  row.name = text(record.name);
  file_.add(row);
}

pool_id catalogue::look_up_pool(process_names& process, std::uint64_t key) {
  return look_up(process.pools, key, declared::pool,
                 [&]() -> const trace::pool_row& { return pool_row(process, key); });
}

std::unordered_set<pool_id> catalogue::pools_of_program(const process_names& process) {
  std::unordered_set<pool_id> found;
  for (const auto& [key, row] : process.pools) {
    if (row.layer == layer::pool) found.insert(row.id);
  }
  return found;
}

counter_row& catalogue::counter_row(process_names& process, std::uint64_t key) {
  return process.row_of(process.counters, key, last_counter_);
}

void catalogue::define(process_names& process, const ring::counter_record& record) {
  if (!has_place(process.counters, record.counter, declared::counter)) return;
  trace::counter_row& row = counter_row(process, record.counter);
  row.device = device(process, record.device);
  row.unit = checked<counter_unit>(record.unit);
  row.name = text(record.name);
  file_.add(row);
}

counter_id catalogue::counter(process_names& process, std::uint64_t key) {
  return look_up(process.counters, key, declared::counter,
                 [&]() -> const trace::counter_row& { return counter_row(process, key); });
}

void catalogue::define(process_names& process, const ring::mode_record& record) {
  process.row.mode = checked<recording_mode>(record.mode);
  file_.add(process.row);
}

}  // namespace sluice::writer
