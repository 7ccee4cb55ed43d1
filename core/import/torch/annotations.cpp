// Imports the parts of a snapshot other than allocations.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/import/torch/shared.hpp"

namespace sluice::importing::torch {

void write_annotations(shared& all) {
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
      about.name = all.out().intern("annotations, GPU " + std::to_string(device));
      all.out().add(about);
    }
    row.time = time;
    row.process = shared::process;
    row.thread = thread;
    row.name = all.out().intern(row.name_text);
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
    named_range made;
    made.name_text = name;
    made.end = end;
    made.source = source;
    all.out().add(static_cast<const trace::host_range_event&>(base(made, device, begin)));
  };
  for (const annotation& each : all.of.annotations) {
    const time_ns time = each.time_us == no_time ? 0 : (each.time_us - all.origin_us) * 1000;
    auto& stack = open[each.device];
    if (each.is == annotation::stage::start) {
      stack.push_back({each.name, time});
    } else if (each.is == annotation::stage::end) {
      const auto begun =
          std::find_if(stack.rbegin(), stack.rend(), [&](const open_range& r) { return r.name == each.name; });
      const bool known = begun != stack.rend();
      add_range(each.device, each.name, known ? begun->begin : 0, time,
                known ? trace::provenance::exact : trace::provenance::inferred);
      if (known) stack.erase(std::next(begun).base());
    } else {
      named_mark made;
      made.name_text = each.name;
      all.out().add(static_cast<const trace::marker_event&>(base(made, each.device, time)));
    }
  }
  for (const auto& [device, rest] : open)
    for (const open_range& each : rest)
      add_range(device, each.name, each.begin, trace::unknown_time, trace::provenance::exact);
}

void write_settings(shared& all) {
  if (!all.of.settings.is(pickle_kind::dictionary)) return;
  trace::marker_event mark;
  mark.process = shared::process;
  mark.name = all.out().intern("allocator settings");
  const auto id = trace::event_id{all.out().add(mark)};
  const auto add = [&](const std::string& key, const pickle_value& v) {
    trace::attribute_event row;
    row.process = shared::process;
    row.target = id;
    row.key = all.out().intern(key);
    row.text = all.stacks.text(v);
    row.integer = all.from.integer(v);
    row.real = all.from.real(v);
    all.out().add(row);
  };
  const pickle_pairs items = all.from.pairs(all.of.settings);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string key(all.from.text(items.key(i)));
    if (!items.value(i).is(pickle_kind::dictionary)) {
      add(key, items.value(i));
      continue;
    }
    const pickle_pairs inner = all.from.pairs(items.value(i));
    for (std::size_t j = 0; j < inner.size() && j < 64; ++j) {
      add(key + "." + std::string(all.from.text(inner.key(j))), inner.value(j));
    }
  }
}

}  // namespace sluice::importing::torch
