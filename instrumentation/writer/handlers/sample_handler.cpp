#include "instrumentation/writer/handlers/sample_handler.hpp"

#include <algorithm>

#include "instrumentation/ring/producer_state.hpp"
#include "instrumentation/unwind/merge_frames.hpp"

namespace sluice::writer {

using namespace trace;

void sample_handler::define(recorded_process& process, const raw_module& module) {
  ring::module_record record{};
  record.path = ring::detail::hash_text(module.path.data(), module.path.size());
  record.base = module.base;
  record.begin = module.begin;
  record.end = module.end;
  record.build_id_bytes = std::min(module.build_id.size(), sizeof record.build_id);
  std::copy_n(module.build_id.begin(), record.build_id_bytes, record.build_id);
  // The process may know the same file with other limits: the loader's instead of those of the segments.
  const auto& known = process.stacks.modules.by_begin;
  auto after = known.upper_bound(record.begin);
  if (after != known.begin() && std::prev(after)->second.record.end > record.begin) --after;
  if (after != known.end() && after->second.record.begin < record.end && after->second.record.path == record.path &&
      after->second.record.base == record.base) {
    return;
  }
  if (names_.define_text(record.path, module.path)) static_cast<void>(stacks_.define(process.stacks, record));
}

void sample_handler::define(recorded_process& process, const raw_thread& thread) {
  constexpr std::size_t max_names = 65536;
  const auto tid = static_cast<std::uint64_t>(thread.tid);
  if (thread_names_.size() < max_names && !process.names.threads.contains(tid))
    thread_names_[{&process, tid}] = thread.name;
}

void sample_handler::define(recorded_process& process, const raw_name& name) {
  const std::uint64_t key = ring::detail::hash_text(name.function.data(), name.function.size());
  if (names_.define_text(key, name.function)) stacks_.define_name(process.stacks, name.pc, names_.text(key));
}

void sample_handler::add(recorded_process& process, raw_sample sample) {
  waiting_.push_back({&process, std::move(sample)});
}

void sample_handler::settle(bool everything) {
  const time_ns until = clock_.present() - wait;
  while (!waiting_.empty()) {
    const raw_sample& first = waiting_.front().sample;
    const auto end = static_cast<std::uint64_t>(first.monotonic + first.length);
    if (!everything && clock_.convert_unchecked(end, false) > until) return;
    write(*waiting_.front().process, first);
    waiting_.pop_front();
  }
}

void sample_handler::write(recorded_process& process, const raw_sample& sample) {
  if (process.recorder_threads.contains(static_cast<std::uint64_t>(sample.tid))) return;
  host_sample_event row;
  row.process = process.names.id;
  row.time = clock_.convert_unchecked(static_cast<std::uint64_t>(sample.monotonic), false);
  const time_ns end = row.time + sample.length;
  row.time = std::max<time_ns>(row.time, 0);
  if (end <= row.time) return;
  row.length = end - row.time;
  row.thread = find_thread(process, sample);
  if (row.thread == thread_id::none) return;
  row.state = sample.state;
  row.system_call = sample.system_call;
  row.stack = find_stack(process, sample, row);
  file_.add(row);
}

/// None for a thread that has no row and only waits, such as those of the CUDA driver.
thread_id sample_handler::find_thread(recorded_process& process, const raw_sample& sample) {
  const auto tid = static_cast<std::uint64_t>(sample.tid);
  if (const auto known = process.names.threads.find(tid); known != process.names.threads.end()) return known->second.id;
  if (!used_cpu(sample)) return thread_id::none;
  const auto name = thread_names_.extract({&process, tid});
  return names_.thread(process.names, tid, name.empty() ? std::string() : name.mapped());
}

/// In a long call of a library, the frames are those that the thread itself sent as it entered the call: a piece of a
/// stack is often too short to show them. Otherwise: a tick is at the end of its piece; a wait has the same frames from
/// begin to end.
stack_id sample_handler::find_stack(recorded_process& process, const raw_sample& sample, host_sample_event& row) {
  const auto tid = static_cast<std::uint64_t>(sample.tid);
  const std::uint64_t call = process.library_calls.find(tid, row.time + row.length / 2);
  if (const stack_id stack = stacks_.stack(process.stacks, call); stack != stack_id::none) {
    row.python_distance = 0;
    return stack;
  }
  const bool waits = row.state == host_state::blocked || row.state == host_state::runnable;
  const time_ns end = row.time + row.length;
  const time_ns at = waits ? row.time + row.length / 2 : end;
  const time_ns reach = waits ? std::max(row.length / 2, max_python_distance) : max_python_distance;
  const auto python = process.python_stacks.find(tid, at, reach);
  python_.clear();
  if (python) stacks_.append_frames(process.stacks, python->stack_key, python_);
  if (python_.empty()) return stacks_.find(process.stacks, sample.frames);
  python_.resize(std::min<std::size_t>(python_.size(), 8 * sizeof(python->entries)));
  const bool within = waits && python->time >= row.time && python->time <= end;
  row.python_distance = within ? 0 : std::abs(python->time - at);
  merged_.resize(sample.frames.size() + python_.size());
  const std::size_t count = unwind::merge_frames(
      sample.frames.data(), sample.frames.size(), {python_.data(), python_.size(), python->entries.data()},
      merged_.data(), merged_.size(), [&](std::uint64_t pc) {
        return std::find(sample.evaluations.begin(), sample.evaluations.end(), pc) != sample.evaluations.end();
      });
  return stacks_.find(process.stacks, std::span(merged_).first(count));
}

}  // namespace sluice::writer
