#include "instrumentation/collector/work_joiner.hpp"

#include <utility>

namespace sluice::collector {

using namespace trace;

namespace {

/// Kept for work that is still to come: some 25 MB a process at most.
constexpr std::size_t most_calls = std::size_t{1} << 18;
constexpr std::size_t most_waiting = std::size_t{1} << 16;
constexpr std::uint64_t written_already = UINT64_MAX;

std::uint64_t correlation_of(const work_joiner::work& w) {
  return std::visit([](const auto& row) { return row.correlation; }, w);
}

/// CUPTI does not always say, and may take registered memory for pageable; what lay there is known.
memory_kind better_kind(memory_kind said, memory_kind known) {
  const bool page_locked = known == memory_kind::pinned || known == memory_kind::managed;
  if (said == memory_kind::host && page_locked) return known;
  const bool plain = page_locked || known == memory_kind::device || known == memory_kind::array;
  return said == memory_kind::unknown && plain ? known : said;
}

}  // namespace

void work_joiner::add_call(std::uint64_t correlation, call c) {
  c.source_block = blocks_.find(c.source);
  c.destination_block = blocks_.find(c.destination);
  if (const alloc_event* there = blocks_.find_live(c.source)) c.source_kind = there->kind;
  if (const alloc_event* there = blocks_.find_live(c.destination)) c.destination_kind = there->kind;
  if (correlation == 0) return;
  const auto [place, fresh] = calls_.insert_or_assign(correlation, c);
  if (fresh) {
    call_order_.push_back(correlation);
    if (call_order_.size() > most_calls) {
      calls_.erase(call_order_.front());
      call_order_.pop_front();
    }
  }
  const auto [first, last] = waiting_for_.equal_range(correlation);
  if (first == last) return;
  const std::uint64_t front = next_number_ - waiting_.size();
  for (auto w = first; w != last; ++w) {
    waiting_work& waiting = waiting_[static_cast<std::size_t>(w->second - front)];
    write(waiting.what, &place->second);
    waiting.number = written_already;
  }
  waiting_for_.erase(first, last);
}

void work_joiner::add_work(work w, const patience& now) {
  const std::uint64_t correlation = correlation_of(w);
  const auto known = correlation == 0 ? calls_.end() : calls_.find(correlation);
  if (correlation == 0 || known != calls_.end()) {
    write(w, known == calls_.end() ? nullptr : &known->second);
    return;
  }
  waiting_for_.emplace(correlation, next_number_);
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

void work_joiner::settle(const patience& now, bool everything) {
  while (!waiting_.empty()) {
    waiting_work& oldest = waiting_.front();
    if (oldest.number != written_already) {
      if (!everything && !now.is_over(oldest.since) && waiting_.size() <= most_waiting) break;
      const std::uint64_t correlation = correlation_of(oldest.what);
      const auto [first, last] = waiting_for_.equal_range(correlation);
      for (auto w = first; w != last; ++w) {
        if (w->second != oldest.number) continue;
        waiting_for_.erase(w);
        break;
      }
      write(oldest.what, nullptr);
    }
    waiting_.pop_front();
  }
  if (watermark_waits_ && next_number_ - waiting_.size() >= watermark_after_) write_watermark();
}

void work_joiner::write(work& w, call* c) {
  std::visit([&](auto& row) { finish(row, c); }, w);
}

void work_joiner::finish(transfer_event& copy, call* c) {
  if (c != nullptr) {
    copy.call = c->id;
    copy.thread = c->thread;
    copy.enqueued = c->begin;
    const bool same = !c->addresses_taken && (c->bytes == 0 || c->bytes == copy.bytes);
    if (same) {
      c->addresses_taken = true;
      if (copy.source_address == 0) copy.source_address = c->source;
      if (copy.destination_address == 0) copy.destination_address = c->destination;
      if (copy.source_address == c->source) copy.source_block = c->source_block;
      if (copy.destination_address == c->destination) copy.destination_block = c->destination_block;
      copy.source_kind = better_kind(copy.source_kind, c->source_kind);
      copy.destination_kind = better_kind(copy.destination_kind, c->destination_kind);
    }
  }
  if (copy.source_block == block_id::none) copy.source_block = blocks_.find(copy.source_address);
  if (copy.destination_block == block_id::none) copy.destination_block = blocks_.find(copy.destination_address);
  file_.add(copy);
}

void work_joiner::finish(memset_event& fill, call* c) {
  if (c != nullptr) {
    fill.call = c->id;
    fill.thread = c->thread;
    if (fill.address == 0 && !c->addresses_taken) fill.address = c->destination;
    c->addresses_taken = true;
    if (fill.address == c->destination) fill.block = c->destination_block;
  }
  if (fill.block == block_id::none) fill.block = blocks_.find(fill.address);
  file_.add(fill);
}

void work_joiner::finish(kernel_event& kernel, call* c) {
  if (c != nullptr) {
    kernel.call = c->id;
    kernel.thread = c->thread;
    kernel.enqueued = c->begin;
  }
  file_.add(kernel);
}

}  // namespace sluice::collector
