#include "instrumentation/capture/blocks/contents.hpp"

#include <errno.h>
#include <stdio.h>

#include "instrumentation/capture/blocks/content_hash.hpp"
#include "instrumentation/capture/start/options.hpp"
#include "instrumentation/capture/state.hpp"
#include "instrumentation/capture/time_budget.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

using trace::content_check;

/// Time limit for one copy in ns: pages of a mapped file may have to be read from disk.
constexpr std::uint64_t longest_look = 20'000'000;

SLUICE_THREAD_LOCAL time_budget this_budget;

enum class place { host, managed, elsewhere };

/// With unified addressing, any pointer may be passed to any copy. The driver knows its kind, and does not know plain
/// program memory.
place place_of(std::uint64_t address, source_side said) {
  if (driver.pointer_attributes == nullptr) return said == source_side::host ? place::host : place::elsewhere;
  unsigned type = 0;
  unsigned managed = 0;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* values[] = {&type, &managed};
  if (driver.pointer_attributes(2, wanted, values, address) != CUDA_SUCCESS) {
    return said == source_side::host ? place::host : place::elsewhere;
  }
  if (managed != 0) return place::managed;
  return type == 0 || type == CU_MEMORYTYPE_HOST ? place::host : place::elsewhere;
}

void emit(const call& c, content_check check, const content_hash& content = {}) {
  collector::content_record out{};
  out.header.time = c.begin;
  out.hash = content.hash;
  out.bytes = content.bytes;
  out.correlation = c.correlation();
  out.check = raw(check);
  collector::emit(out);
}

copy_source source_of(const work& w) {
  if (w.shape.address != 0) return w.shape;
  return {.address = w.source, .row_bytes = w.bytes};
}

void look(const call& c, const work& w, source_side said) {
  const std::uint64_t begin = collector::monotonic_now();
  if (!this_budget.begin(begin, options.duplicates_percent)) return emit(c, content_check::over_budget);
  const place where = place_of(w.source, said);
  if (where == place::host) {
    const content_hash found = hash_content(source_of(w), collector::monotonic_now, begin + longest_look);
    switch (found.outcome) {
      case reading::done:
        emit(c, found.bytes == w.bytes ? content_check::exact : content_check::sampled, found);
        break;
      case reading::too_slow:
        emit(c, content_check::over_budget);
        break;
      case reading::unreadable:
        emit(c, content_check::unreadable);
        break;
    }
  } else if (where == place::managed) {
    emit(c, content_check::unreadable);
  }
  this_budget.spend(collector::monotonic_now() - begin);
}

}  // namespace

void note_content(const call& c, const work& w) noexcept {
  if (w.from == source_side::device || w.source == 0 || w.bytes == 0 || captured_graph(c, w.stream) != 0) return;
  const int kept = errno;
  look(c, w, w.from);
  errno = kept;
}

void say_what_of_contents() noexcept {
  if (options.duplicates_percent == 0) return;
  if (!can_read_own_memory()) {
    collector::message(
        raw(trace::severity::warning),
        "this process may not read its own memory (process_vm_readv is forbidden, as some sandboxes have "
        "it): copies of the same content cannot be found; run it outside, or without --find-duplicates");
    return;
  }
  char text[160];
  snprintf(text, sizeof text,
           "what host-to-device copies move is hashed, in at most %u %% of each thread's time (--find-duplicates)",
           options.duplicates_percent);
  collector::message(raw(trace::severity::info), text);
}

}  // namespace sluice::capture
