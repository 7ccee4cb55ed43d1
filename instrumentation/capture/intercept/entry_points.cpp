#include "instrumentation/capture/intercept/entry_points.hpp"

#include <dlfcn.h>
#include <string.h>

#include <atomic>
#include <cstddef>

#include "instrumentation/capture/blocks/touches.hpp"
#include "instrumentation/capture/intercept/library_calls.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/real_symbol.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"

extern "C" {
CUresult sluice_entry_init(unsigned flags);
CUresult sluice_entry_get_address(const char* symbol, void** function, int version, cuuint64_t flags);
CUresult sluice_entry_get_address_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult* found);
}

namespace sluice::capture::entry_points {

namespace {

SLUICE_HOT_DATA constinit std::atomic<bool> watching{false};
SLUICE_HOT_DATA constinit std::atomic<bool> launches_leave_touches_only{false};

/// The calls in progress on a thread.
struct thread_calls {
  int depth;        ///< Number of calls in progress; nested calls are the driver's own.
  int inits;        ///< Number of cuInit calls in progress that were made through our function.
  CUcontext known;  ///< The last call's context and its number; valid while `round` equals `contexts_gone`.
  std::uint32_t id;
  std::uint32_t round;
};
SLUICE_THREAD_LOCAL thread_calls mine{};

// --- the driver's functions ------------------------------------------------------------------------------------------

constexpr unsigned max_wrappers = 256;
constinit std::atomic<void*> reals[max_wrappers];
constinit std::atomic<void*> real_init{nullptr}, real_get_address{nullptr}, real_get_address_v2{nullptr};
constinit std::atomic<bool> learned{false};

/// Hash table (open addressing) that maps the driver's functions to ours. Filled by `learn`, possibly by two threads at
/// the same time.
struct exchange {
  std::atomic<void*> theirs;
  std::atomic<void*> ours;
};
constexpr std::size_t exchange_slots = 1024;
constinit exchange exchanges[exchange_slots];

std::size_t get_slot(const void* function) {
  return static_cast<std::size_t>((reinterpret_cast<std::uint64_t>(function) * 0x9E3779B97F4A7C15U) >> 54);
}
static_assert(exchange_slots == std::size_t{1} << (64 - 54));

void hand_out(void* theirs, void* ours) {
  if (theirs == nullptr) return;
  for (std::size_t at = get_slot(theirs);; at = (at + 1) % exchange_slots) {
    void* there = exchanges[at].theirs.load();
    if (there == nullptr) {
      exchanges[at].ours.store(ours);
      if (exchanges[at].theirs.compare_exchange_strong(there, theirs)) return;
    }
    if (there == theirs) return;
  }
}

/// Our replacement for `theirs`; `theirs` itself if there is none.
void* ours_for(void* theirs) {
  for (std::size_t at = get_slot(theirs);; at = (at + 1) % exchange_slots) {
    void* there = exchanges[at].theirs.load(std::memory_order_acquire);
    if (there == nullptr) return theirs;
    if (there == theirs) return exchanges[at].ours.load(std::memory_order_relaxed);
  }
}

/// Fills the tables. Returns false if the driver is not loaded yet.
bool learn() {
  if (learned.load(std::memory_order_acquire)) return true;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  for (unsigned i = 0; i < wrapper_count && i < max_wrappers; ++i) {
    void* theirs = real_symbol(library, wrappers[i].name);
    reals[i].store(theirs);
    if (!wrappers[i].for_contents_only || may_look_at_contents()) hand_out(theirs, wrappers[i].ours);
  }
  const auto beside = [&](const char* name, std::atomic<void*>& to, void* ours) {
    to.store(real_symbol(library, name));
    hand_out(to.load(), ours);
  };
  beside("cuInit", real_init, reinterpret_cast<void*>(sluice_entry_init));
  beside("cuGetProcAddress", real_get_address, reinterpret_cast<void*>(sluice_entry_get_address));
  beside("cuGetProcAddress_v2", real_get_address_v2, reinterpret_cast<void*>(sluice_entry_get_address_v2));
  learned.store(true, std::memory_order_release);
  return true;
}

template <class Function>
Function as(const std::atomic<void*>& function) {
  if (function.load(std::memory_order_relaxed) == nullptr) learn();
  return reinterpret_cast<Function>(function.load(std::memory_order_relaxed));
}

void exchange_for_ours(CUresult result, void** function) {
  if (result == CUDA_SUCCESS && function != nullptr && *function != nullptr && may_use_entry_points()) {
    *function = ours_for(*function);
  }
}

std::uint32_t id_of_current(CUcontext& context) {
  context = nullptr;
  if (driver.current_context == nullptr || driver.current_context(&context) != CUDA_SUCCESS || context == nullptr) {
    return 0;
  }
  const std::uint32_t round = contexts_gone.load(std::memory_order_acquire);
  if (mine.known != context || mine.round != round) {
    mine.id = context_id_of(context);
    mine.known = context;
    mine.round = round;
  }
  return mine.id;
}

constinit std::atomic<std::uint32_t> last_correlation{0};

}  // namespace

namespace {

/// During captures: switches this thread to relaxed mode, so that our handlers' queries do not disturb the captures.
class beside_captures {
 public:
  beside_captures() noexcept
      : needed_(captures.load(std::memory_order_relaxed) > 0 && driver.exchange_capture_mode != nullptr &&
                driver.exchange_capture_mode(&mode_) == CUDA_SUCCESS) {}
  beside_captures(const beside_captures&) = delete;
  ~beside_captures() {
    if (needed_) driver.exchange_capture_mode(&mode_);
  }

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool needed_;
};

}  // namespace

namespace {

SLUICE_INLINE void begin(edges& e, const void* parameters) noexcept {
  ++mine.depth;
  e.own = 0;
  e.data = {};
  e.data.callbackSite = CUPTI_API_ENTER;
  e.data.functionParams = parameters;
  e.data.contextUid = id_of_current(e.data.context);
  e.data.correlationId = last_correlation.fetch_add(1, std::memory_order_relaxed) + 1;
  e.data.correlationData = &e.own;
}

}  // namespace

bool lead_here() noexcept { return mine.inits != 0; }
void start() noexcept {
  launches_leave_touches_only.store(options.launch_calls && options.touches &&
                                    !records_at_least(trace::recording_mode::timeline));
  watching.store(true);
}
bool in_use() noexcept { return watching.load(std::memory_order_relaxed); }

bool exist_for(std::uint32_t call) noexcept {
  for (unsigned i = 0; i < wrapper_count; ++i) {
    if (wrappers[i].call == call) return true;
  }
  return false;
}

const char* name_of_drivers(const void* function) noexcept {
  const void* ours = ours_for(const_cast<void*>(function));
  if (ours == function) return nullptr;
  for (unsigned i = 0; i < wrapper_count; ++i) {
    if (wrappers[i].ours == ours) return wrappers[i].name;
  }
  return nullptr;
}

SLUICE_HOT void* real(unsigned number) noexcept { return as<void*>(reals[number]); }

SLUICE_HOT bool is_watched() noexcept { return watching.load(std::memory_order_relaxed) && mine.depth == 0; }

SLUICE_HOT void enter(edges& e, std::uint32_t call, const void* parameters) noexcept {
  begin(e, parameters);
  const beside_captures relaxed;
  on_callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, call, &e.data);
}

