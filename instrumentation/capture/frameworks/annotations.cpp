#include "instrumentation/capture/frameworks/annotations.hpp"

#include <atomic>

#include "instrumentation/capture/blocks/contents.hpp"
#include "instrumentation/capture/frameworks/torch.hpp"
#include "instrumentation/capture/process/other_profilers.hpp"
#include "instrumentation/capture/process/recording.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/capture/python_samples/python_sampler.hpp"

namespace sluice::capture::annotations {

namespace {

std::atomic<std::uint64_t> last_range{0};
std::atomic<std::int64_t> next_step{0};
std::atomic<bool> sampling_paused{false};

void begin(std::uint64_t id, std::uint64_t name, std::uint64_t domain) {
  ring::range_begin_record out{};
  out.header.time = ring::now();
  out.id = id;
  out.name = name;
  out.domain = domain;
  ring::emit(out);
}

void finish(std::uint64_t id, std::uint64_t domain) {
  ring::range_end_record out{};
  out.header.time = ring::now();
  out.id = id;
  out.domain = domain;
  ring::emit(out);
}

void marker(std::uint64_t name, std::int64_t number) {
  ring::marker_record out{};
  out.header.time = ring::now();
  out.name = name;
  out.step = number;
  ring::emit(out);
}

/// Says whether host threads are to be sampled: to the sampler of Python frames, and to the writer. The time is taken
/// before the state is read, so that the record with the latest time holds the latest state.
void announce_sampling() {
  ring::sampling_record out{};
  out.header.time = ring::now();
  const bool off = paused.load() || sampling_paused.load();
  out.paused = off ? 1 : 0;
  pause_python_sampling(off);
  ring::emit(out);
}

}  // namespace

void push(std::uint64_t name, std::uint64_t domain) noexcept { begin(0, name, domain); }

void pop(std::uint64_t domain) noexcept { finish(0, domain); }

std::uint64_t start(std::uint64_t name, std::uint64_t domain) noexcept {
  const std::uint64_t id = last_range.fetch_add(1, std::memory_order_relaxed) + 1;
  begin(id, name, domain);
  return id;
}

void end(std::uint64_t range) noexcept {
  if (range != 0) finish(range, 0);
}

void mark(std::uint64_t name) noexcept { marker(name, -1); }

void step(std::int64_t number) noexcept {
  torch::report_totals();
  sample_pools();
  if (number < 0) number = next_step.load(std::memory_order_relaxed);
  next_step.store(number + 1, std::memory_order_relaxed);
  marker(ring::intern("step"), number);
}

void pause() noexcept {
  if (paused.exchange(true)) return;
  forget_results();  // Waits are not seen during the pause.
  mark(ring::intern("recording paused"));
  announce_sampling();
  if (!records_are_taken()) pause_activity();
}

void resume() noexcept {
  if (!paused.exchange(false)) return;
  announce_sampling();
  if (!records_are_taken()) resume_activity();
  mark(ring::intern("recording resumed"));
}

void pause_sampling() noexcept {
  if (sampling_paused.exchange(true)) return;
  mark(ring::intern("sampling paused"));
  announce_sampling();
}

void resume_sampling() noexcept {
  if (!sampling_paused.exchange(false)) return;
  announce_sampling();
  mark(ring::intern("sampling resumed"));
}

void forget_sampling_pause() noexcept {
  sampling_paused.store(false);
  pause_python_sampling(false);
}

void name_thread(std::uint64_t tid, std::uint64_t name) noexcept {
  ring::thread_name_record out{};
  out.header.time = ring::now();
  out.tid = tid;
  out.name = name;
  ring::emit(out);
}

}  // namespace sluice::capture::annotations
