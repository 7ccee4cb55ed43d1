// The functions that sluice.h and sluice.py call. They are plain C functions, which sluice.h and sluice.py find with
// dlsym in the preloaded library. Failures are silent.

#include <stddef.h>
#include <stdint.h>

#include "instrumentation/capture/blocks/live_blocks.hpp"
#include "instrumentation/capture/frameworks/annotations.hpp"
#include "instrumentation/capture/process/recording.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/capture/stacks/stacks.hpp"

using namespace sluice;
using namespace sluice::capture;

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int sluice_recording(void) { return recording() ? 1 : 0; }

EXPORTED void sluice_step(int64_t number) {
  if (recording()) annotations::step(number);
}

EXPORTED void sluice_pause(void) {
  if (recording()) annotations::pause();
}

EXPORTED void sluice_resume(void) {
  if (recording()) annotations::resume();
}

EXPORTED void sluice_pause_sampling(void) {
  if (recording()) annotations::pause_sampling();
}

EXPORTED void sluice_resume_sampling(void) {
  if (recording()) annotations::resume_sampling();
}

EXPORTED void sluice_mark(const char* name) {
  if (recording()) annotations::mark(ring::intern(name));
}

EXPORTED void sluice_push(const char* name) {
  if (recording()) annotations::push(ring::intern(name), 0);
}

EXPORTED void sluice_pop(void) {
  if (recording()) annotations::pop(0);
}

EXPORTED uint64_t sluice_now(void) { return ring::now(); }

/// Adds a range that ends now; `begin` comes from `sluice_now`. Unlike the other functions, this does not connect to
/// the writer, so a process that does nothing else stays out of the recording.
EXPORTED void sluice_range(const char* name, uint64_t begin) {
  if (!ring::active()) return;
  ring::range_record out{};
  out.header.time = begin;
  out.end = ring::now();
  out.name = ring::intern(name);
  ring::emit(out);
}

EXPORTED void sluice_tag(const void* address, const char* category, const char* name) {
  if (address == nullptr || !recording()) return;
  ring::tag_record out{};
  out.header.time = ring::now();
  out.address = reinterpret_cast<std::uint64_t>(address);
  out.category = ring::intern(category);
  out.name = ring::intern(name);
  ring::emit(out);
}

EXPORTED void sluice_block_alloc(const void* address, size_t bytes, int device, const char* allocator) {
  if (address == nullptr || !recording()) return;
  ring::alloc_record out{};
  out.header.time = ring::now();
  out.address = reinterpret_cast<std::uint64_t>(address);
  out.bytes = bytes;
  out.name = ring::intern(allocator);
  out.stack = current_stack();
  out.device = device < 0 ? ring::no_device : static_cast<std::uint32_t>(device);
  out.layer = raw(trace::layer::framework);
  out.kind = raw(trace::memory_kind::device);
  ring::emit(out);
  live_blocks::add({out.address, bytes, trace::layer::framework, trace::memory_kind::device, out.device});
}

EXPORTED void sluice_block_free(const void* address) {
  if (address == nullptr || !recording()) return;
  ring::free_record out{};
  out.header.time = ring::now();
  out.address = reinterpret_cast<std::uint64_t>(address);
  out.layer = raw(trace::layer::framework);
  out.kind = raw(trace::memory_kind::device);
  live_blocks::remove(out.address, trace::layer::framework, trace::memory_kind::device);
  ring::emit(out);
}
