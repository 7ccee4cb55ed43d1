#include "instrumentation/capture/process/options.hpp"

#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <cstddef>

#include "instrumentation/ring/hot.hpp"

namespace sluice::capture {

SLUICE_HOT_DATA constinit capture_options options{};

namespace {

/// True if `word` is one of the comma-separated words of `list`.
bool names(const char* list, const char* word) {
  const std::size_t length = strlen(word);
  for (const char* at = list; at != nullptr; at = strchr(at, ',')) {
    if (*at == ',') ++at;
    if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
}

stack_mode stacks_named(const char* name) {
  if (name == nullptr) return stack_mode::python;
  if (strcmp(name, "none") == 0) return stack_mode::none;
  if (strcmp(name, "native") == 0) return stack_mode::native;
  return strcmp(name, "all") == 0 ? stack_mode::all : stack_mode::python;
}

trace::recording_mode mode_named(const char* name, trace::recording_mode otherwise) {
  if (name == nullptr) return otherwise;
  if (strcmp(name, "memory") == 0) return trace::recording_mode::memory;
  if (strcmp(name, "timeline") == 0) return trace::recording_mode::timeline;
  return strcmp(name, "all") == 0 ? trace::recording_mode::all : otherwise;
}

/// Parses a whole number up to `most`; returns 0 for anything else.
unsigned number_named(const char* text, unsigned most) {
  unsigned number = 0;
  for (; text != nullptr && *text != '\0'; ++text) {
    if (*text < '0' || *text > '9' || number > most) return 0;
    number = number * 10 + static_cast<unsigned>(*text - '0');
  }
  return number <= most ? number : 0;
}

unsigned percent_named(const char* text) { return number_named(text, 100); }

/// Samples per second. Sampling the host at this rate costs a thread of Python less than 1 %
/// (python_samples/README.md).
constexpr unsigned usual_hz = 500, max_hz = 10'000;

unsigned hz_named(const char* text) { return text == nullptr ? usual_hz : number_named(text, max_hz); }

bool entry_points_asked_for() {
  return getenv("SLUICE_SOCKET") != nullptr &&
         mode_named(getenv("SLUICE_MODE"), trace::recording_mode::memory) == trace::recording_mode::memory &&
         !names(getenv("SLUICE_CAPTURE_WITHOUT"), "entry-points");
}

}  // namespace

bool may_use_entry_points() noexcept {
  enum : int { unknown, no, yes };
  static constinit std::atomic<int> result{unknown};
  int known = result.load(std::memory_order_relaxed);
  if (known == unknown) result.store(known = entry_points_asked_for() ? yes : no, std::memory_order_relaxed);
  return known == yes;
}

bool may_look_at_contents() noexcept { return percent_named(getenv("SLUICE_FIND_DUPLICATES")) != 0; }

void read_options(trace::recording_mode otherwise) noexcept {
  const char* graphs = getenv("SLUICE_GRAPHS");
  options.graph_nodes = graphs != nullptr && strcmp(graphs, "node") == 0;
  options.stacks = stacks_named(getenv("SLUICE_STACKS"));
  options.mode = mode_named(getenv("SLUICE_MODE"), otherwise);
  options.duplicates_percent = percent_named(getenv("SLUICE_FIND_DUPLICATES"));
  options.sampling_hz = records_at_least(trace::recording_mode::timeline) ? hz_named(getenv("SLUICE_SAMPLING")) : 0;
  options.launch_stacks = records_at_least(trace::recording_mode::all);
  const char* without = getenv("SLUICE_CAPTURE_WITHOUT");
  options.launch_calls = !names(without, "launches");
  options.touches = !names(without, "touches");
  options.kernels = records_at_least(trace::recording_mode::timeline) && !names(without, "kernels");
  options.copies = !names(without, "copies");
  options.graphs = !names(without, "graphs");
  options.migrations = !names(without, "migrations");
  options.samples = !names(without, "samples");
  options.flushes = !names(without, "flushes");
  options.autograd = !names(without, "autograd");
  options.clock = !names(without, "clock");
}

}  // namespace sluice::capture
