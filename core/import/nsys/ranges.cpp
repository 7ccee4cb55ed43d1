#include "core/import/nsys/ranges.hpp"

#include <optional>
#include <string>
#include <tuple>

#include "core/import/nsys/enums.hpp"

namespace sluice::importing {

using namespace nsys_enums;
using nsys::cells;

namespace {

/// Returns the value of a counter's sample. Only one of the columns for values is set.
std::optional<double> get_value(const cells& row) {
  using namespace nsys::counter;
  for (const std::size_t column : {as_double, as_float})
    if (row.has(column)) return row.real(column);
  for (const std::size_t column : {as_int64, as_int32, as_uint32})
    if (row.has(column)) return static_cast<double>(row.number(column));
  if (row.has(as_uint64)) return static_cast<double>(static_cast<std::uint64_t>(row.number(as_uint64)));
  return std::nullopt;
}

}  // namespace

nsys_ranges::domain_key nsys_ranges::find_domain(const cells& row) {
  return {nsys_places::process_bits(row.number(nsys::nvtx::thread)), row.number(nsys::nvtx::domain)};
}

trace::string_id nsys_ranges::domain_name(const cells& row) const {
  const auto known = domains_.find(find_domain(row));
  return known == domains_.end() ? trace::string_id::none : known->second;
}

trace::string_id nsys_ranges::to_text(const cells& row) {
  using namespace nsys::nvtx;
  if (row.has(text_)) return out_.intern(row.text(text_));
  return row.has(text_id) ? places_.string(row.number(text_id)) : trace::string_id::none;
}

trace::host_range_event nsys_ranges::get_range(const cells& row, std::size_t thread, std::size_t begin,
                                               std::size_t end) {
  const auto where = places_.thread(row.number(thread));
  trace::host_range_event event;
  event.time = row.number(begin);
  event.end = checks_.get_end(event.time, row.end(end), false);
  event.process = where.process;
  event.thread = where.thread;
  return event;
}

void nsys_ranges::take_nvtx(const cells& row) {
  using namespace nsys::nvtx;
  const std::int64_t kind = row.number(type);
  if (kind == thread_name) {
    places_.name_thread(row.number(thread), to_text(row));
    return;
  }
  if (row.has(begin)) checks_.note(row.number(begin));
  if (kind == mark || kind == mark_with_time) {
    const auto where = places_.thread(row.number(thread));
    trace::marker_event event;
    event.time = row.number(begin);
    event.process = where.process;
    event.thread = where.thread;
    event.name = to_text(row);
    out_.add(event);
    return;
  }
  if (kind != push_pop && kind != start_end && kind != push_pop_with_time && kind != start_end_with_time) {
    checks_.fault("NVTX events of the type " + std::to_string(kind));
    return;
  }
  trace::host_range_event range_event = get_range(row, thread, begin, end);
  range_event.name = to_text(row);
  range_event.domain = domain_name(row);
  out_.add(range_event);
}

void nsys_ranges::take_counter(const cells& row) {
  using namespace nsys::nvtx;
  const auto value = get_value(row);
  if (!value) {
    checks_.fault("samples of NVTX counters whose value is in a payload");
    return;
  }
  checks_.note(row.number(begin));
  const trace::process_id owner = places_.process(row.number(thread));
  const trace::string_id domain_text = domain_name(row), name = to_text(row);
  const auto [known, fresh] = counters_.try_emplace({owner, domain_text, name});
  if (fresh) {
    trace::counter_row about;
    about.id = known->second = places_.new_counter();
    about.process = owner;
    about.name = name;
    out_.add(about);
  }
  trace::counter_event event;
  event.time = row.number(begin);
  event.process = owner;
  event.thread = places_.thread(row.number(thread)).thread;
  event.counter = known->second;
  event.value = *value;
  out_.add(event);
}

void nsys_ranges::take_system_call(const cells& row) {
  using namespace nsys::system_call;
  trace::host_range_event event = get_range(row, thread, begin, end);
  event.name = places_.string(row.number(name));
  if (system_calls_ == trace::string_id::none) system_calls_ = out_.intern("OS runtime");
  event.domain = system_calls_;
  out_.add(event);
}

}  // namespace sluice::importing
