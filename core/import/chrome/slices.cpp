#include "core/import/chrome/slices.hpp"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace sluice::importing {
namespace {

/// The most arrow ends that wait on a thread. If a file has more, the oldest are dropped.
constexpr std::size_t most_waiting = 1024;

void append(std::string& to, const chrome_ident& ident) {
  to += '\n';
  if (ident.text.empty()) {
    to += std::to_string(ident.number);
  } else {
    to += '"';
    to += ident.text;
  }
}

bool mentions_bytes(std::string_view text) {
  constexpr std::string_view word = "bytes";
  return std::search(text.begin(), text.end(), word.begin(), word.end(),
                     [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; }) != text.end();
}

/// Removes and returns the innermost range that started at or before `time`.
std::optional<chrome_open_range> take_begin(std::vector<chrome_open_range>& open, trace::time_ns time) {
  const auto inner = std::find_if(open.rbegin(), open.rend(), [&](const auto& range) { return range.begin <= time; });
  if (inner == open.rend()) return std::nullopt;
  const chrome_open_range range = *inner;
  open.erase(std::next(inner).base());
  return range;
}

/// Removes and returns the first end that is not before `begin`.
std::optional<trace::time_ns> take_end(std::vector<trace::time_ns>& ends, trace::time_ns begin) {
  auto first = ends.end();
  for (auto at = ends.begin(); at != ends.end(); ++at)
    if (*at >= begin && (first == ends.end() || *at < *first)) first = at;
  if (first == ends.end()) return std::nullopt;
  const trace::time_ns end = *first;
  ends.erase(first);
  return end;
}

}  // namespace

trace::string_id chrome_slices::find_domain(const chrome_event& event) {
  if (event.category_text != last_domain_) {
    last_domain_ = event.category_text;
    last_domain_id_ = out_.intern(last_domain_);
  }
  return last_domain_id_;
}

trace::event_id chrome_slices::write_range(const chrome_open_range& range, trace::time_ns end,
                                           const chrome_track& track) {
  trace::host_range_event row;
  row.time = range.begin;
  row.end = end;
  row.process = track.process;
  row.thread = track.thread;
  row.name = range.name;
  row.domain = range.domain;
  return static_cast<trace::event_id>(out_.add(row));
}

void chrome_slices::add_range(const chrome_event& event, trace::time_ns begin, trace::time_ns end,
                              chrome_track& track) {
  const trace::event_id id = write_range({begin, out_.intern(event.name), find_domain(event)}, end, track);
  settle(track, {begin, end, id});
}

/// Adds a slice and connects the arrow ends that waited for it.
void chrome_slices::settle(chrome_track& track, const chrome_slice& slice) {
  track.remember(slice);
  if (track.waiting.empty()) return;
  std::erase_if(track.waiting, [&](const chrome_arrow_end& end) {
    const bool inside = end.time >= slice.begin && (end.time <= slice.end || slice.end == trace::unknown_time);
    if (!inside && slice.begin < end.time) return false;
    tie(end, slice.id);
    return true;
  });
}

/// Keeps an end until its start is read, which comes later in the file. If a file has too many of these ends, those
/// with the earliest times are dropped.
void chrome_slices::keep_end(std::vector<trace::time_ns>& ends, trace::time_ns time, std::uint64_t& lost) {
  if (ends.size() == most_waiting) {
    std::sort(ends.begin(), ends.end());
    ends.erase(ends.begin(), ends.begin() + most_waiting / 2);
    lost += most_waiting / 2;
  }
  ends.push_back(time);
}

void chrome_slices::begin_range(const chrome_event& event, trace::time_ns time, chrome_track& track) {
  const chrome_open_range range{time, out_.intern(event.name), find_domain(event)};
  if (const auto end = take_end(track.ends, time)) {
    settle(track, {time, *end, write_range(range, *end, track)});
  } else {
    track.open.push_back(range);
  }
}

void chrome_slices::end_range(trace::time_ns time, chrome_track& track) {
  const auto range = take_begin(track.open, time);
  if (!range) return keep_end(track.ends, time, metrics_.loose_ends);
  settle(track, {range->begin, time, write_range(*range, time, track)});
}

void chrome_slices::add_asynchronous(const chrome_event& event, trace::time_ns time, char phase) {
  key_ = event.category_text;
  append(key_, event.id);
  append(key_, event.process);
  if (phase == 'n') return add_mark(event, time);
  asynchronous& subject = asynchronous_[key_];
  if (phase == 'b') {
    if (subject.track == nullptr) subject.track = &tracks_.beside(tracks_.find_process(event.process), event.name);
    const chrome_open_range range{time, out_.intern(event.name), find_domain(event)};
    if (const auto end = take_end(subject.ends, time)) {
      write_range(range, *end, *subject.track);
    } else {
      subject.open.push_back(range);
    }
  } else if (const auto range = take_begin(subject.open, time)) {
    write_range(*range, time, *subject.track);
  } else {
    return keep_end(subject.ends, time, metrics_.loose_asynchronous_ends);
  }
  if (subject.open.empty() && subject.ends.empty()) asynchronous_.erase(key_);
}

