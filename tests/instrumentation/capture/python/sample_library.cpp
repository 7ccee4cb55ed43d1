// The capture library's sampler of Python frames as a library of its own, loaded into an interpreter: keeps the data
// that it would send to the writer, and returns the samples as text.
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/python_samples/python_sampler.hpp"
#include "instrumentation/capture/stacks/python_stack.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/recorder_threads.hpp"

namespace {

using sluice::ring::frame_record;
using sluice::ring::python_sample_record;

struct sent {
  std::mutex mutex;
  std::map<std::uint64_t, std::string> texts;
  std::map<std::string, std::uint64_t> keys;
  std::map<std::uint64_t, frame_record> frames;
  std::map<std::uint64_t, std::vector<std::uint64_t>> stacks;
  std::vector<python_sample_record> samples;
  std::string messages;
  std::atomic<int> started{0};  ///< Threads of the recorder.
};
sent& kept() {
  static auto* const whole = new sent;  // The sampler may outlive destructors.
  return *whole;
}
bool keeps_samples = true;

}  // namespace

namespace sluice::capture {
capture_options options{};
}

namespace sluice::ring {

std::atomic<clock_kind> detail::current_clock{clock_kind::monotonic_ns};
std::atomic<detail::phase> detail::current_phase{detail::phase::active};

std::uint64_t monotonic_now() noexcept { return read_clock(CLOCK_MONOTONIC); }
std::uint64_t intern(const char* text, std::size_t length) noexcept {
  const std::lock_guard lock(kept().mutex);
  const auto [known, fresh] = kept().keys.emplace(std::string(text, length), kept().keys.size() + 1);
  if (fresh) kept().texts.emplace(known->second, known->first);
  return known->second;
}
bool knows_frame(std::uint64_t key) noexcept {
  const std::lock_guard lock(kept().mutex);
  return kept().frames.contains(key) || kept().stacks.contains(key);
}
void introduce_frame(frame_record frame) noexcept {
  const std::lock_guard lock(kept().mutex);
  kept().frames.emplace(frame.key, frame);
}
std::uint64_t introduce_stack(std::uint64_t key, const std::uint64_t* frames, std::size_t count) noexcept {
  const std::lock_guard lock(kept().mutex);
  kept().stacks.emplace(key, std::vector(frames, frames + count));
  return key;
}
bool has_room(std::size_t) noexcept { return true; }
bool start_recorder_thread(const recorder_loop& loop) noexcept {
  ++kept().started;
  std::thread(loop.run).detach();
  return true;
}
bool emit_bytes(record_header* record, record_type, std::size_t) noexcept {
  const std::lock_guard lock(kept().mutex);
  if (keeps_samples) kept().samples.push_back(*reinterpret_cast<const python_sample_record*>(record));
  return true;
}
void message(unsigned, const char* text) noexcept {
  const std::lock_guard lock(kept().mutex);
  kept().messages += std::string(text) + '\n';
}

}  // namespace sluice::ring

#define EXPORTED extern "C" __attribute__((visibility("default")))

/// Starts sampling. `keeps`: whether to keep the samples.
EXPORTED void sample_start(unsigned hz, bool keeps) {
  sluice::capture::find_python();
  sluice::capture::options.sampling_hz = hz;
  keeps_samples = keeps;
  sluice::capture::start_python_sampling();
}

/// Stops sampling. Returns false if the thread is still there.
EXPORTED bool sample_stop() { return sluice::capture::finish_python_sampling(2000); }

EXPORTED void sample_pause(bool pause) { sluice::capture::pause_python_sampling(pause); }

EXPORTED std::size_t sample_count() {
  const std::lock_guard lock(kept().mutex);
  return kept().samples.size();
}

/// The number of the recorder's threads that were started.
EXPORTED int sample_threads() { return kept().started.load(); }

/// The messages so far.
EXPORTED const char* sample_messages() {
  static std::string text;
  const std::lock_guard lock(kept().mutex);
  text = kept().messages;
  return text.c_str();
}

/// Sample `which`: "time TAB tid NEWLINE" and "function TAB file TAB line TAB (entry ? 1 : 0) NEWLINE" for each frame,
/// innermost first. Returns false if a key in it is unknown, or if the text is too long.
EXPORTED bool sample_text(std::size_t which, char* text, std::size_t room) {
  const std::lock_guard lock(kept().mutex);
  const python_sample_record& sample = kept().samples.at(which);
  std::string content = std::to_string(sample.header.time) + '\t' + std::to_string(sample.tid) + '\n';
  const auto stack = kept().stacks.find(sample.stack);
  if (sample.stack != 0 && (stack == kept().stacks.end() || stack->second.size() != sample.count)) return false;
  for (std::size_t i = 0; i < sample.count; ++i) {
    const auto found = kept().frames.find(stack->second[i]);
    if (found == kept().frames.end()) return false;
    const bool entry = (sample.entries[i / 64] >> i % 64 & 1) != 0;
    content += kept().texts[found->second.function] + '\t' + kept().texts[found->second.file] + '\t' +
               std::to_string(found->second.line) + '\t' + (entry ? "1" : "0") + '\n';
  }
  if (content.size() + 1 > room) return false;
  std::memcpy(text, content.c_str(), content.size() + 1);
  return true;
}
