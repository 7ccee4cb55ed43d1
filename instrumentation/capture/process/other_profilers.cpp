#include "instrumentation/capture/process/other_profilers.hpp"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

constexpr unsigned warning = raw(trace::severity::warning);
/// Time to wait before the records are taken back, in ns. A profiler that stops makes several CUPTI calls in a row and
/// may start again at once.
constexpr std::uint64_t quiet_ns = 1'000'000'000;
/// Limits the messages about a profiler that starts and stops in each step.
constexpr int max_messages = 16;

std::atomic<bool> watching{false};
std::atomic<bool> taken{false};
std::atomic<bool> stopped{false};
std::atomic<bool> detached_by_other{false};
std::atomic<std::uint64_t> since{0};
std::atomic<std::uint64_t> last_call{0};
std::atomic<int> messages{0};
char earlier[128];

void say(const char* text) {
  if (messages.fetch_add(1) < max_messages) ring::message(warning, text);
}

/// Notes that another profiler has just taken something of ours.
void note_taken() {
  last_call.store(ring::monotonic_now());
  if (!taken.exchange(true)) since.store(last_call.load());
}

struct cupti_search {
  const char* ours;
  char path[512];
};

/// Finds the first libcupti other than the one we opened.
int find_other(dl_phdr_info* info, std::size_t, void* to) {
  auto& search = *static_cast<cupti_search*>(to);
  const char* name = info->dlpi_name == nullptr ? nullptr : strrchr(info->dlpi_name, '/');
  if (name == nullptr || strncmp(name, "/libcupti.so", 12) != 0 || strcmp(info->dlpi_name, search.ours) == 0) return 0;
  snprintf(search.path, sizeof search.path, "%s", info->dlpi_name);
  return 1;
}

}  // namespace

void name_caller(const void* address, char* name, std::size_t bytes) noexcept {
  Dl_info info{};
  const char* file = dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "an unknown library";
  const char* slash = strrchr(file, '/');
  if (slash != nullptr) file = slash + 1;
  if (strncmp(file, "libtorch", 8) == 0 || strncmp(file, "libkineto", 9) == 0) {
    snprintf(name, bytes, "PyTorch's profiler");
  } else {
    snprintf(name, bytes, "another profiler (%s)", file);
  }
}

void* others_cupti(const char* function) noexcept {
  cupti_search search{cupti_location(), {}};
  dl_iterate_phdr(find_other, &search);
  const char* path = search.path[0] != '\0' ? search.path : search.ours;
  void* library = path[0] == '\0' ? nullptr : dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* found = dlsym(library, function);
  dlclose(library);  // It stays loaded.
  return found;
}

void watch_other_profilers() noexcept { watching.store(true); }

void forget_other_profilers() noexcept {
  watching.store(false);
  taken_back();
}

bool records_are_taken() noexcept { return taken.load(std::memory_order_acquire); }
std::uint64_t taken_since() noexcept { return since.load(); }
const char* earlier_subscriber() noexcept { return earlier; }

bool may_take_back(bool& detached) noexcept {
  detached = detached_by_other.load();
  return taken.load() && (stopped.load() || detached) && ring::monotonic_now() - last_call.load() >= quiet_ns;
}

void taken_back() noexcept {
  stopped.store(false);
  detached_by_other.store(false);
  taken.store(false, std::memory_order_release);
}