void chrome_slices::add_mark(const chrome_event& event, trace::time_ns time) {
  trace::marker_event row;
  row.time = time;
  if (event.scope != 'g') {
    row.process = tracks_.find_process(event.process);
    if (event.scope != 'p') row.thread = tracks_.of(event.process, event.thread).thread;
  }
  row.name = out_.intern(event.name);
  out_.add(row);
}

const chrome_slices::counter& chrome_slices::get_counter(const chrome_event& event, std::string_view series) {
  key_ = event.name;
  append(key_, event.id);
  append(key_, event.process);
  key_ += '\n';
  key_ += series;
  const auto [known, fresh] = counters_.try_emplace(key_);
  counter& output = known->second;
  if (!fresh) return output;
  output.id = static_cast<trace::counter_id>(counters_.size());
  output.process = tracks_.find_process(event.process);
  std::string name(event.name);
  if (!event.id.text.empty() || event.id.number != 0) {
    name += " " + (event.id.text.empty() ? std::to_string(event.id.number) : std::string(event.id.text));
  }
  if (series != "value" && series != event.name) name += (name.empty() ? "" : " ") + std::string(series);
  trace::counter_row row;
  row.id = output.id;
  row.process = output.process;
  row.unit = mentions_bytes(name) ? trace::counter_unit::bytes : trace::counter_unit::none;
  row.name = out_.intern(name);
  out_.add(row);
  return output;
}

std::size_t chrome_slices::add_counter(const chrome_event& event, trace::time_ns time, const chrome_argument* values) {
  std::size_t bad = 0;
  for (std::uint32_t i = 0; i < event.argument_count; ++i) {
    const chrome_argument& value = values[i];
    trace::counter_event row;
    const auto end = value.text.data() + value.text.size();
    const auto read = std::from_chars(value.text.data(), end, row.value);
    if (read.ec != std::errc{} || read.ptr != end) {
      ++bad;
      continue;
    }
    const counter& subject = get_counter(event, value.key);
    row.time = time;
    row.process = subject.process;
    row.counter = subject.id;
    out_.add(row);
  }
  return bad;
}

void chrome_slices::add_arrow(const chrome_event& event, trace::time_ns time, chrome_track& track) {
  key_ = event.category_text;
  key_ += '\n';
  key_ += event.name;
  append(key_, event.id);
  const chrome_arrow_end end{XXH3_64bits(key_.data(), key_.size()), event.phase, time};
  if (const trace::event_id slice = track.around(time); slice != trace::event_id::none) {
    tie(end, slice);
    return;
  }
  if (track.waiting.size() == most_waiting) {
    track.waiting.erase(track.waiting.begin(), track.waiting.begin() + most_waiting / 2);
    metrics_.loose += most_waiting / 2;
  }
  track.waiting.push_back(end);
}

void chrome_slices::tie(const chrome_arrow_end& end, trace::event_id slice) {
  const auto link = [&](trace::event_id id, trace::event_id to) {
    trace::link_event row;
    row.time = end.time;
    row.kind = trace::link_kind::flow;
    row.from = id;
    row.to = to;
    out_.add(row);
    ++metrics_.arrows;
  };
  const auto [place, fresh] = arrows_.try_emplace(end.arrow);
  arrow& known = place->second;
  if (end.phase == 's') {
    if (known.from != trace::event_id::none) ++metrics_.loose;
    known.from = slice;
    if (known.to == trace::event_id::none) return;
    link(slice, known.to);
    arrows_.erase(place);
  } else if (known.from != trace::event_id::none) {
    link(known.from, slice);
    known.from = slice;
    if (end.phase == 'f') arrows_.erase(place);
  } else {  // In the file, an end may come before its start.
    if (known.to != trace::event_id::none) ++metrics_.loose;
    known.to = slice;
  }
}

chrome_slices::metrics chrome_slices::finish() {
  const auto close = [&](std::vector<chrome_open_range>& open, const chrome_track& track) {
    for (const chrome_open_range& range : open) write_range(range, trace::unknown_time, track);
    metrics_.open_ranges += open.size();
    open.clear();
  };
  tracks_.for_each([&](chrome_track& track) {
    close(track.open, track);
    metrics_.loose_ends += track.ends.size();
    track.ends.clear();
    metrics_.loose += track.waiting.size();
    track.waiting.clear();
  });
  for (auto& [key, each] : asynchronous_) {
    if (!each.open.empty()) close(each.open, *each.track);
    metrics_.loose_asynchronous_ends += each.ends.size();
  }
  metrics_.loose += arrows_.size();
  return metrics_;
}

}  // namespace sluice::importing
