#include "core/metrics/out_of_memory/memory_at_failure.hpp"

#include <algorithm>
#include <optional>

#include "core/base/saturating.hpp"
#include "core/replay/allocator_rules.hpp"

namespace sluice::metrics {

memory_at_failure::memory_at_failure(const trace::alloc_failed_event& failed,
                                     std::span<const trace::alloc_failed_event> all_failed,
                                     const index::event_store& store, time_range run,
                                     const fragmentation_builder& segments, const trace::tables& tables)
    : failed_(failed), all_failed_(all_failed), memory_(store.memory()), time_(bounded(failed.time)) {
  const std::span<const index::block_record> blocks = memory_.blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!is_subject(blocks[i])) continue;
    live_.push_back(i);
    saturating_add(used_, blocks[i].bytes);
  }
  if (failed.layer != trace::layer::driver)
    for (segment_layout& segment : segments.segments_at({failed.device, failed.layer, failed.kind}, time_, memory_)) {
      if (blocks[segment.block].process != failed.process) continue;
      mapped_ = mapped_ || segment.mapped;
      saturating_add(reserved_, segment.bytes);
      segments_.push_back(std::move(segment));
    }
  if (failed.layer == trace::layer::driver)
    for (const segment_layout& segment :
         segments.segments_at({failed.device, trace::layer::framework, failed.kind}, time_, memory_))
      if (segment.pieces.empty() && blocks[segment.block].process == failed.process)
        saturating_add(releasable_, segment.bytes);
  needed_ = failed.bytes;
  if (is_of_framework() && !segments_.empty())
    needed_ = mapped_ ? (failed.bytes + replay::large_segment - 1) / replay::large_segment * replay::large_segment
                      : replay::segment_size(failed.bytes);
  if (mapped_ && failed.bytes <= replay::largest_small) needed_ = replay::small_segment;
  if (segments_.empty()) reserved_ = used_;
  // Memory of the driver's own pools has no segments, because pool events report the size of the pool.
  const auto pool = memory_.pools().find(failed.pool);
  if (segments_.empty() && failed.layer == trace::layer::pool && pool != memory_.pools().end()) {
    const double held = pool->second.reserved.over(time_, time_ + 1).maximum;
    if (held > static_cast<double>(reserved_)) reserved_ = saturating_cast<std::uint64_t>(held);
  }
  const trace::process_row* process = tables.processes.find(failed.process);
  records_driver_ = process != nullptr && process->mode != trace::recording_mode::unknown;
  find_free(run, tables);
}

bool memory_at_failure::is_subject(const index::block_record& block) const {
  if (!block.allocated || block.imported() || !block.live_at(time_)) return false;
  // All driver memory on a device counts, whichever process holds it, because processes compete for it.
  if (failed_.layer == trace::layer::driver && index::is_device_resident(failed_.kind))
    return block.layer == trace::layer::driver && block.device == failed_.device &&
           index::is_device_resident(block.kind);
  return index::get_key(block) == index::memory_key{failed_.device, failed_.layer, failed_.kind} &&
         block.process == failed_.process;
}

/// True if the driver refused the request. The framework then reports a failure right after the driver, and the thread
/// allocates no block in between.
bool memory_at_failure::driver_refused() const {
  if (!is_of_framework()) return index::is_device_resident(failed_.kind);
  time_ns last_birth = -latest_time;
  for (const index::block_record& block : memory_.blocks())
    if (block.allocated && block.layer == trace::layer::framework && block.thread == failed_.thread &&
        block.process == failed_.process && block.born <= time_)
      last_birth = std::max(last_birth, block.born);
  return std::any_of(all_failed_.begin(), all_failed_.end(), [&](const trace::alloc_failed_event& row) {
    return row.layer == trace::layer::driver && row.process == failed_.process && row.thread == failed_.thread &&
           bounded(row.time) <= time_ && bounded(row.time) >= last_birth;
  });
}

/// What a sample says about the time of the failure. The driver's calls that run while a sample is taken can be in the
/// sample or not, so `free` is exact only if `changed` is 0.
memory_at_failure::free_memory memory_at_failure::estimate_free(const index::device_samples::sample& from,
                                                                time_range run) const {
  free_memory output{&from, 0, 0};
  std::uint64_t now = 0;
  std::uint64_t then = 0;
  for (const index::block_record& block : memory_.blocks()) {
    if (!index::takes_device_memory(block) || block.layer != trace::layer::driver || block.device != failed_.device)
      continue;
    const bool is_live = block.live_at(time_);
    const bool was_live = block.live_at(from.time);
    if (is_live) saturating_add(now, block.bytes);
    if (was_live) saturating_add(then, block.bytes);
    if (is_live != was_live) saturating_add(output.changed, block.bytes);
  }
  // Blocks that were freed before this part of the recording are unknown.
  if (from.time < run.begin) then = now;
  const std::uint64_t before = saturating_sum(from.free, then);
  output.free = before > now ? std::min(before - now, from.total) : 0;
  return output;
}

/// Uses the last sample before the failure, or the first one after it if the driver gave or took back less memory in
/// between. The one after it counts only if it agrees with the failure: a process that has ended leaves memory free.
std::optional<memory_at_failure::free_memory> memory_at_failure::choose_sample(const index::device_samples& samples,
                                                                               time_range run, bool refused) const {
  std::optional<free_memory> output;
  if (const auto* before = samples.last_until(time_)) output = estimate_free(*before, run);
  const auto after = std::upper_bound(samples.samples.begin(), samples.samples.end(), time_,
                                      [](time_ns time, const auto& each) { return time < each.time; });
  if (!refused || after == samples.samples.end()) return output;
  const free_memory later = estimate_free(*after, run);
  if (later.free < needed_ && (!output || later.changed < output->changed)) output = later;
  return output;
}

