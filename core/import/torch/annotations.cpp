// Imports the annotations and settings of a snapshot.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/import/torch/shared.hpp"

namespace sluice::importing::torch {

void write_annotations(shared& whole) {
  struct open_range {
    std::string_view name;
    time_ns begin;
  };
  std::map<std::int64_t, std::vector<open_range>> open;
  std::map<std::int64_t, trace::thread_id> threads;
  const auto base = [&]<class Row>(Row row, std::int64_t device, time_ns time) {
    auto& thread = threads[device];
    if (thread == trace::thread_id::none) {
      thread = static_cast<trace::thread_id>(threads.size());
      trace::thread_row about;
      about.id = thread;
      about.process = shared::process;
      about.name = whole.out().intern("annotations, GPU " + std::to_string(device));
      whole.out().add(about);
    }
    row.time = time;
    row.process = shared::process;
    row.thread = thread;
    row.name = whole.out().intern(row.name_text);
    return row;
  };
  struct named_range : trace::host_range_event {
    std::string_view name_text;
  };
  struct named_mark : trace::marker_event {
    std::string_view name_text;
  };
  const auto add_range = [&](std::int64_t device, std::string_view name, time_ns begin, time_ns end,
                             trace::provenance source) {
    named_range range;
    range.name_text = name;
    range.end = end;
    range.source = source;
    whole.out().add(static_cast<const trace::host_range_event&>(base(range, device, begin)));
  };
  for (const annotation& each : whole.recording.annotations) {
    const time_ns time = each.time_us == no_time ? 0 : (each.time_us - whole.origin_us) * 1000;
    auto& stack = open[each.device];
    if (each.status == annotation::stage::start) {
      stack.push_back({each.name, time});
    } else if (each.status == annotation::stage::end) {
      const auto begun =
          std::find_if(stack.rbegin(), stack.rend(), [&](const open_range& r) { return r.name == each.name; });
      const bool known = begun != stack.rend();
      add_range(each.device, each.name, known ? begun->begin : 0, time,
                known ? trace::provenance::exact : trace::provenance::inferred);
      if (known) stack.erase(std::next(begun).base());
    } else {
      named_mark mark;
      mark.name_text = each.name;
      whole.out().add(static_cast<const trace::marker_event&>(base(mark, each.device, time)));
    }
  }
  for (const auto& [device, rest] : open)
    for (const open_range& each : rest)
      add_range(device, each.name, each.begin, trace::unknown_time, trace::provenance::exact);
}

void write_settings(shared& whole) {
  if (!whole.recording.settings.is(pickle_kind::dictionary)) return;
  trace::marker_event mark;
  mark.process = shared::process;
  mark.name = whole.out().intern("allocator settings");
  const auto id = trace::event_id{whole.out().add(mark)};
  const auto add = [&](const std::string& key, const pickle_value& v) {
    trace::attribute_event row;
    row.process = shared::process;
    row.target = id;
    row.key = whole.out().intern(key);
    row.text = whole.stacks.text(v);
    row.integer = whole.from.integer(v);
    row.real = whole.from.real(v);
    whole.out().add(row);
  };
  const pickle_pairs items = whole.from.pairs(whole.recording.settings);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string key(whole.from.text(items.key(i)));
    if (!items.value(i).is(pickle_kind::dictionary)) {
      add(key, items.value(i));
      continue;
    }
    const pickle_pairs inner = whole.from.pairs(items.value(i));
    for (std::size_t j = 0; j < inner.size() && j < 64; ++j) {
      add(key + "." + std::string(whole.from.text(inner.key(j))), inner.value(j));
    }
  }
}

}  // namespace sluice::importing::torch
