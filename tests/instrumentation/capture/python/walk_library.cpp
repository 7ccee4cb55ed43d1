// The capture library's Python walker as a library of its own, loaded into an interpreter: keeps the data that it would
// send to the writer, and returns a walk as text.
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "instrumentation/capture/stacks/python_stack.hpp"
#include "instrumentation/ring/producer.hpp"

namespace {

struct sent {
  std::mutex mutex;
  std::map<std::uint64_t, std::string> texts;
  std::map<std::uint64_t, sluice::ring::frame_record> frames;
  std::string messages;
};
sent& kept() {
  static auto* const whole = new sent;  // Threads of the interpreter may outlive destructors.
  return *whole;
}

}  // namespace

namespace sluice::ring {

std::atomic<clock_kind> detail::current_clock{clock_kind::simulated_ns};  // Nobody reads these times.
std::uint64_t intern(const char* text, std::size_t length) noexcept {
  const std::lock_guard lock(kept().mutex);
  for (const auto& [key, known] : kept().texts) {
    if (known == std::string(text, length)) return key;
  }
  const std::uint64_t key = kept().texts.size() + 1;
  kept().texts.emplace(key, std::string(text, length));
  return key;
}
/// The first key that was requested on this thread.
thread_local std::uint64_t asked = 0;
bool knows_frame(std::uint64_t key) noexcept {
  if (asked == 0) asked = key;
  const std::lock_guard lock(kept().mutex);
  return kept().frames.contains(key);
}
void introduce_frame(frame_record frame) noexcept {
  const std::lock_guard lock(kept().mutex);
  kept().frames.emplace(frame.key, frame);
}
std::uint64_t introduce_stack(std::uint64_t key, const std::uint64_t*, std::size_t) noexcept { return key; }
void message(unsigned, const char* text) noexcept { kept().messages += text; }

}  // namespace sluice::ring

#define EXPORTED extern "C" __attribute__((visibility("default")))

/// Looks for the interpreter; returns the messages of the search.
EXPORTED const char* walk_prepare() {
  sluice::capture::find_python();
  return kept().messages.c_str();
}

/// Calls `function` on a C++ thread three times. Around these calls, the thread has no Python frames. Returns the
/// number of frames that the walker found there nevertheless.
EXPORTED std::size_t walk_on_a_thread(void (*function)()) {
  std::size_t found = 0;
  std::thread([&] {
    std::uint64_t keys[sluice::ring::maximum_frames];
    const auto look = [&] { found += sluice::capture::python_frames(keys, sluice::ring::maximum_frames); };
    look();
    for (int i = 0; i < 3; ++i) {
      function();
      look();
    }
  }).join();
  return found;
}

/// True if the walk for a stack's key, which is separate, saw the same frames as those that are sent with the key.
static bool key_is_of_the_frames() {
  sluice::ring::asked = 0;
  return sluice::capture::python_stack_key() == sluice::ring::asked;
}

/// Writes "function TAB file TAB line TAB (entry ? 1 : 0) NEWLINE" for each frame, innermost first. Returns the number
/// of frames.
EXPORTED std::size_t walk(char* text, std::size_t room) {
  constexpr std::size_t most = sluice::ring::maximum_frames;
  std::uint64_t keys[most];
  std::uint64_t entries[most / 64] = {};
  const std::size_t count = sluice::capture::python_frames(keys, most, entries);
  std::string content = key_is_of_the_frames() ? "" : "another stack's key\t\t0\t0\n";
  const std::lock_guard lock(kept().mutex);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& frame = kept().frames.at(keys[i]);
    const bool entry = (entries[i / 64] >> i % 64 & 1) != 0;
    content += kept().texts[frame.function] + '\t' + kept().texts[frame.file] + '\t' + std::to_string(frame.line) +
               '\t' + (entry ? "1" : "0") + '\n';
  }
  if (content.size() + 1 > room) return 0;
  std::memcpy(text, content.c_str(), content.size() + 1);
  return count;
}