SLUICE_HOT CUresult leave(edges& e, std::uint32_t call, CUresult result) noexcept {
  const beside_captures relaxed;
  e.result = result;
  e.data.callbackSite = CUPTI_API_EXIT;
  e.data.functionReturnValue = &e.result;
  // Some calls begin without a context and end with one.
  if (e.data.contextUid == 0) e.data.contextUid = id_of_current(e.data.context);
  on_callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, call, &e.data);
  --mine.depth;
  return result;
}

SLUICE_HOT bool launch(edges& e, const void* parameters, CUfunction function, void** values, void** extra,
                       CUstream stream, bool per_thread) noexcept {
  const bool plain = launches_leave_touches_only.load(std::memory_order_relaxed) &&
                     captures.load(std::memory_order_relaxed) <= 0 && !paused.load(std::memory_order_relaxed) &&
                     fresh_contexts.load(std::memory_order_relaxed) == 0 && ring::active();
  if (!plain) [[unlikely]]
    return false;
  begin(e, parameters);
  e.own = ring::now();
  const call c{&e.data, 0, e.own, e.own, CUDA_SUCCESS, per_thread, nullptr};
  touch_parameters(c, function, values, extra, stream);
  return true;
}

SLUICE_HOT void launched() noexcept { --mine.depth; }

}  // namespace sluice::capture::entry_points

