#include "core/import/torch/kineto_work.hpp"

#include <algorithm>
#include <utility>

#include "core/import/to_unsigned.hpp"
#include "core/import/work_rows.hpp"

namespace sluice::importing {
void kineto_work::add_call(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                           const chrome_details& details, chrome_track& track) {
  trace::api_call_event call_event;
  call_event.time = begin;
  call_event.end = end;
  call_event.process = track.process;
  call_event.thread = track.thread;
  call_event.name = out_.intern(event.name);
  call_event.correlation = to_unsigned(details.correlation);
  call_event.id = static_cast<trace::event_id>(out_.add(call_event));
  track.remember({begin, end, call_event.id});
  if (call_event.correlation == 0) return;
  call_table::call call;
  call.id = call_event.id;
  call.begin = begin;
  call.thread = static_cast<std::uint32_t>(raw(call_event.thread));
  call.process = static_cast<std::uint32_t>(raw(call_event.process)) & 0x7fff'ffffU;
  call.asynchronous = event.name.find("Async") != std::string_view::npos ? 1 : 0;
  note_collision(call_event.correlation, call);
  calls_.put(call_event.correlation, call);
  const auto chain = waiting_for_.find(call_event.correlation);
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
void kineto_work::begin_row(Row& subject, trace::time_ns begin, trace::time_ns end, const chrome_details& details) {
  subject.time = begin;
  subject.end = end;
  subject.process = tracks_.main_process();
  const auto place = devices_.of(subject.process, details.device, details.context, details.stream);
  subject.device = place.device;
  subject.context = place.context;
  subject.stream = place.stream;
  subject.correlation = to_unsigned(details.correlation);
  subject.graph_node = to_unsigned(details.graph_node);
}

template <class Row>
void kineto_work::set_size(Row& subject, const chrome_details& details) {
  subject.bytes = to_unsigned(details.bytes);
  if (!details.has_bytes) ++metrics_.without_bytes;
}

void kineto_work::add_kernel(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                             const chrome_details& details) {
  trace::kernel_event kernel_row;
  begin_row(kernel_row, begin, end, details);
  kernel_row.name = out_.intern(event.name);
  set_shape(kernel_row, details.grid, details.block);
  kernel_row.registers = static_cast<std::uint32_t>(std::clamp<std::int64_t>(details.registers, 0, UINT32_MAX));
  kernel_row.static_shared =
      to_unsigned(details.shared);  // The file has only the sum of static and dynamic shared memory.
  overruns_.add(kernel_row);
  give(kernel_row);
}

void kineto_work::add_copy(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                           const chrome_details& details) {
  trace::transfer_event output;
  begin_row(output, begin, end, details);
  set_size(output, details);
  read_copy_name(event.name, output);
  fill_device_sides(output);
  parts_.add(output, [this](const trace::transfer_event& whole) { give(whole); });
}

void kineto_work::add_memset(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                             const chrome_details& details) {
  trace::memset_event memset_event;
  begin_row(memset_event, begin, end, details);
  set_size(memset_event, details);
  const std::size_t open = event.name.find('('), close = event.name.rfind(')');
  if (open != std::string_view::npos && close != std::string_view::npos && open < close) {
    memset_event.kind = memory_of_word(event.name.substr(open + 1, close - open - 1));
  }
  give(memset_event);
}

void kineto_work::add_sync(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                           const chrome_details& details) {
  trace::sync_event sync_event;
  sync_event.time = begin;
  sync_event.end = end;
  sync_event.process = tracks_.main_process();
  sync_event.stream = devices_.of(sync_event.process, details.device, details.context, details.stream).stream;
  const auto begins = [&](std::string_view word) { return event.name.starts_with(word); };
  if (begins("Stream Wait")) {
    sync_event.kind = trace::sync_kind::stream_wait;
  } else if (begins("Stream")) {
    sync_event.kind = trace::sync_kind::stream;
  } else if (begins("Event")) {
    sync_event.kind = trace::sync_kind::event;
  } else if (begins("Context") || begins("Device")) {
    sync_event.kind = trace::sync_kind::context;
  }
  out_.add(sync_event);
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
void kineto_work::note_collision(std::uint64_t correlation, const call_table::call& call) {
  const call_table::call* before = calls_.find(correlation);
  if (before == nullptr || before->process == call.process) return;
  std::vector<call_table::call>& rivals = rivals_[correlation];
  if (rivals.empty()) rivals.push_back(*before);
  std::erase_if(rivals, [&](const auto& each) { return each.process == call.process; });
  rivals.push_back(call);
}

/// Returns the call that requested device work, or null if there is none or there are several.
const call_table::call* kineto_work::call_for(std::uint64_t correlation, trace::device_id device) {
  const auto several = rivals_.find(correlation);
  if (several == rivals_.end()) return calls_.find(correlation);
  const std::set<std::uint32_t>& users = users_[device];
  const call_table::call* only = nullptr;
  for (const call_table::call& each : several->second) {
    const bool uses_another = std::any_of(users_.begin(), users_.end(), [&](const auto& subject) {
      return subject.first != device && subject.second.contains(each.process);
    });
    if (uses_another && !users.contains(each.process)) continue;
    if (only != nullptr) return nullptr;
    only = &each;
  }
  return only;
}

void kineto_work::give(row output) {
  const auto [correlation, device] =
      std::visit([](const auto& subject) { return std::pair(subject.correlation, subject.device); }, output);
  const call_table::call* by = call_for(correlation, device);
  if (by == nullptr && rivals_.contains(correlation)) {
    ++metrics_.ambiguous;
    std::visit([&](auto& target) { out_.add(target); }, output);
    return;
  }
  // The first work of a device whose process is unknown may belong to another process, whose call comes later in the
  // file.
  const bool is_sure = by != nullptr && (users_.empty() || uses(device, by->process));
  if (is_sure || correlation == 0) {
    write(output, by);
    return;
  }
  if (waiting_.size() == most_waiting) write_oldest();
  const std::uint64_t number = first_waiting_ + waiting_.size();
  waiting_.push_back({output, correlation, 0});
  const auto [chain, fresh] = waiting_for_.try_emplace(correlation, number, number);
  if (fresh) return;
  waiting_[chain->second.second - first_waiting_].next = number;
  chain->second.second = number;
}

void kineto_work::write(row output, const call_table::call* by) {
  std::visit(
      [&](auto& subject) {
        if (by != nullptr) {
          note_user(subject.device, by->process);
          subject.call = by->id;
          subject.process = by->find_process();
          subject.thread = by->get_thread();
          if constexpr (requires { subject.enqueued; }) subject.enqueued = by->begin;
          if constexpr (requires { subject.asynchronous; }) subject.asynchronous = by->asynchronous != 0;
        } else {
          ++metrics_.without_call;
        }
        out_.add(subject);
      },
      output);
}

void kineto_work::write_oldest() {
  const waiting& oldest = waiting_.front();
  if (oldest.correlation != 0) {
    const trace::device_id device = std::visit([](const auto& subject) { return subject.device; }, oldest.work);
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
