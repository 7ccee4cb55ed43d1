#include "core/metrics/idle/gap_causes.hpp"

#include <array>

#include "core/index/work/host_activity.hpp"
#include "core/trace/model/recorded_names.hpp"

namespace sluice::metrics {
namespace {

bool has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

}  // namespace

gap_cause cause_of_call(std::string_view name) {
  if (index::is_waiting_call(name)) return gap_cause::wait;
  if (has(name, "Memcpy")) return has(name, "Async") ? gap_cause::host : gap_cause::blocking_copy;
  for (const std::string_view part : {"MemFree", "cudaFree", "MemUnmap", "MemRelease", "FreeHost"})
    if (has(name, part)) return has(name, "Async") ? gap_cause::host : gap_cause::release;
  for (const std::string_view part : {"MemAlloc", "cudaMalloc", "MemCreate", "MemMap", "HostAlloc", "HostRegister"})
    if (has(name, part)) return has(name, "Async") ? gap_cause::host : gap_cause::allocation;
  for (const std::string_view part : {"Module", "Library", "GraphInstantiate", "LinkC", "LinkA", "Compile"})
    if (has(name, part)) return gap_cause::loading;
  return gap_cause::host;
}

gap_cause cause_of_range(std::string_view name) {
  namespace names = trace::recorded_names;
  if (name == names::garbage_collection) return gap_cause::garbage;
  if (name == names::compilation) return gap_cause::compilation;
  // torch.profiler uses the second name.
  if (name == names::next_batch || name.starts_with("enumerate(DataLoader)")) return gap_cause::data;
  if (name == names::lock_wait || name == names::thread_wait) return gap_cause::lock;
  if (name == names::gil_wait) return gap_cause::gil;
  return gap_cause::host;
}

gap_cause cause_of_copy(const timeline::slice_item& call, std::string_view name) {
  const time_ns length = call.end - call.begin;
  // Reading a few numbers amounts to waiting for the work that computes them.
  if (has(name, "DtoH") && call.bytes <= small_read && length >= min_read_time) return gap_cause::wait;
  // A copy with pageable memory waits, even if the name of the call says that it is asynchronous.
  return has(name, "Async") && length < blocking_copy_time ? gap_cause::host : gap_cause::blocking_copy;
}

bool blocks_host(gap_cause cause) {
  return cause == gap_cause::wait || cause == gap_cause::blocking_copy || cause == gap_cause::allocation ||
         cause == gap_cause::release;
}

namespace {

struct cause_text {
  std::string_view word, words;
};
constexpr std::array<cause_text, gap_cause_count> cause_texts = {{
    {"host", "host code"},
    {"wait", "synchronization"},
    {"blocking_copy", "blocking copy"},
    {"allocation", "cudaMalloc stall"},
    {"release", "cudaFree stall"},
    {"loading", "module loading or compilation"},
    {"file", "file I/O"},
    {"garbage", "Python's garbage collection"},
    {"compilation", "torch.compile"},
    {"data", "waiting for the next batch of the DataLoader"},
    {"lock", "waiting for a lock or another thread"},
    {"gil", "waiting for Python's GIL"},
    {"launch", "kernel launches too slow"},
    {"queued", "queued behind other work"},
}};

}  // namespace

std::string_view get_words(gap_cause cause) { return cause_texts.at(static_cast<std::size_t>(cause)).words; }

std::string_view get_word(gap_cause cause) { return cause_texts.at(static_cast<std::size_t>(cause)).word; }

}  // namespace sluice::metrics