namespace {

/// Handles another library's subscription: stores the library's name if it subscribed before us, reports it if CUPTI
/// refused the subscription.
void note_subscriber(const void* caller, CUptiResult result) {
  char who[96];
  name_caller(caller, who, sizeof who);
  if (!watching.load()) {
    if (result == CUPTI_SUCCESS) snprintf(earlier, sizeof earlier, "%s", who);
    return;
  }
  if (result != CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return;
  char text[512];
  snprintf(text, sizeof text,
           "%s asked for CUPTI, which serves one profiler at a time, and was refused: its own results lack CUDA "
           "activity; this recording is complete. To use that profiler, run the program without sluice record",
           who);
  say(text);
}

void note_new_owner(const void* caller) {
  if (!watching.load()) return;
  stopped.store(false);
  const bool again = taken.load();
  note_taken();
  promise_zeroed_buffers(false);
  if (again) return;
  char who[96];
  name_caller(caller, who, sizeof who);
  char text[512];
  snprintf(text, sizeof text,
           "%s has taken over CUPTI's activity records: until it stops, copies and kernels have no device times; "
           "allocations and calls are still recorded",
           who);
  say(text);
}

void note_switched_off(std::uint32_t kind) {
  if (!watching.load()) return;
  const bool ours = kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMSET ||
                    kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  if (!ours && !taken.load()) return;
  note_taken();
  if (ours) stopped.store(true);
}

/// Waits until the flush thread has left CUPTI, because CUPTI is about to shut down. From then on, the flush thread
/// does not call CUPTI.
void make_way_for_shutdown() {
  if (!watching.load()) return;
  note_taken();
  flush_now(200);
}

void note_shutdown(const void* caller, CUptiResult result) {
  if (!watching.load()) return;
  if (result != CUPTI_SUCCESS) {
    if (!stopped.load()) taken_back();
    return;
  }
  note_taken();
  detached_by_other.store(true);
  char who[96];
  name_caller(caller, who, sizeof who);
  char text[512];
  snprintf(text, sizeof text,
           "%s has shut CUPTI down for the whole process (cuptiFinalize): for a moment no GPU activity is recorded",
           who);
  say(text);
}

/// The result that a library gets if it found our function instead of CUPTI's, but there is no CUPTI.
constexpr CUptiResult no_cupti = CUPTI_ERROR_NOT_INITIALIZED;

}  // namespace

}  // namespace sluice::capture

// --- functions that other libraries call -----------------------------------------------------------------------------

#define SLUICE_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace cap = sluice::capture;

SLUICE_INTERPOSED CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                             void* user) {
  auto* const real = reinterpret_cast<decltype(&cuptiSubscribe)>(cap::others_cupti("cuptiSubscribe"));
  const CUptiResult result = real == nullptr ? cap::no_cupti : real(subscriber, callback, user);
  cap::note_subscriber(__builtin_return_address(0), result);
  return result;
}

// Headers before CUDA 13 lack this function; newer ones would need the type of its last parameter.
SLUICE_INTERPOSED CUptiResult sluice_subscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                                  void* user, void* parameters) __asm__("cuptiSubscribe_v2");
CUptiResult sluice_subscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user,
                                void* parameters) {
  auto* const real = reinterpret_cast<cap::subscribe_v2>(cap::others_cupti("cuptiSubscribe_v2"));
  const CUptiResult result = real == nullptr ? cap::no_cupti : real(subscriber, callback, user, parameters);
  cap::note_subscriber(__builtin_return_address(0), result);
  return result;
}

SLUICE_INTERPOSED CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                             CUpti_BuffersCallbackCompleteFunc complete) {
  auto* const real =
      reinterpret_cast<decltype(&cuptiActivityRegisterCallbacks)>(cap::others_cupti("cuptiActivityRegisterCallbacks"));
  if (real == nullptr) return cap::no_cupti;
  const CUptiResult result = real(request, complete);
  if (result == CUPTI_SUCCESS) cap::note_new_owner(__builtin_return_address(0));
  return result;
}

SLUICE_INTERPOSED CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  auto* const real = reinterpret_cast<decltype(&cuptiActivityDisable)>(cap::others_cupti("cuptiActivityDisable"));
  if (real == nullptr) return cap::no_cupti;
  const CUptiResult result = real(kind);
  if (result == CUPTI_SUCCESS) cap::note_switched_off(kind);
  return result;
}

SLUICE_INTERPOSED CUptiResult cuptiFinalize(void) {
  auto* const real = reinterpret_cast<decltype(&cuptiFinalize)>(cap::others_cupti("cuptiFinalize"));
  if (real == nullptr) return cap::no_cupti;
  cap::make_way_for_shutdown();
  const CUptiResult result = real();
  cap::note_shutdown(__builtin_return_address(0), result);
  return result;
}
