#include "core/index/work/host_activity.hpp"

#include "core/timeline/make_slice.hpp"

namespace sluice::index {

using timeline::slice_item;

bool is_waiting_call(std::string_view name) {
  return name.find("Synchronize") != std::string_view::npos || name.find("synchronize") != std::string_view::npos;
}

bool host_activity::only_waits(trace::string_id name, const trace::tables& tables) {
  const auto [place, fresh] = waits_.try_emplace(raw(name), false);
  if (fresh) place->second = is_waiting_call(tables.text(name));
  return place->second;
}

void host_activity::add(const std::vector<trace::api_call_event>& rows, const trace::tables& tables) {
  for (const trace::api_call_event& row : rows) {
    slice_item item = make_slice(row, row.end, timeline::slice_kind::api_call, malformed_);
    item.name = row.name;
    item.bytes = row.bytes;
    thread_work& work = find_work(row);
    if (busy_) {
      work.call_busy.add(item.begin, item.end);
      if (only_waits(row.name, tables)) work.wait_busy.add(item.begin, item.end);
    }
    work.calls.add(item);
  }
}

void host_activity::add(const std::vector<trace::sync_event>& rows) {
  for (const trace::sync_event& row : rows) {
    const slice_item item = make_slice(row, row.end, timeline::slice_kind::sync, malformed_);
    thread_work& work = find_work(row);
    if (busy_) work.wait_busy.add(item.begin, item.end);
    work.calls.add(item);
  }
}

void host_activity::add(const std::vector<trace::host_range_event>& rows) {
  for (const trace::host_range_event& row : rows) {
    slice_item item = make_slice(row, row.end, timeline::slice_kind::range, malformed_);
    item.name = row.name;
    find_work(row).ranges.add(item);
  }
}

void host_activity::add(const std::vector<trace::marker_event>& rows) {
  for (const trace::marker_event& row : rows) {
    slice_item item = make_slice(row, row.time, timeline::slice_kind::marker, malformed_);
    item.name = row.name;
    find_work(row).ranges.add(item);
  }
}

void host_activity::add(const std::vector<trace::file_io_event>& rows) {
  for (const trace::file_io_event& row : rows) {
    slice_item item = make_slice(row, row.end, timeline::slice_kind::file_io, malformed_);
    item.name = row.file;
    // Opening or mapping a file reports the size of the file, but transfers nothing.
    const bool moves = row.operation != trace::file_operation::open && row.operation != trace::file_operation::map;
    if (moves) item.bytes = row.bytes;
    thread_work& work = find_work(row);
    if (busy_) work.file_busy.add(item.begin, item.end);
    work.calls.add(item);
  }
}

void host_activity::settle() {
  for (auto& [key, work] : threads_) {
    work.ranges.settle();
    work.calls.settle();
    work.call_busy.settle();
    work.wait_busy.settle();
    work.file_busy.settle();
  }
}

}  // namespace sluice::index
