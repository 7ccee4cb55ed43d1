#include "core/index/work/copy_contents.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "core/trace/file/reader.hpp"
#include "core/trace/model/content_limits.hpp"

namespace sluice::index {
namespace {

auto make_content(const content_copy& c) { return std::tie(c.process, c.device, c.bytes, c.check, c.hash); }
auto get_order(const content_copy& c) {
  return std::tie(c.process, c.device, c.bytes, c.check, c.hash, c.asked, c.event);
}

/// Sorts `items`. Only the items from position `settled` on are new.
template <class Item, class Less>
void sort_in(std::vector<Item>& items, std::size_t& settled, Less less) {
  const auto fresh = items.begin() + static_cast<std::ptrdiff_t>(settled);
  std::sort(fresh, items.end(), less);
  std::inplace_merge(items.begin(), fresh, items.end(), less);
  settled = items.size();
}

content_copy get_copy(const trace::transfer_event& row) {
  content_copy copy;
  copy.process = row.process;
  copy.device = row.device;
  copy.bytes = row.bytes;
  copy.check = row.content;
  copy.hash = row.content_hash;
  copy.read = row.content_bytes;
  copy.to_host = row.direction == trace::direction::d2h;
  copy.begin = bounded(row.time);
  copy.asked = row.enqueued == trace::unknown_time ? copy.begin : bounded(row.enqueued);
  copy.end = row.end == trace::unknown_time ? latest_time : std::max(copy.begin, bounded(row.end));
  copy.event = row.id;
  copy.call = row.call;
  copy.source = row.source_address;
  copy.destination = row.destination_address;
  copy.block = row.destination_block;
  // A call that copies from pageable memory returns only after the memory has been read.
  copy.asynchronous = row.asynchronous && row.source_kind != trace::memory_kind::host;
  return copy;
}

}  // namespace

bool seems_zero(const content_copy& copy) {
  static constexpr std::array<unsigned char, trace::whole_content_limit> zeros{};
  std::uint64_t bytes = trace::sampled_content_bytes;
  if (copy.check == trace::content_check::exact) bytes = copy.bytes;
  if (!copy.hashed() || bytes == 0 || bytes > zeros.size()) return false;
  return copy.hash == XXH3_64bits(zeros.data(), bytes);
}

bool read_enough_for_zero(const content_copy& copy) {
  return copy.check == trace::content_check::exact || copy.read >= std::min(copy.bytes, trace::zero_content_limit);
}

void copy_contents::add(const std::vector<trace::transfer_event>& rows) {
  using trace::direction;
  const auto looked_at = [](const trace::transfer_event& row) {
    const bool to_host = row.direction == direction::d2h;
    return (to_host || row.direction == direction::h2d) && row.content != trace::content_check::none;
  };
  // Without content checks, no copies are kept.
  if (copies_.empty() && std::none_of(rows.begin(), rows.end(), looked_at)) return;
  for (const trace::transfer_event& row : rows) {
    // Copies to the host are kept even if their content was not checked.
    if (looked_at(row) || row.direction == direction::d2h) copies_.push_back(get_copy(row));
    if (row.direction != direction::d2h || row.destination_address == 0) continue;
    const content_copy written = get_copy(row);
    writes_.push_back({row.process, written.begin, written.end, row.destination_address, row.bytes});
    if (written.end != latest_time) longest_write_ = std::max(longest_write_, written.end - written.begin);
  }
}

void copy_contents::settle() {
  sort_in(copies_, settled_copies_, [](const auto& a, const auto& b) { return get_order(a) < get_order(b); });
  sort_in(writes_, settled_writes_, [](const auto& a, const auto& b) { return a.begin < b.begin; });
}

std::size_t copy_contents::same_from(std::size_t first) const {
  std::size_t end = first;
  while (end < copies_.size() && copies_[end].same_content(copies_[first])) ++end;
  return end - first;
}

bool copy_contents::overtaken(const content_copy& copy) const {
  if (!copy.asynchronous || copy.to_host) return false;
  constexpr int most = 2048;
  auto at = std::lower_bound(writes_.begin(), writes_.end(), copy.end,
                             [](const host_write& w, time_ns time) { return w.begin < time; });
  for (int steps = 0; at != writes_.begin(); ++steps) {
    --at;
    if (at->begin < copy.asked - longest_write_) return false;
    if (steps == most) return true;
    if (at->process != copy.process || at->end <= copy.asked) continue;
    if (at->address - copy.source < copy.bytes || copy.source - at->address < at->bytes) return true;
  }
  return false;
}

content_repeats copy_contents::get_repeats(const trace::transfer_event& row) const {
  content_repeats found;
  const content_copy asked = get_copy(row);
  if (!asked.hashed() || row.direction != trace::direction::h2d || overtaken(asked)) return found;
  const auto begin = std::lower_bound(copies_.begin(), copies_.end(), asked,
                                      [](const auto& a, const auto& b) { return make_content(a) < make_content(b); });
  for (auto c = begin; c != copies_.end() && c->same_content(asked); ++c) {
    if (c->event == asked.event || c->to_host || overtaken(*c)) continue;
    if (std::tie(c->asked, c->event) < std::tie(asked.asked, asked.event)) {
      if (found.before++ == 0) found.first = c->event, found.first_time = c->begin;
      found.same_source = found.same_source || (c->source == asked.source && c->source != 0);
    } else if (found.after++ == 0) {
      found.next = c->event, found.next_time = c->begin;
    }
  }
  return found;
}

copy_contents read_contents(const trace::snapshot& recording) {
  std::vector<std::size_t> chunks;
  for (std::size_t chunk = 0; chunk < recording.chunks().size(); ++chunk)
    if (recording.chunks()[chunk].type == trace::row_type::transfer) chunks.push_back(chunk);
  std::vector<trace::content_check> checks;
  const auto checked = [&](std::size_t chunk) {
    return recording.read_column<trace::transfer_event>(chunk, &trace::transfer_event::content, checks) &&
           std::any_of(checks.begin(), checks.end(), [](auto each) { return each != trace::content_check::none; });
  };
  copy_contents contents;
  if (std::none_of(chunks.begin(), chunks.end(), checked)) return contents;
  std::vector<trace::transfer_event> rows;
  for (const std::size_t chunk : chunks)
    if (recording.read_into<trace::transfer_event>(chunk, rows)) contents.add(rows);
  contents.settle();
  return contents;
}

}  // namespace sluice::index
