#include "core/import/torch/kineto_work.hpp"

#include <algorithm>
#include <utility>

#include "core/import/unsigned_of.hpp"

namespace sluice::importing {
namespace {

/// CUPTI's words, and those of AMD's and Intel's profilers.
trace::memory_kind side_of(std::string_view word) {
  if (word == "Pageable" || word == "Host" || word == "Memory") return trace::memory_kind::host;
  if (word == "Pinned") return trace::memory_kind::pinned;
  if (word == "Device") return trace::memory_kind::device;
  if (word == "Managed" || word == "Shared") return trace::memory_kind::managed;
  if (word == "Array") return trace::memory_kind::array;
  return trace::memory_kind::unknown;
}

/// From a letter of each side: host, device, array; memory of the host's system and memory shared by both, on Intel's GPUs.
trace::direction direction_of(char from, char to) {
  const auto on_host = [](char side) { return side == 'H' || side == 'M'; };
  const auto on_device = [](char side) { return side == 'D' || side == 'A' || side == 'S'; };
  if (from == 'P' && to == 'P') return trace::direction::p2p;
  if (on_host(from) && on_host(to)) return trace::direction::h2h;
  if (on_host(from) && on_device(to)) return trace::direction::h2d;
  if (on_device(from) && on_host(to)) return trace::direction::d2h;
  return on_device(from) && on_device(to) ? trace::direction::d2d : trace::direction::unknown;
}

/// "Memcpy HtoD (Pageable -> Device)", "Memcpy M2D (Memory -> Device)", "CopyHostToDevice".
void read_copy_name(std::string_view name, trace::transfer_event& into) {
  for (const std::string_view middle : {"to", "2", "To"}) {
    for (auto at = name.find(middle); at != std::string_view::npos; at = name.find(middle, at + 1)) {
      const std::size_t behind = at + middle.size();
      const bool words = middle == "To";
      // Of words the capitals count: the last one before, which four or six letters follow.
      const std::size_t before = words ? name.find_last_of("HDP", at) : at - 1;
      if (at == 0 || behind >= name.size() || before == std::string_view::npos) continue;
      if (into.direction == trace::direction::unknown) into.direction = direction_of(name[before], name[behind]);
    }
  }
  const std::size_t open = name.find('('), arrow = name.find(" -> "), close = name.rfind(')');
  if (open == std::string_view::npos || arrow == std::string_view::npos || close == std::string_view::npos) return;
  if (open >= arrow || arrow + 4 > close) return;
  into.source_kind = side_of(name.substr(open + 1, arrow - open - 1));
  into.destination_kind = side_of(name.substr(arrow + 4, close - arrow - 4));
}

}  // namespace

void kineto_work::add_call(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                           const chrome_details& details, chrome_track& track) {
  trace::api_call_event made;
  made.time = begin;
  made.end = end;
  made.process = track.process;
  made.thread = track.thread;
  made.name = out_.intern(event.name);
  made.correlation = unsigned_of(details.correlation);
  made.id = static_cast<trace::event_id>(out_.add(made));
  track.remember({begin, end, made.id});
  if (made.correlation == 0) return;
  call_table::call call;
  call.id = made.id;
  call.begin = begin;
  call.thread = static_cast<std::uint32_t>(raw(made.thread));
  call.process = static_cast<std::uint32_t>(raw(made.process)) & 0x7fff'ffffU;
  call.asynchronous = event.name.find("Async") != std::string_view::npos ? 1 : 0;
  note_collision(made.correlation, call);
  calls_.put(made.correlation, call);
  const auto chain = waiting_for_.find(made.correlation);
  if (chain == waiting_for_.end()) return;
  for (std::uint64_t number = chain->second.first; number != 0;) {
    waiting& each = waiting_[number - first_waiting_];
    write(each.work, &call);
    each.correlation = 0;
    number = each.next;
  }
  waiting_for_.erase(chain);
  while (!waiting_.empty() && waiting_.front().correlation == 0) {
    waiting_.pop_front();
    ++first_waiting_;
  }
}

template <class Row>
void kineto_work::begin_row(Row& of, trace::time_ns begin, trace::time_ns end, const chrome_details& details) {
  of.time = begin;
  of.end = end;
  of.process = tracks_.main_process();
  const auto place = devices_.of(of.process, details.device, details.context, details.stream);
  of.device = place.device;
  of.context = place.context;
  of.stream = place.stream;
  of.correlation = unsigned_of(details.correlation);
  of.graph_node = unsigned_of(details.graph_node);
}

void kineto_work::add_kernel(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                             const chrome_details& details) {
  trace::kernel_event made;
  begin_row(made, begin, end, details);
  made.name = out_.intern(event.name);
  made.grid_x = details.grid[0];
  made.grid_y = details.grid[1];
  made.grid_z = details.grid[2];
  made.block_x = details.block[0];
  made.block_y = details.block[1];
  made.block_z = details.block[2];
  made.registers = static_cast<std::uint32_t>(std::clamp<std::int64_t>(details.registers, 0, UINT32_MAX));
  made.static_shared = unsigned_of(details.shared);  // Static and dynamic: the file has only their sum.
  overruns_.add(made);
  give(made);
}

void kineto_work::add_copy(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                           const chrome_details& details) {
  trace::transfer_event made;
  begin_row(made, begin, end, details);
  made.bytes = unsigned_of(details.bytes);
  read_copy_name(event.name, made);
  give(made);
}

void kineto_work::add_memset(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                             const chrome_details& details) {
  trace::memset_event made;
  begin_row(made, begin, end, details);
  made.bytes = unsigned_of(details.bytes);
  const std::size_t open = event.name.find('('), close = event.name.rfind(')');
  if (open != std::string_view::npos && close != std::string_view::npos && open < close) {
    made.kind = side_of(event.name.substr(open + 1, close - open - 1));
  }
  give(made);
}

void kineto_work::add_sync(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                           const chrome_details& details) {
  trace::sync_event made;
  made.time = begin;
  made.end = end;
  made.process = tracks_.main_process();
  made.stream = devices_.of(made.process, details.device, details.context, details.stream).stream;
  const auto begins = [&](std::string_view word) { return event.name.starts_with(word); };
  if (begins("Stream Wait")) {
    made.kind = trace::sync_kind::stream_wait;
  } else if (begins("Stream")) {
    made.kind = trace::sync_kind::stream;
  } else if (begins("Event")) {
    made.kind = trace::sync_kind::event;
  } else if (begins("Context") || begins("Device")) {
    made.kind = trace::sync_kind::context;
  }
  out_.add(made);
}

bool kineto_work::uses(trace::device_id device, std::uint32_t process) {
  return last_user_ == std::pair(device, process) || users_[device].contains(process);
}

void kineto_work::note_user(trace::device_id device, std::uint32_t process) {
  if (last_user_ == std::pair(device, process)) return;
  last_user_ = {device, process};
  users_[device].insert(process);
}

/// A second call with a correlation id, if it is another process's.
void kineto_work::note_collision(std::uint64_t correlation, const call_table::call& made) {
  const call_table::call* before = calls_.find(correlation);
  if (before == nullptr || before->process == made.process) return;
  std::vector<call_table::call>& rivals = rivals_[correlation];
  if (rivals.empty()) rivals.push_back(*before);
  std::erase_if(rivals, [&](const auto& each) { return each.process == made.process; });
  rivals.push_back(made);
}

/// The call that asked for work on a device; null if there is none, or several.
const call_table::call* kineto_work::call_for(std::uint64_t correlation, trace::device_id device) {
  const auto several = rivals_.find(correlation);
  if (several == rivals_.end()) return calls_.find(correlation);
  const std::set<std::uint32_t>& users = users_[device];
  const call_table::call* only = nullptr;
  for (const call_table::call& each : several->second) {
    const bool uses_another = std::any_of(users_.begin(), users_.end(), [&](const auto& of) {
      return of.first != device && of.second.contains(each.process);
    });
    if (uses_another && !users.contains(each.process)) continue;
    if (only != nullptr) return nullptr;
    only = &each;
  }
  return only;
}

void kineto_work::give(row made) {
  const auto [correlation, device] =
      std::visit([](const auto& of) { return std::pair(of.correlation, of.device); }, made);
  const call_table::call* by = call_for(correlation, device);
  if (by == nullptr && rivals_.contains(correlation)) {
    ++figures_.ambiguous;
    std::visit([&](auto& of) { out_.add(of); }, made);
    return;
  }
  // The first work of a device whose process is not known may be of another process, whose call comes later in the file.
  const bool is_sure = by != nullptr && (users_.empty() || uses(device, by->process));
  if (is_sure || correlation == 0) {
    write(made, by);
    return;
  }
  if (waiting_.size() == most_waiting) write_oldest();
  const std::uint64_t number = first_waiting_ + waiting_.size();
  waiting_.push_back({made, correlation, 0});
  const auto [chain, fresh] = waiting_for_.try_emplace(correlation, number, number);
  if (fresh) return;
  waiting_[chain->second.second - first_waiting_].next = number;
  chain->second.second = number;
}

void kineto_work::write(row made, const call_table::call* by) {
  std::visit(
      [&](auto& of) {
        if (by != nullptr) {
          note_user(of.device, by->process);
          of.call = by->id;
          of.process = by->process_of();
          of.thread = by->thread_of();
          if constexpr (requires { of.enqueued; }) of.enqueued = by->begin;
          if constexpr (requires { of.asynchronous; }) of.asynchronous = by->asynchronous != 0;
        } else {
          ++figures_.without_call;
        }
        out_.add(of);
      },
      made);
}

void kineto_work::write_oldest() {
  const waiting& oldest = waiting_.front();
  if (oldest.correlation != 0) {
    const trace::device_id device = std::visit([](const auto& of) { return of.device; }, oldest.work);
    write(oldest.work, call_for(oldest.correlation, device));
    if (oldest.next != 0) {
      waiting_for_[oldest.correlation].first = oldest.next;
    } else {
      waiting_for_.erase(oldest.correlation);
    }
  }
  waiting_.pop_front();
  ++first_waiting_;
}

kineto_work::figures kineto_work::finish() {
  while (!waiting_.empty()) write_oldest();
  figures_.overruns = overruns_.found();
  return figures_;
}

}  // namespace sluice::importing
