#include "core/metrics/statistics/allocation_retries.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"

namespace sluice::metrics {
namespace {

bool is_of_driver(trace::layer layer) { return layer == trace::layer::driver || layer == trace::layer::pool; }

bool in_order(const trace::alloc_failed_event& a, const trace::alloc_failed_event& b) {
  return std::tuple(a.time, a.id) < std::tuple(b.time, b.id);
}

/// The maximum number of frames of a stack. In a damaged file, the parents of a stack may form a cycle.
constexpr int max_frames = 4096;

}  // namespace

/// Returns the stack from its innermost Python frame on, because an allocator's own frames differ between attempts.
trace::stack_id retries_builder::python_part(trace::stack_id stack) const {
  for (int left = max_frames; stack != trace::stack_id::none && left > 0; --left) {
    const trace::stack_row* row = scope_.tables().stacks.find(stack);
    if (row == nullptr) break;
    const trace::frame_row* frame = scope_.tables().frames.find(row->frame);
    if (frame != nullptr && frame->kind == trace::frame_kind::python) return stack;
    stack = row->parent;
  }
  return trace::stack_id::none;
}

bool retries_builder::same_caller(trace::stack_id a, trace::stack_id b) const {
  const trace::stack_id one = python_part(a);
  const trace::stack_id other = python_part(b);
  return one == other || one == trace::stack_id::none || other == trace::stack_id::none;
}

bool retries_builder::serves(const index::block_record& block, const trace::alloc_failed_event& failed) const {
  if (!block.allocated || block.born_before() || block.imported() || block.born < bounded(failed.time)) return false;
  return is_of_driver(block.layer) ? block.layer == failed.layer && block.kind == failed.kind
                                   : index::is_device_resident(failed.kind);
}

void retries_builder::add_failures(std::span<const trace::alloc_failed_event> rows) {
  if (rows.size() == failures_) return;
  failures_ = rows.size();
  for (const trace::alloc_failed_event& row : rows) {
    if (row.thread == trace::thread_id::none) continue;
    const trace::device_id device = index::is_host_resident(row.kind) ? trace::device_id::none : row.device;
    threads_[{row.process, row.thread, device}].push_back({row, {}});
    wanted_ = wanted_ || is_of_driver(row.layer);
  }
  // If the same failure is added again, keep the first entry, because it has the block that satisfied the request.
  const auto before = [](const attempt& a, const attempt& b) { return in_order(a.row, b.row); };
  for (auto& [thread, attempts] : threads_) {
    std::stable_sort(attempts.begin(), attempts.end(), before);
    const auto again = std::unique(attempts.begin(), attempts.end(),
                                   [&](const attempt& a, const attempt& b) { return !before(a, b); });
    attempts.erase(again, attempts.end());
  }
}

void retries_builder::add(const index::memory_use& memory) {
  add_failures(memory.failed());
  if (!wanted_) return;
  for (const index::block_record& block : memory.blocks()) {
    if (!block.allocated || block.thread == trace::thread_id::none) continue;
    const auto known = threads_.find({block.process, block.thread, block.device});
    if (known == threads_.end()) continue;
    std::vector<attempt>& attempts = known->second;
    auto at = std::upper_bound(attempts.begin(), attempts.end(), block.born,
                               [](time_ns born, const attempt& each) { return born < bounded(each.row.time); });
    // Find the last attempt before the block that could satisfy it. The verdicts on the earlier attempts depend on that
    // attempt.
    while (at != attempts.begin()) {
      --at;
      if (!is_of_driver(at->row.layer)) break;
      if (!serves(block, at->row)) continue;
      const bool earlier =
          !at->next.allocated || std::tuple(block.born, block.id) < std::tuple(at->next.born, at->next.id);
      if (earlier) at->next = block;
      break;
    }
  }
}

std::vector<retries_builder::verdict> retries_builder::judge(const std::vector<attempt>& attempts) const {
  std::vector<verdict> verdicts(attempts.size());
  const index::block_record* next = nullptr;         // The next block after the attempts examined so far.
  const trace::alloc_failed_event* above = nullptr;  // The next failure that a framework reported, before that block.
  for (std::size_t i = attempts.size(); i-- > 0;) {
    const attempt& subject = attempts[i];
    if (!is_of_driver(subject.row.layer)) {
      above = &subject.row;
      next = nullptr;
      continue;
    }
    if (subject.next.allocated) {
      next = &subject.next;
      above = nullptr;
    }
    if (above != nullptr) {
      verdicts[i].kind = outcome::reported_again;
    } else if (next != nullptr && serves(*next, subject.row) && same_caller(next->stack, subject.row.stack) &&
               (!is_of_driver(next->layer) || next->bytes >= subject.row.bytes)) {
      verdicts[i] = {outcome::retried, next};
    }
  }
  return verdicts;
}

allocation_retries retries_builder::retries() const {
  allocation_retries output;
  for (const auto& [thread, attempts] : threads_) {
    const std::vector<verdict> verdicts = judge(attempts);
    const index::block_record* last = nullptr;
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      const trace::alloc_failed_event& row = attempts[i].row;
      if (row.time < scope_.range.begin || row.time >= scope_.range.end) continue;
      if (verdicts[i].kind == outcome::reported_again) ++output.reported_again;
      if (verdicts[i].kind != outcome::retried) continue;
      const index::block_record& by = *verdicts[i].by;
      ++output.count;
      if (&by != last) output.total = saturating_sum(output.total, by.born - bounded(row.time));
      last = &by;
      output.first.push_back({row.id, by.id, bounded(row.time), by.born, row.process, row.device, row.layer, row.kind,
                              row.name, row.bytes});
    }
  }
  std::sort(output.first.begin(), output.first.end(),
            [](const auto& a, const auto& b) { return std::tuple(a.time, a.event) < std::tuple(b.time, b.event); });
  if (output.first.size() > allocation_retries::limit) output.first.resize(allocation_retries::limit);
  return output;
}

std::vector<trace::event_id> retries_builder::survived() const {
  std::vector<trace::event_id> ids;
  for (const auto& [thread, attempts] : threads_) {
    const std::vector<verdict> verdicts = judge(attempts);
    for (std::size_t i = 0; i < attempts.size(); ++i)
      if (verdicts[i].kind != outcome::error) ids.push_back(attempts[i].row.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<trace::alloc_failed_event> failures_that_reached(const retries_builder& retries,
                                                             std::span<const trace::alloc_failed_event> failed) {
  const std::vector<trace::event_id> survived = retries.survived();
  std::vector<trace::alloc_failed_event> rows;
  for (const trace::alloc_failed_event& row : failed)
    if (!std::binary_search(survived.begin(), survived.end(), row.id)) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  return rows;
}

std::vector<trace::alloc_failed_event> failures_that_reached(const index::memory_use& memory,
                                                             const trace::snapshot& trace) {
  const metrics_scope scope{&trace, all_time};
  retries_builder retries(scope);
  retries.add(memory);
  return failures_that_reached(retries, memory.failed());
}

}  // namespace sluice::metrics
