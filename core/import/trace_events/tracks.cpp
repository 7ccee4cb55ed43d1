#include "core/import/trace_events/tracks.hpp"

#include <algorithm>

namespace sluice::importing {
namespace {

constexpr auto main_process_id = static_cast<trace::process_id>(1);

/// False for a number that a file means to be negative. Numbers beyond 2^63 are read as negative numbers of large
/// magnitude; real negative numbers are small.
bool is_handle(std::int64_t number) { return number >= 0 || number < INT32_MIN; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

trace::event_id chrome_track::around(trace::time_ns time) const {
  const chrome_slice* best = nullptr;
  const std::uint32_t kept = std::min<std::uint32_t>(slices, static_cast<std::uint32_t>(recent.size()));
  for (std::uint32_t back = 1; back <= kept; ++back) {
    const chrome_slice& slice = recent[(slices - back) % recent.size()];
    if (time < slice.begin || time > slice.end) continue;
    if (best == nullptr || slice.begin > best->begin) best = &slice;
  }
  return best == nullptr ? trace::event_id::none : best->id;
}

chrome_tracks::chrome_tracks(trace::file_writer& out) : out_(out) {}

std::string chrome_tracks::get_key(const chrome_ident& ident) {
  return ident.text.empty() ? std::to_string(ident.number) : "\"" + std::string(ident.text);
}

std::string chrome_tracks::get_key(const chrome_ident& process, const chrome_ident& thread) {
  return get_key(process) + '\n' + get_key(thread);
}

trace::process_id chrome_tracks::main_process() {
  if (const auto fresh = process_rows_.try_emplace(raw(main_process_id)); fresh.second) {
    fresh.first->second.id = main_process_id;
    out_.add(fresh.first->second);
  }
  return main_process_id;
}

trace::process_id chrome_tracks::find_process(const chrome_ident& process) {
  const auto [place, fresh] = processes_.try_emplace(get_key(process));
  if (!fresh) return place->second;
  const bool number = process.text.empty() && is_handle(process.number);
  if (number && !main_has_number_) {
    main_has_number_ = true;
    place->second = main_process();
  } else {
    place->second = static_cast<trace::process_id>(raw(main_process_id) + processes_.size() + 1);
  }
  trace::process_row& row = process_rows_[raw(place->second)];
  row.id = place->second;
  row.pid = number ? static_cast<std::uint64_t>(process.number) : 0;
  if (!process.text.empty()) row.command = out_.intern(process.text);
  out_.add(row);
  return row.id;
}

chrome_track& chrome_tracks::make(trace::process_id process, std::uint64_t tid, std::string_view name,
                                  std::string key) {
  chrome_track& track = tracks_.emplace_back();
  track.process = process;
  track.thread = static_cast<trace::thread_id>(tracks_.size());
  trace::thread_row row;
  row.id = track.thread;
  row.process = process;
  row.tid = tid;
  row.name = out_.intern(name);
  out_.add(row);
  thread_rows_.emplace(raw(row.id), row);
  thread_keys_.emplace(std::move(key), raw(row.id));
  return track;
}

chrome_track& chrome_tracks::of(const chrome_ident& process, const chrome_ident& thread) {
  const auto tid = is_handle(thread.number) ? static_cast<std::uint64_t>(thread.number) : 0;
  if (process.text.empty() && thread.text.empty()) {
    chrome_track*& known = by_number_[{process.number, thread.number}];
    if (known == nullptr) known = &make(find_process(process), tid, {}, get_key(process, thread));
    return *known;
  }
  std::string key = get_key(process, thread);
  chrome_track*& known = by_name_[key];
  if (known == nullptr) {
    known = &make(find_process(process), thread.text.empty() ? tid : 0, thread.text, std::move(key));
  }
  return *known;
}

chrome_track& chrome_tracks::beside(trace::process_id process, std::string_view name, std::uint64_t tid) {
  std::string key = "\n" + std::to_string(raw(process)) + '\n' + std::string(name);
  chrome_track*& known = by_name_[key];
  if (known == nullptr) known = &make(process, tid, name, std::move(key));
  return *known;
}

void chrome_tracks::name_process(const chrome_ident& process, std::string_view name) {
  process_names_[get_key(process)] = trimmed(name);
}

void chrome_tracks::name_thread(const chrome_ident& process, const chrome_ident& thread, std::string_view name) {
  thread_names_[get_key(process, thread)] = trimmed(name);
}

std::string_view chrome_tracks::thread_name(const chrome_ident& process, const chrome_ident& thread) const {
  const auto known = thread_names_.find(get_key(process, thread));
  return known == thread_names_.end() ? std::string_view{} : std::string_view{known->second};
}

std::string_view chrome_tracks::process_name(const chrome_ident& process) const {
  const auto known = process_names_.find(get_key(process));
  return known == process_names_.end() ? std::string_view{} : std::string_view{known->second};
}

void chrome_tracks::finish() {
  for (const auto& [key, name] : process_names_)
    if (const auto known = processes_.find(key); known != processes_.end()) {
      process_rows_[raw(known->second)].command = out_.intern(name);
    }
  for (const auto& [key, name] : thread_names_)
    if (const auto known = thread_keys_.find(key); known != thread_keys_.end()) {
      thread_rows_[known->second].name = out_.intern(name);
    }
  for (auto& [id, row] : process_rows_) {
    if (id == raw(main_process_id)) row.rank = rank_;
    out_.add(row);
  }
  for (const auto& [id, row] : thread_rows_) out_.add(row);
}

}  // namespace sluice::importing
