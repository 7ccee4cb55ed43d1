#include "core/import/rocm/rows.hpp"

#include <algorithm>

#include "core/import/work_rows.hpp"

namespace sluice::importing::rocm {
namespace {

/// The longest possible recording, in ns.
constexpr std::int64_t longest_ns = std::int64_t{366} * 24 * 3600 * 1'000'000'000;
constexpr std::int64_t max_bytes = std::int64_t{1} << 50;

}  // namespace

bool rows::is_plausible(const row_origin& at, const char* subject) {
  const bool good =
      at.begin >= begin_ && at.end >= at.begin && at.begin - begin_ <= longest_ns && at.end - at.begin <= longest_ns;
  if (!good) work_.not_understood(std::string(subject) + " with an impossible time");
  return good;
}

trace::process_id rows::process(std::int64_t pid) {
  const auto [known, fresh] = processes_.try_emplace(pid);
  if (fresh) {
    known->second.id = static_cast<trace::process_id>(processes_.size());
    known->second.pid = static_cast<std::uint64_t>(std::max<std::int64_t>(pid, 0));
    work_.out().add(known->second);
  }
  return known->second.id;
}

void rows::name_process(std::int64_t pid, std::string_view command) {
  static_cast<void>(process(pid));
  processes_[pid].command = work_.out().intern(command);
}

rows::thread_place rows::thread(std::int64_t pid, std::int64_t tid) {
  const trace::process_id owner = process(pid);
  const auto [known, fresh] = threads_.try_emplace({pid, tid});
  if (fresh) {
    known->second = static_cast<trace::thread_id>(threads_.size());
    trace::thread_row row;
    row.id = known->second;
    row.process = owner;
    row.tid = static_cast<std::uint64_t>(std::max<std::int64_t>(tid, 0));
    work_.out().add(row);
  }
  return {owner, known->second};
}

void rows::add_agent(const agent_key& key, bool is_gpu, std::int64_t ordinal, std::string_view name,
                     std::uint64_t memory) {
  agent& output = agents_[key];
  output.is_gpu = is_gpu;
  if (!is_gpu || output.device != trace::device_id::none) return;
  const auto gpus = std::count_if(agents_.begin(), agents_.end(), [](const auto& each) { return each.second.is_gpu; });
  output.device = static_cast<trace::device_id>(gpus);
  trace::device_row row;
  row.id = output.device;
  row.kind = trace::device_kind::cuda;
  row.ordinal = ordinal;
  row.memory_bytes = memory;
  row.name = work_.out().intern(name);
  work_.out().add(row);
}

const rows::agent* rows::find_agent(const agent_key& key) const {
  const auto known = agents_.find(key);
  return known == agents_.end() ? nullptr : &known->second;
}

/// Returns the device that does the work. It is a GPU, even if the file does not describe it.
trace::device_id rows::device(const agent_key& key) {
  if (const agent* known = find_agent(key)) return known->device;
  if (key.id < 0) return {};
  add_agent(key, true, key.id, {}, 0);
  return agents_[key].device;
}

trace::stream_id rows::stream(trace::process_id process, trace::device_id device, std::int64_t queue) {
  if (queue < 0 || device == trace::device_id::none) return {};
  const auto [known, fresh] = streams_.try_emplace({device, queue});
  if (fresh) {
    known->second = static_cast<trace::stream_id>(streams_.size());
    trace::stream_row row;
    row.id = known->second;
    row.process = process;
    row.device = device;
    row.handle = static_cast<std::uint64_t>(queue);
    work_.out().add(row);
  }
  return known->second;
}

template <class Row>
void rows::begin_work(Row& row, const row_origin& at, trace::device_id device) {
  row.time = at.begin - begin_;
  row.end = at.end - begin_;
  row.process = process(at.pid);
  row.device = device;
  row.stream = stream(row.process, device, at.queue);
  row.correlation = at.correlation;
  if (const call_table::call* by = calls_.find(at.correlation)) {
    row.call = by->id;
    row.process = by->find_process();
    row.thread = by->get_thread();
    row.enqueued = by->begin;
    if constexpr (requires { row.asynchronous; }) row.asynchronous = by->asynchronous != 0;
  }
}

void rows::add_kernel(const row_origin& at, const kernel& about) {
  if (!is_plausible(at, "kernels")) return;
  const agent_key unnamed{at.agent.set, -2};
  if (at.agent.id < 0) add_agent(unnamed, true, 0, "unnamed GPU", 0);
  trace::kernel_event kernel_row;
  begin_work(kernel_row, at, device(at.agent.id < 0 ? unnamed : at.agent));
  kernel_row.name = work_.out().intern(about.name.empty() ? std::string_view("(unnamed kernel)") : about.name);
  set_shape(kernel_row, about.grid, about.block);
  kernel_row.static_shared = about.shared;
  overruns_.add(kernel_row);
  work_.out().add(kernel_row);
  work_.read("kernels");
}

void rows::add_copy(const row_origin& at, const copy& about) {
  if (!is_plausible(at, "copies")) return;
  trace::transfer_event row;
  const agent* const source = find_agent(about.source);
  const agent* const to = find_agent(about.destination);
  const bool to_gpu = to != nullptr && to->is_gpu, from_gpu = source != nullptr && source->is_gpu;
  read_copy_name(about.name, row);
  if (source != nullptr && to != nullptr) {
    row.direction = from_gpu && to_gpu ? source == to ? trace::direction::d2d : trace::direction::p2p
                    : to_gpu           ? trace::direction::h2d
                    : from_gpu         ? trace::direction::d2h
                                       : trace::direction::h2h;
  }
  const trace::device_id worker = to_gpu ? to->device : from_gpu ? source->device : device(at.agent);
  begin_work(row, at, worker);
  if (row.direction == trace::direction::p2p) row.peer = source->device;
  fill_device_sides(row);  // The file does not show whether host memory is pinned.
  row.source_address = about.source_address;
  row.destination_address = about.destination_address;
  if (about.bytes < 0 || about.bytes > max_bytes) {
    work_.not_understood(unknown_size_words);
  } else {
    row.bytes = static_cast<std::uint64_t>(about.bytes);
  }
  work_.out().add(row);
  work_.read("copies");
}

void rows::add_memset(const row_origin& at, std::uint64_t bytes) {
  if (!is_plausible(at, "memsets")) return;
  trace::memset_event row;
  begin_work(row, at, device(at.agent));
  row.kind = trace::memory_kind::device;
  row.bytes = bytes;
  if (bytes == 0) work_.not_understood(unknown_size_words);
  work_.out().add(row);
  work_.read("memsets");
}

void rows::allocate(const row_origin& at, std::uint64_t address, std::uint64_t bytes, trace::memory_kind kind,
                    std::string_view name) {
  if (!is_plausible(at, "allocations")) return;
  if (bytes > static_cast<std::uint64_t>(max_bytes)) {
    work_.not_understood("allocations with an impossible size");
    return;
  }
  const thread_place where = thread(at.pid, at.tid);
  trace::alloc_event allocation;
  allocation.time = order_.allocation(at.end - begin_);
  allocation.call_begin = at.begin - begin_;
  allocation.process = where.process;
  allocation.thread = where.thread;
  allocation.block = static_cast<trace::block_id>(++blocks_);
  allocation.layer = trace::layer::driver;
  const agent* const owner = find_agent(at.agent);
  // The file does not show whether host memory is pinned.
  allocation.kind = owner != nullptr && !owner->is_gpu ? trace::memory_kind::unknown : kind;
  allocation.device = owner == nullptr ? device(at.agent) : owner->device;
  allocation.address = address;
  allocation.bytes = bytes;
  allocation.correlation = at.correlation;
  allocation.name = work_.out().intern(name);
  work_.out().add(allocation);
  work_.read("allocations");
  const auto [known, fresh] = live_.try_emplace({at.pid, address}, block{allocation.block, allocation.device});
  if (fresh) return;
  work_.not_understood("allocations at an address whose previous free is not in the file and was inferred");
  trace::free_event gone = get_end(known->second, where.process, address);
  gone.time = allocation.time;
  gone.source = trace::provenance::inferred;
  work_.out().add(gone);
  known->second = {allocation.block, allocation.device};
}

trace::free_event rows::get_end(const block& which, trace::process_id process, std::uint64_t address) {
  trace::free_event gone;
  gone.process = process;
  gone.layer = trace::layer::driver;
  gone.block = which.id;
  gone.address = address;
  return gone;
}

void rows::release(const row_origin& at, std::uint64_t address) {
  if (!is_plausible(at, "frees")) return;
  const auto known = live_.find({at.pid, address});
  if (known == live_.end()) {
    // Frees of null and of memory from before the recording have no size.
    work_.not_understood("frees without an allocation in the file");
    return;
  }
  const thread_place where = thread(at.pid, at.tid);
  trace::free_event gone = get_end(known->second, where.process, address);
  gone.time = order_.free(at.begin - begin_);
  gone.completed = std::max(at.end - begin_, gone.time);
  gone.thread = where.thread;
  gone.correlation = at.correlation;
  work_.out().add(gone);
  live_.erase(known);
  work_.read("frees");
}

template <class Row>
Row rows::begin_interval(const row_origin& at, std::string_view name) {
  const thread_place where = thread(at.pid, at.tid);
  Row row;
  row.time = at.begin - begin_;
  row.end = at.end - begin_;
  row.process = where.process;
  row.thread = where.thread;
  row.name = work_.out().intern(name);
  return row;
}

void rows::add_call(const row_origin& at, std::string_view name) {
  if (!is_plausible(at, "calls")) return;
  auto row = begin_interval<trace::api_call_event>(at, name);
  row.correlation = at.correlation;
  call_table::call call;
  call.id = static_cast<trace::event_id>(work_.out().add(row));
  call.begin = row.time;
  call.thread = static_cast<std::uint32_t>(raw(row.thread));
  call.process = static_cast<std::uint32_t>(raw(row.process)) & 0x7fff'ffffU;
  call.asynchronous = name.find("Async") != std::string_view::npos ? 1 : 0;
  calls_.put(at.correlation, call);
  work_.read("calls");
}

void rows::add_range(const row_origin& at, std::string_view name, std::string_view domain) {
  if (!is_plausible(at, "ranges")) return;
  auto row = begin_interval<trace::host_range_event>(at, name);
  row.domain = work_.out().intern(domain);
  work_.out().add(row);
  work_.read("ranges");
}

void rows::finish() {
  for (const auto& [pid, row] : processes_) work_.out().add(row);
  if (overruns_.found() != 0) work_.not_understood(kernel_overruns::words, overruns_.found());
}

}  // namespace sluice::importing::rocm