// --- looking up driver functions -------------------------------------------------------------------------------------

namespace entry = sluice::capture::entry_points;

extern "C" {

CUresult sluice_entry_init(unsigned flags) {
  auto* const theirs = entry::as<CUresult (*)(unsigned)>(entry::real_init);
  if (theirs == nullptr) return CUDA_ERROR_NO_DEVICE;
  ++entry::mine.inits;
  const CUresult result = theirs(flags);
  --entry::mine.inits;
  return result;
}

CUresult sluice_entry_get_address(const char* symbol, void** function, int version, cuuint64_t flags) {
  auto* const theirs = entry::as<decltype(&sluice_entry_get_address)>(entry::real_get_address);
  if (theirs == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const CUresult result = theirs(symbol, function, version, flags);
  entry::exchange_for_ours(result, function);
  return result;
}

CUresult sluice_entry_get_address_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult* found) {
  auto* const theirs = entry::as<decltype(&sluice_entry_get_address_v2)>(entry::real_get_address_v2);
  if (theirs == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const CUresult result = theirs(symbol, function, version, flags, found);
  entry::exchange_for_ours(result, function);
  return result;
}

// The symbol names of the functions above, as in the driver. They are set here, because cuda.h may define these names
// as macros for each other.
__asm__(
    ".text\n"
    ".globl cuInit\n.type cuInit, @function\n.set cuInit, sluice_entry_init\n"
    ".globl cuGetProcAddress\n.type cuGetProcAddress, @function\n.set cuGetProcAddress, sluice_entry_get_address\n"
    ".globl cuGetProcAddress_v2\n.type cuGetProcAddress_v2, @function\n"
    ".set cuGetProcAddress_v2, sluice_entry_get_address_v2\n");

/// The result of `dlsym(library, name)`; null: call the real dlsym. A sanitizer's runtime may call this very early.
__attribute__((visibility("hidden"), used, no_sanitize("address", "thread", "undefined"))) void* sluice_found(
    void* library, const char* name) {
  sluice::capture::find_real_dlsym();
  if (name != nullptr && library != RTLD_NEXT && sluice::capture::library_calls::has(name))
    return sluice::capture::library_calls::wrap(sluice::capture::real_symbol(library, name));
  // Driver names start with "cu" and a capital letter. Other interposers use RTLD_NEXT, and they want the driver's own
  // function.
  const bool may_be_drivers = name != nullptr && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
  if (!may_be_drivers || library == RTLD_NEXT || !sluice::capture::may_use_entry_points()) return nullptr;
  void* theirs = sluice::capture::real_symbol(library, name);
  return theirs == nullptr || !entry::learn() ? nullptr : entry::ours_for(theirs);
}

}  // extern "C"

// dlsym uses its return address for RTLD_NEXT and the caller's namespace. So it must be reached by a jump, with
// registers and stack as the caller left them.
__asm__(
    ".text\n"
    ".globl dlsym\n.type dlsym, @function\n"
    "dlsym:\n"
    "  .cfi_startproc\n"
    "  push %rdi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  push %rsi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  sub $8, %rsp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  call sluice_found\n"
    "  add $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  pop %rsi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  pop %rdi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  test %rax, %rax\n"
    "  jnz 1f\n"
    "  jmp *sluice_real_dlsym(%rip)\n"
    "1: ret\n"
    "  .cfi_endproc\n"
    ".size dlsym, .-dlsym\n");