void memory_at_failure::find_free(time_range run, const trace::tables& tables) {
  if (!index::is_device_resident(failed_.kind)) return;
  const trace::device_row* device = tables.devices.find(failed_.device);
  device_bytes_ = device == nullptr ? 0 : device->memory_bytes;
  const bool refused = driver_refused();
  const auto samples = memory_.devices().find(failed_.device);
  if (samples != memory_.devices().end()) {
    if (const std::optional<free_memory> found = choose_sample(samples->second, run, refused)) {
      free_known_ = true;
      free_ = found->free;
      if (device_bytes_ == 0) device_bytes_ = found->from->total;
      const double untracked = samples->second.untracked.over(found->from->time, found->from->time + 1).maximum;
      others_ = untracked > 0 ? saturating_cast<std::uint64_t>(untracked) : 0;
    }
  }
  if (refused || (free_known_ && free_ < needed_)) {
    limit_ = memory_limit::device;
  } else if (is_of_framework() && (free_known_ || records_driver_) && !segments_.empty()) {
    limit_ = memory_limit::framework;
  }
  // If a sample shows enough free memory for the request, it is outdated.
  if (limit_ == memory_limit::device && free_known_ && free_ < needed_) room_ = free_;
}

void memory_at_failure::describe(out_of_memory& into) const {
  into.asked = failed_.bytes;
  into.needed = needed_;
  into.limit = limit_;
  into.device_bytes = device_bytes_;
  into.device_free_known = free_known_;
  into.device_free = free_;
  into.others = others_;
  into.used = used_;
  into.reserved = reserved_;
  into.segments = segments_.size();
  into.missing = needed_ - room_;
  into.releasable = releasable_;
  if (limit_ == memory_limit::device) into.limit_from = into.limit_to = device_bytes_;
  if (limit_ == memory_limit::framework) {
    into.limit_from = reserved_;
    into.limit_to = saturating_sum(reserved_, needed_ - std::min<std::uint64_t>(needed_, 1));
  }
  for (const segment_layout& segment : segments_)
    visit_holes(segment, [&](std::uint64_t /*offset*/, std::uint64_t bytes) {
      into.largest_hole = std::max(into.largest_hole, bytes);
    });
}

bool memory_at_failure::is_small(const segment_layout& segment) const {
  if (!segment.mapped) return segment.bytes <= replay::small_segment;
  return std::all_of(segment.pieces.begin(), segment.pieces.end(),
                     [](const auto& piece) { return piece.bytes <= replay::largest_small; });
}

/// True if the segment serves requests like the failed request. PyTorch keeps separate segments for small and large
/// requests, and for each stream.
bool memory_at_failure::serves(const segment_layout& segment) const {
  if (!is_of_framework()) return true;
  if (is_small(segment) != (failed_.bytes <= replay::largest_small)) return false;
  if (failed_.stream == trace::stream_id::none || segment.pieces.empty()) return true;
  const trace::stream_id stream = memory_.blocks()[segment.pieces.front().block].stream;
  return stream == trace::stream_id::none || stream == failed_.stream;
}

std::uint64_t memory_at_failure::find_page(const segment_layout& segment) const {
  return is_of_framework() && !is_small(segment) ? replay::large_segment : replay::small_segment;
}

std::uint64_t memory_at_failure::free_pages(const segment_layout& segment, const std::vector<bool>& left_out) const {
  const std::uint64_t page = find_page(segment);
  std::uint64_t sum = 0;
  visit_holes(
      segment, [&](const segment_layout::piece& piece) { return left_out[piece.block]; },
      [&](std::uint64_t offset, std::uint64_t bytes) {
        const std::uint64_t first = (offset + page - 1) / page * page;
        const std::uint64_t end = offset + bytes == segment.bytes ? segment.bytes : (offset + bytes) / page * page;
        if (end > first) sum += end - first;
      });
  return sum;
}

bool memory_at_failure::fits_without(const std::vector<bool>& left_out) const {
  std::uint64_t given_back = 0;
  if (segments_.empty()) {
    for (const std::size_t at : live_)
      if (left_out[at]) saturating_add(given_back, memory_.blocks()[at].bytes);
    return saturating_sum(room_, given_back) >= needed_;
  }
  const std::vector<bool> nothing(left_out.size());
  for (const segment_layout& segment : segments_) {
    const auto goes = [&](const segment_layout::piece& piece) { return left_out[piece.block]; };
    // Segments that were already empty have been returned before, or are kept permanently.
    if (segment.pieces.empty() || std::none_of(segment.pieces.begin(), segment.pieces.end(), goes)) continue;
    if (serves(segment)) {
      bool fits = false;
      visit_holes(segment, goes,
                  [&](std::uint64_t /*offset*/, std::uint64_t bytes) { fits = fits || bytes >= failed_.bytes; });
      if (fits) return true;
    }
    if (segment.mapped) {
      const std::uint64_t before = free_pages(segment, nothing);
      const std::uint64_t after = free_pages(segment, left_out);
      if (after > before) saturating_add(given_back, after - before);
    } else if (std::all_of(segment.pieces.begin(), segment.pieces.end(), goes)) {
      saturating_add(given_back, segment.bytes);
    }
  }
  return saturating_sum(room_, given_back) >= needed_;
}

}  // namespace sluice::metrics
