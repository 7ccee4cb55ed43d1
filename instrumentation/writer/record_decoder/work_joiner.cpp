#include "instrumentation/writer/record_decoder/work_joiner.hpp"

#include <algorithm>
#include <utility>

namespace sluice::writer {

using namespace trace;

namespace {

constexpr std::size_t most_waiting = std::size_t{1} << 16;
constexpr std::size_t max_parts = std::size_t{1} << 18;
/// Each thread is in only one call at a time, and few results remain without a call.
constexpr std::size_t max_contents = std::size_t{1} << 12;
constexpr std::uint64_t written_already = UINT64_MAX;

std::uint64_t get_correlation(const work_joiner::device_work& w) {
  return std::visit([](const auto& row) { return row.correlation; }, w);
}

/// CUPTI does not always report the kind, and may report registered memory as pageable. The block's kind, if known, is
/// more reliable.
memory_kind better_kind(memory_kind said, memory_kind known) {
  const bool page_locked = known == memory_kind::pinned || known == memory_kind::managed;
  if (said == memory_kind::host && page_locked) return known;
  const bool plain = page_locked || known == memory_kind::device || known == memory_kind::array;
  return said == memory_kind::unknown && plain ? known : said;
}

}  // namespace

void work_joiner::add_content(std::uint64_t correlation, const copied_content& moved) {
  if (moved.stage == ring::content_stage::arrived) {
    moved_memory* const m = moved_.find(correlation);
    if (m != nullptr && m->content.stage == ring::content_stage::awaited) {
      m->content = moved;
      const call* const c = calls_.find(correlation);
      if (c != nullptr) write_waiting(correlation, *c);
      return;
    }
  }
  if (contents_.size() >= max_contents) contents_.clear();
  copied_content& known = contents_[correlation];
  // The hash may arrive before its announcement, through the ring of another thread.
  if (moved.stage == ring::content_stage::awaited && known.stage == ring::content_stage::arrived) return;
  known = moved;
}

bool work_joiner::awaits_content(const transfer_event& copy) {
  if (copy.direction != direction::d2h) return false;
  const moved_memory* const m = moved_.find(copy.correlation);
  return m != nullptr && m->content.stage == ring::content_stage::awaited;
}

namespace {
/// A copy described only by its call has direction d2d. Changes that to p2p if the blocks are on different devices.
void between_devices(transfer_event& copy, device_id source, device_id destination) {
  if (copy.direction != direction::d2d || copy.peer != device_id::none) return;
  if (source == device_id::none || destination == device_id::none || source == destination) return;
  copy.direction = direction::p2p;
  copy.device = destination;
  copy.peer = source;
}
}  // namespace

void work_joiner::add_call(std::uint64_t correlation, const call& c, std::uint64_t source, std::uint64_t destination,
                           std::uint64_t bytes) {
  moved_memory moved;
  if (!contents_.empty()) {
    if (const auto content = contents_.find(correlation); content != contents_.end()) {
      moved.content = content->second;
      contents_.erase(content);
    }
  }
  if (correlation == 0) return;
  const auto forget = [&](std::uint64_t other) {
    if (batches_.empty()) return;
    if (const auto found = batches_.find(other); found != batches_.end()) forget_batch(found);
  };
  calls_.put(correlation, c, forget);
  moved.source = source;
  moved.destination = destination;
  moved.bytes = bytes;
  if ((source | destination | bytes) != 0 || moved.content.check != content_check::none ||
      moved.content.stage == ring::content_stage::awaited) {
    add_moved(correlation, moved);
  } else {
    moved_.erase(correlation);
  }
  if (!waiting_for_.empty() && moved.content.stage != ring::content_stage::awaited) write_waiting(correlation, c);
}

void work_joiner::add_moved(std::uint64_t correlation, moved_memory m) {
  m.source_block = blocks_.find(m.source);
  m.destination_block = blocks_.find(m.destination);
  const auto lies_there = [&](std::uint64_t address, memory_kind& kind, device_id& device) {
    const alloc_event* there = blocks_.find_live(address);
    if (there == nullptr) return;
    kind = there->kind;
    if (kind == memory_kind::device || kind == memory_kind::mapping) device = there->device;
  };
  lies_there(m.source, m.source_kind, m.source_device);
  lies_there(m.destination, m.destination_kind, m.destination_device);
  moved_.put(correlation, m);
}

void work_joiner::write_waiting(std::uint64_t correlation, const call& c) {
  const auto [first, last] = waiting_for_.equal_range(correlation);
  if (first == last) return;
  const std::uint64_t front = next_number_ - waiting_.size();
  for (auto w = first; w != last; ++w) {
    waiting_work& waiting = waiting_[static_cast<std::size_t>(w->second - front)];
    write(waiting.row, &c);
    waiting.number = written_already;
  }
  waiting_for_.erase(first, last);
}

// ------------------------------------------------------------------------------------------------------------ batches

void work_joiner::add_parts(std::uint64_t correlation, std::uint64_t total, std::uint64_t first,
                            const std::vector<copy_part>& parts) {
  if (correlation == 0) return;
  if (const auto before = batches_.find(correlation); before != batches_.end() && first == 0) forget_batch(before);
  if (waiting_parts_ + parts.size() > max_parts) return;
  batch& copies = batches_[correlation];
  copies.total = total;
  waiting_parts_ += parts.size();
  const auto is_host = [](memory_kind kind) { return kind == memory_kind::host || kind == memory_kind::pinned; };
  for (const copy_part& p : parts) {
    transfer_part_event& row = copies.parts.emplace_back();
    row.index = first + static_cast<std::uint64_t>(&p - parts.data());
    row.count = total;
    row.bytes = p.bytes;
    row.source_address = p.source;
    row.destination_address = p.destination;
    row.source_block = blocks_.find(p.source);
    row.destination_block = blocks_.find(p.destination);
    // Memory without a block is host memory.
    const alloc_event* source = blocks_.find_live(p.source);
    const alloc_event* destination = blocks_.find_live(p.destination);
    row.source_kind = source == nullptr ? memory_kind::host : source->kind;
    row.destination_kind = destination == nullptr ? memory_kind::host : destination->kind;
    const bool from_host = is_host(row.source_kind);
    const bool to_host = is_host(row.destination_kind);
    row.direction =
        from_host ? (to_host ? direction::h2h : direction::h2d) : (to_host ? direction::d2h : direction::d2d);
    if (source != nullptr && destination != nullptr && row.direction == direction::d2d &&
        source->device != destination->device)
      row.direction = direction::p2p;
  }
}

void work_joiner::forget_batch(batches::iterator found) {
  waiting_parts_ -= found->second.parts.size();
  batches_.erase(found);
}

/// For a record of one copy: uses the first remaining part with the same size and direction.
void work_joiner::take_part(transfer_event& copy, batch& copies) {
  const auto found = std::find_if(copies.parts.begin(), copies.parts.end(), [&](const transfer_part_event& p) {
    return p.bytes == copy.bytes && p.direction == copy.direction;
  });
  if (found == copies.parts.end()) return;
  copy.source_address = found->source_address;
  copy.destination_address = found->destination_address;
  copy.source_block = found->source_block;
  copy.destination_block = found->destination_block;
  copy.source_kind = better_kind(copy.source_kind, found->source_kind);
  copy.destination_kind = better_kind(copy.destination_kind, found->destination_kind);
  copies.parts.erase(found);
  --waiting_parts_;
}

/// For a record of several copies: takes all parts of the call, or those with its direction.
void work_joiner::write_with_parts(transfer_event& whole, batches::iterator found, const call& c) {
  whole.source_address = whole.destination_address = 0;
  const auto id = static_cast<event_id>(file_.add(whole));
  std::vector<transfer_part_event>& parts = found->second.parts;
  const bool complete = whole.copies >= found->second.total;
  std::vector<transfer_part_event> left;
  std::uint64_t taken = 0;
  for (transfer_part_event& row : parts) {
    if (!complete && (taken == whole.copies || row.direction != whole.direction)) {
      left.push_back(row);
      continue;
    }
    ++taken;
    row.time = c.begin;
    row.process = whole.process;
    row.thread = c.thread;
    row.transfer = id;
    row.call = c.id;
    file_.add(row);
  }
  waiting_parts_ -= parts.size() - left.size();
  parts = std::move(left);
  if (parts.empty()) batches_.erase(found);
}

// --------------------------------------------------------------------------------------------------------------- work

void work_joiner::wait(const device_work& w, const turn_clock& now) {
  waiting_for_.emplace(get_correlation(w), next_number_);
  waiting_.push_back({w, now, next_number_});
  ++next_number_;
}

void work_joiner::add_watermark(const watermark_event& watermark) {
  watermark_ = watermark;
  watermark_after_ = next_number_;
  watermark_waits_ = true;
  if (waiting_.empty()) write_watermark();
}

void work_joiner::write_watermark() {
  if (!watermark_waits_) return;
  watermark_waits_ = false;
  file_.add(watermark_);
}

void work_joiner::settle(const turn_clock& now, bool everything) {
  while (!waiting_.empty()) {
    waiting_work& oldest = waiting_.front();
    if (oldest.number != written_already) {
      if (!everything && !now.is_over(oldest.since) && waiting_.size() <= most_waiting) break;
      const std::uint64_t correlation = get_correlation(oldest.row);
      const auto [first, last] = waiting_for_.equal_range(correlation);
      for (auto w = first; w != last; ++w) {
        if (w->second != oldest.number) continue;
        waiting_for_.erase(w);
        break;
      }
      // If this work waited for the hash of the copied data, its call is known.
      write(oldest.row, correlation == 0 ? nullptr : calls_.find(correlation));
    }
    waiting_.pop_front();
  }
  if (watermark_waits_ && next_number_ - waiting_.size() >= watermark_after_) write_watermark();
}

void work_joiner::write(device_work& w, const call* c) {
  std::visit([&](auto& row) { finish(row, c); }, w);
}

void work_joiner::take_moved(transfer_event& copy, moved_memory& m) {
  m.taken = true;
  if (copy.source_address == 0) copy.source_address = m.source;
  if (copy.destination_address == 0) copy.destination_address = m.destination;
  if (copy.source_address == m.source) copy.source_block = m.source_block;
  if (copy.destination_address == m.destination) copy.destination_block = m.destination_block;
  copy.source_kind = better_kind(copy.source_kind, m.source_kind);
  copy.destination_kind = better_kind(copy.destination_kind, m.destination_kind);
  between_devices(copy, m.source_device, m.destination_device);
  const bool from_host = copy.direction == direction::h2d && m.content.stage == ring::content_stage::source;
  const bool to_host = copy.direction == direction::d2h && m.content.stage == ring::content_stage::arrived;
  if (!from_host && !to_host) return;
  copy.content = m.content.check;
  copy.content_hash = m.content.hash;
  copy.content_bytes = m.content.bytes;
}

block_id work_joiner::block_at(std::uint64_t address, time_ns asked) const {
  const alloc_event* const now = blocks_.find_live(address);
  return now != nullptr && now->time > asked ? block_id::none : blocks_.find(address);
}

void work_joiner::finish(transfer_event& copy, const call* c) {
  if (c != nullptr) {
    copy.call = c->id;
    copy.thread = c->thread;
    copy.enqueued = c->begin;
    if (const auto found = batches_.find(copy.correlation); found != batches_.end()) {
      if (copy.copies > 1) return write_with_parts(copy, found, *c);
      take_part(copy, found->second);
    }
    moved_memory* const m = moved_.find(copy.correlation);
    if (m != nullptr && !m->taken && (m->bytes == 0 || m->bytes == copy.bytes)) take_moved(copy, *m);
  }
  const time_ns asked = c != nullptr ? c->begin : copy.time;
  if (copy.source_block == block_id::none) copy.source_block = block_at(copy.source_address, asked);
  if (copy.destination_block == block_id::none) copy.destination_block = block_at(copy.destination_address, asked);
  file_.add(copy);
}

void work_joiner::finish(memset_event& fill, const call* c) {
  if (c != nullptr) {
    fill.call = c->id;
    fill.enqueued = c->begin;
    fill.thread = c->thread;
    if (moved_memory* const m = moved_.find(fill.correlation)) {
      if (fill.address == 0 && !m->taken) fill.address = m->destination;
      m->taken = true;
      if (fill.address == m->destination) fill.block = m->destination_block;
    }
  }
  if (fill.block == block_id::none) fill.block = block_at(fill.address, c != nullptr ? c->begin : fill.time);
  file_.add(fill);
}

void work_joiner::finish(kernel_event& kernel, const call* c) {
  if (c != nullptr) join(kernel, *c);
  file_.add(kernel);
}

}  // namespace sluice::writer
