#include "core/import/torch/kineto_work.hpp"

#include <algorithm>

#include "core/import/unsigned_of.hpp"

namespace sluice::importing {
namespace {

trace::memory_kind side_of(std::string_view word) {
  if (word == "Pageable") return trace::memory_kind::host;
  if (word == "Pinned") return trace::memory_kind::pinned;
  if (word == "Device") return trace::memory_kind::device;
  if (word == "Managed") return trace::memory_kind::managed;
  if (word == "Array") return trace::memory_kind::array;
  return trace::memory_kind::unknown;
}

/// Parses a name such as "Memcpy HtoD (Pageable -> Device)".
void read_copy_name(std::string_view name, trace::transfer_event& into) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (has("HtoD") || has("HtoA")) into.direction = trace::direction::h2d;
  if (has("DtoH") || has("AtoH")) into.direction = trace::direction::d2h;
  if (has("DtoD") || has("AtoA") || has("DtoA") || has("AtoD")) into.direction = trace::direction::d2d;
  if (has("PtoP")) into.direction = trace::direction::p2p;
  if (has("HtoH")) into.direction = trace::direction::h2h;
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

void kineto_work::give(row made) {
  const std::uint64_t correlation = std::visit([](const auto& of) { return of.correlation; }, made);
  const call_table::call* by = calls_.find(correlation);
  if (by != nullptr || correlation == 0) {
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
          of.call = by->id;
          of.process = by->process_of();
          of.thread = by->thread_of();
          if constexpr (requires { of.enqueued; }) of.enqueued = by->begin;
          if constexpr (requires { of.asynchronous; }) of.asynchronous = by->asynchronous != 0;
        } else {
          ++without_call_;
        }
        out_.add(of);
      },
      made);
}

void kineto_work::write_oldest() {
  const waiting& oldest = waiting_.front();
  if (oldest.correlation != 0) {
    write(oldest.work, nullptr);
    if (oldest.next != 0) {
      waiting_for_[oldest.correlation].first = oldest.next;
    } else {
      waiting_for_.erase(oldest.correlation);
    }
  }
  waiting_.pop_front();
  ++first_waiting_;
}

std::uint64_t kineto_work::finish() {
  while (!waiting_.empty()) write_oldest();
  return without_call_;
}

}  // namespace sluice::importing
