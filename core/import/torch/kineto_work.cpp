#include "core/import/torch/kineto_work.hpp"

#include <algorithm>
#include <utility>

#include "core/import/unsigned_of.hpp"
#include "core/import/work_rows.hpp"

namespace sluice::importing {
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

template <class Row>
void kineto_work::set_size(Row& of, const chrome_details& details) {
  of.bytes = unsigned_of(details.bytes);
  if (!details.has_bytes) ++metrics_.without_bytes;
}

void kineto_work::add_kernel(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                             const chrome_details& details) {
  trace::kernel_event made;
  begin_row(made, begin, end, details);
  made.name = out_.intern(event.name);
  set_shape(made, details.grid, details.block);
  made.registers = static_cast<std::uint32_t>(std::clamp<std::int64_t>(details.registers, 0, UINT32_MAX));
  made.static_shared = unsigned_of(details.shared);  // Static and dynamic: the file has only their sum.
  overruns_.add(made);
  give(made);
}

void kineto_work::add_copy(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                           const chrome_details& details) {
  trace::transfer_event made;
  begin_row(made, begin, end, details);
  set_size(made, details);
  read_copy_name(event.name, made);
  fill_device_sides(made);
  parts_.add(made, [this](const trace::transfer_event& whole) { give(whole); });
}

void kineto_work::add_memset(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                             const chrome_details& details) {
  trace::memset_event made;
  begin_row(made, begin, end, details);
  set_size(made, details);
  const std::size_t open = event.name.find('('), close = event.name.rfind(')');
  if (open != std::string_view::npos && close != std::string_view::npos && open < close) {
    made.kind = memory_of_word(event.name.substr(open + 1, close - open - 1));
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

/// Records a second call with the same correlation id, if it belongs to another process.
void kineto_work::note_collision(std::uint64_t correlation, const call_table::call& made) {
  const call_table::call* before = calls_.find(correlation);
  if (before == nullptr || before->process == made.process) return;
  std::vector<call_table::call>& rivals = rivals_[correlation];
  if (rivals.empty()) rivals.push_back(*before);
  std::erase_if(rivals, [&](const auto& each) { return each.process == made.process; });
  rivals.push_back(made);
}

/// The call that requested device work; null if there is none, or several.
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
    ++metrics_.ambiguous;
    std::visit([&](auto& of) { out_.add(of); }, made);
    return;
  }
  // The first work of a device whose process is unknown may belong to another process, whose call comes later in the
  // file.
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
          ++metrics_.without_call;
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

kineto_work::metrics kineto_work::finish() {
  parts_.finish([this](const trace::transfer_event& whole) { give(whole); });
  while (!waiting_.empty()) write_oldest();
  metrics_.parts = parts_.joined();
  metrics_.overruns = overruns_.found();
  return metrics_;
}

}  // namespace sluice::importing
