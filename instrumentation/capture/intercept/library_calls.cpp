#include "instrumentation/capture/intercept/library_calls.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/trace/model/recorded_names.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/real_symbol.hpp"
#include "instrumentation/capture/stacks/stacks.hpp"
#include "instrumentation/ring/producer.hpp"

// nvrtc.h's nvrtcCompileProgram: a program, the number of its options, its options. Not declared by that header,
// because not every toolkit that builds this library has it.
extern "C" __attribute__((visibility("default"))) int nvrtcCompileProgram(void* program, int count,
                                                                          const char* const* options);

namespace sluice::capture::library_calls {
namespace {

namespace names = trace::recorded_names;

using compile_function = int (*)(void*, int, const char* const*);
/// NVRTC_ERROR_INTERNAL_ERROR
constexpr int internal_error = 11;

/// A call of this thread, from construction until `end`.
class recorded_call {
 public:
  explicit recorded_call(const char* name) noexcept
      : records_(ring::active() && records_at_least(trace::recording_mode::timeline)), name_(name) {
    if (!records_) return;
    auto out = ring::record_at<ring::library_call_record>(begin_ = ring::now());
    out.stack = library_call_stack(name);
    ring::emit(out);
  }
  /// Preserves errno.
  void end() const noexcept {
    if (!records_) return;
    const int error = errno;
    const std::uint64_t now = ring::now();
    ring::emit(ring::record_at<ring::library_call_record>(now));
    auto range = ring::record_at<ring::range_record>(begin_);
    range.end = now;
    range.name = ring::intern(name_);
    ring::emit(range);
    errno = error;
  }

 private:
  bool records_;
  const char* name_;
  std::uint64_t begin_ = 0;
};

int compile(compile_function theirs, void* program, int count, const char* const* options) {
  const recorded_call call(names::nvrtc_compile);
  const int result = theirs(program, count, options);
  call.end();
  return result;
}

/// One function of ours for each version of the library, because a caller says nothing about which version it means.
constexpr std::size_t max_versions = 4;
constinit std::atomic<void*> compilers[max_versions];

template <std::size_t version>
int compile_by(void* program, int count, const char* const* options) {
  void* const theirs = compilers[version].load(std::memory_order_relaxed);
  return compile(reinterpret_cast<compile_function>(theirs), program, count, options);
}
constexpr compile_function wrappers[max_versions] = {compile_by<0>, compile_by<1>, compile_by<2>, compile_by<3>};

int find_nvrtc(dl_phdr_info* file, std::size_t, void* found) {
  const char* const slash = file->dlpi_name == nullptr ? nullptr : strrchr(file->dlpi_name, '/');
  if (slash == nullptr || strncmp(slash, "/libnvrtc.so", strlen("/libnvrtc.so")) != 0) return 0;
  *static_cast<const char**>(found) = file->dlpi_name;
  return 1;
}

/// The function of the library that the program is linked with.
void* find_linked() noexcept {
  void* const next = real_symbol(RTLD_NEXT, names::nvrtc_compile);
  if (next != nullptr) return next;
  // The dependencies of a library that was loaded with local scope, as Python loads all, are not found by RTLD_NEXT.
  const char* path = nullptr;
  dl_iterate_phdr(find_nvrtc, &path);
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : real_symbol(library, names::nvrtc_compile);
}

}  // namespace

bool has(const char* name) noexcept {
  // Without strcmp for most names: a sanitizer's runtime looks up functions before its own strcmp works.
  return name[0] == 'n' && name[1] == 'v' && name[2] == 'r' && strcmp(name, names::nvrtc_compile) == 0;
}

void* wrap(void* theirs) noexcept {
  if (theirs == nullptr || theirs == reinterpret_cast<void*>(nvrtcCompileProgram)) return theirs;
  for (std::size_t i = 0; i < max_versions; ++i) {
    void* before = nullptr;
    if (compilers[i].compare_exchange_strong(before, theirs, std::memory_order_relaxed) || before == theirs)
      return reinterpret_cast<void*>(wrappers[i]);
  }
  return theirs;
}

}  // namespace sluice::capture::library_calls

int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  using namespace sluice::capture::library_calls;
  static constinit std::atomic<void*> linked{nullptr};
  void* theirs = linked.load(std::memory_order_relaxed);
  if (theirs == nullptr) linked.store(theirs = find_linked(), std::memory_order_relaxed);
  if (theirs == nullptr) return internal_error;
  return compile(reinterpret_cast<compile_function>(theirs), program, count, options);
}
