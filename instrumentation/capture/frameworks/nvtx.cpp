// Records annotations made through NVTX, NVIDIA's interface with which programs and libraries annotate themselves for
// any tool. At its first call, each module that includes NVTX's headers loads the library in NVTX_INJECTION64_PATH,
// which sets the module's functions; functions that are not set do nothing. This file keeps no state: the handle of a
// domain or registered string is the key of its text, and the writer finds the range that a pop ends. A push returns
// the value for "depth not tracked", as it does without a tool.
//
// Newer headers have an extension for payloads, which is initialised separately. NCCL begins all ranges without the
// extension but ends some of them through it (those of ncclCommInitRank...). A tool that does not support the extension
// never sees these ranges end.

#include <stddef.h>
#include <wchar.h>

// Only NVTX's declarations are needed, because nothing here calls NVTX.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include "instrumentation/capture/frameworks/annotations.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/recording.hpp"
#include "instrumentation/capture/process/state.hpp"

namespace sluice::capture {

namespace {

using ring::intern;

/// Interns a text after converting it to UTF-8; it is cut at 1 KiB.
std::uint64_t intern(const wchar_t* text) {
  if (text == nullptr) return 0;
  char utf8[1024];
  std::size_t length = 0;
  for (; *text != L'\0' && length + 4 <= sizeof utf8; ++text) {
    const auto c = static_cast<std::uint32_t>(*text);
    const auto put = [&](std::uint32_t byte) { utf8[length++] = static_cast<char>(byte); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xC0 | (c >> 6)), put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      put(0xE0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3F)), put(0x80 | (c & 0x3F));
    } else if (c < 0x110000) {
      put(0xF0 | (c >> 18)), put(0x80 | ((c >> 12) & 0x3F)), put(0x80 | ((c >> 6) & 0x3F)), put(0x80 | (c & 0x3F));
    }
  }
  return intern(utf8, length);
}

/// A handle is the key of its text; it is never null.
template <class Handle>
Handle get_handle(std::uint64_t key) {
  return reinterpret_cast<Handle>(key != 0 ? key : intern("(no name)"));
}
template <class Handle>
std::uint64_t get_key(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

std::uint64_t find_message(const nvtxEventAttributes_t* event) {
  // All members up to the message exist in every version of the structure.
  if (event == nullptr || event->size < offsetof(nvtxEventAttributes_t, message) + sizeof event->message) return 0;
  switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return intern(event->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return intern(event->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return get_key(event->message.registered);
    default:
      return 0;
  }
}

int pushed(std::uint64_t name, std::uint64_t domain = 0) {
  annotations::push(name, domain);
  return NVTX_NO_PUSH_POP_TRACKING;
}
int popped(std::uint64_t domain = 0) {
  annotations::pop(domain);
  return NVTX_NO_PUSH_POP_TRACKING;
}

using any_function = void (*)();

struct replacement {
  unsigned id;
  any_function function;
};

template <std::size_t count>
void replace(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module, const replacement (&with)[count]) {
  NvtxFunctionTable functions = nullptr;
  unsigned size = 0;
  if (callbacks.GetModuleFunctionTable(module, &functions, &size) == 0 || functions == nullptr) return;
  for (const replacement& r : with) {
    if (r.id < size && functions[r.id] != nullptr) *functions[r.id] = r.function;
  }
}

/// A function for NVTX, checked against NVTX's own type.
template <class Type>
any_function as(Type function) {
  return reinterpret_cast<any_function>(function);
}
#define REPLACES(id, name, ...) \
  { id, as<name##_impl_fntype>(+[] __VA_ARGS__) }

void replace_core(const NvtxExportTableCallbacks& callbacks) {
  const replacement with[] = {
      REPLACES(
          NVTX_CBID_CORE_MarkEx, nvtxMarkEx,
          (const nvtxEventAttributes_t* event) { annotations::mark(find_message(event)); }),
      REPLACES(
          NVTX_CBID_CORE_MarkA, nvtxMarkA, (const char* text) { annotations::mark(intern(text)); }),
      REPLACES(
          NVTX_CBID_CORE_MarkW, nvtxMarkW, (const wchar_t* text) { annotations::mark(intern(text)); }),
      REPLACES(
          NVTX_CBID_CORE_RangeStartEx, nvtxRangeStartEx,
          (const nvtxEventAttributes_t* event)->nvtxRangeId_t { return annotations::start(find_message(event), 0); }),
      REPLACES(
          NVTX_CBID_CORE_RangeStartA, nvtxRangeStartA,
          (const char* text)->nvtxRangeId_t { return annotations::start(intern(text), 0); }),
      REPLACES(
          NVTX_CBID_CORE_RangeStartW, nvtxRangeStartW,
          (const wchar_t* text)->nvtxRangeId_t { return annotations::start(intern(text), 0); }),
      REPLACES(
          NVTX_CBID_CORE_RangeEnd, nvtxRangeEnd, (nvtxRangeId_t range) { annotations::end(range); }),
      REPLACES(
          NVTX_CBID_CORE_RangePushEx, nvtxRangePushEx,
          (const nvtxEventAttributes_t* event) { return pushed(find_message(event)); }),
      REPLACES(
          NVTX_CBID_CORE_RangePushA, nvtxRangePushA, (const char* text) { return pushed(intern(text)); }),
      REPLACES(
          NVTX_CBID_CORE_RangePushW, nvtxRangePushW, (const wchar_t* text) { return pushed(intern(text)); }),
      REPLACES(
          NVTX_CBID_CORE_RangePop, nvtxRangePop, () { return popped(); }),
      REPLACES(
          NVTX_CBID_CORE_NameOsThreadA, nvtxNameOsThreadA,
          (std::uint32_t thread, const char* text) { annotations::name_thread(thread, intern(text)); }),
      REPLACES(
          NVTX_CBID_CORE_NameOsThreadW, nvtxNameOsThreadW,
          (std::uint32_t thread, const wchar_t* text) { annotations::name_thread(thread, intern(text)); }),
  };
  replace(callbacks, NVTX_CB_MODULE_CORE, with);
}

void replace_domains(const NvtxExportTableCallbacks& callbacks) {
  const replacement with[] = {
      REPLACES(
          NVTX_CBID_CORE2_DomainMarkEx, nvtxDomainMarkEx,
          (nvtxDomainHandle_t, const nvtxEventAttributes_t* event) { annotations::mark(find_message(event)); }),
      REPLACES(
          NVTX_CBID_CORE2_DomainRangeStartEx, nvtxDomainRangeStartEx,
          (nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event)->nvtxRangeId_t {
            return annotations::start(find_message(event), get_key(domain));
          }),
      REPLACES(
          NVTX_CBID_CORE2_DomainRangeEnd, nvtxDomainRangeEnd,
          (nvtxDomainHandle_t, nvtxRangeId_t range) { annotations::end(range); }),
      REPLACES(
          NVTX_CBID_CORE2_DomainRangePushEx, nvtxDomainRangePushEx,
          (nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
            return pushed(find_message(event), get_key(domain));
          }),
      REPLACES(
          NVTX_CBID_CORE2_DomainRangePop, nvtxDomainRangePop,
          (nvtxDomainHandle_t domain) { return popped(get_key(domain)); }),
      REPLACES(
          NVTX_CBID_CORE2_DomainRegisterStringA, nvtxDomainRegisterStringA,
          (nvtxDomainHandle_t, const char* text) { return get_handle<nvtxStringHandle_t>(intern(text)); }),
      REPLACES(
          NVTX_CBID_CORE2_DomainRegisterStringW, nvtxDomainRegisterStringW,
          (nvtxDomainHandle_t, const wchar_t* text) { return get_handle<nvtxStringHandle_t>(intern(text)); }),
      REPLACES(
          NVTX_CBID_CORE2_DomainCreateA, nvtxDomainCreateA,
          (const char* text) { return get_handle<nvtxDomainHandle_t>(intern(text)); }),
      REPLACES(
          NVTX_CBID_CORE2_DomainCreateW, nvtxDomainCreateW,
          (const wchar_t* text) { return get_handle<nvtxDomainHandle_t>(intern(text)); }),
  };
  replace(callbacks, NVTX_CB_MODULE_CORE2, with);
}
#undef REPLACES
#define REPLACES(id, name, ...) \
  { id, as<name##_fakeimpl_fntype>(+[] __VA_ARGS__) }

void replace_driver_names(const NvtxExportTableCallbacks& callbacks) {
  const replacement with[] = {
      REPLACES(
          NVTX_CBID_CUDA_NameCuStreamA, nvtxNameCuStreamA,
          (nvtx_CUstream stream, const char* text) { name_stream(static_cast<CUstream>(stream), intern(text)); }),
      REPLACES(
          NVTX_CBID_CUDA_NameCuStreamW, nvtxNameCuStreamW,
          (nvtx_CUstream stream, const wchar_t* text) { name_stream(static_cast<CUstream>(stream), intern(text)); }),
  };
  replace(callbacks, NVTX_CB_MODULE_CUDA, with);
}

// A stream of the CUDA runtime is a stream of the driver.
void replace_runtime_names(const NvtxExportTableCallbacks& callbacks) {
  const replacement with[] = {
      REPLACES(
          NVTX_CBID_CUDART_NameCudaStreamA, nvtxNameCudaStreamA,
          (nvtx_cudaStream_t stream, const char* text) { name_stream(static_cast<CUstream>(stream), intern(text)); }),
      REPLACES(
          NVTX_CBID_CUDART_NameCudaStreamW, nvtxNameCudaStreamW,
          (nvtx_cudaStream_t stream, const wchar_t* text) {
            name_stream(static_cast<CUstream>(stream), intern(text));
          }),
  };
  replace(callbacks, NVTX_CB_MODULE_CUDART, with);
}
#undef REPLACES

/// The structures that the payload extension passes, as defined by NVTX 3.1 and later (nvtxDetail/nvtxExtTypes.h); CUDA
/// 12.4's headers lack them.
struct extension_segment {
  size_t id;
  size_t slot_count;
  any_function* slots;  ///< Indexed by the number of the function; null until set.
};
struct extension_module {
  std::uint16_t nvtx_version;
  std::uint16_t size;  ///< Size of this structure.
  std::uint16_t id;
  std::uint16_t compatibility;
  size_t segment_count;
  extension_segment* segments;
};
constexpr std::uint16_t payload_extension = 2;

/// Payloads themselves are not recorded. A range or mark that has only a payload is recorded without a name.
void replace_payload_functions(const extension_segment& segment) {
  const replacement with[] = {
      {2, as(+[](nvtxDomainHandle_t, const void*, size_t) { annotations::mark(0); })},
      {3, as(+[](nvtxDomainHandle_t domain, const void*, size_t) { return pushed(0, get_key(domain)); })},
      {4, as(+[](nvtxDomainHandle_t domain, const void*, size_t) { return popped(get_key(domain)); })},
      {5, as(+[](nvtxDomainHandle_t domain, const void*, size_t) -> nvtxRangeId_t {
         return annotations::start(0, get_key(domain));
       })},
      {6, as(+[](nvtxDomainHandle_t, nvtxRangeId_t range, const void*, size_t) { annotations::end(range); })},
  };
  for (const replacement& r : with)
    if (r.id < segment.slot_count) segment.slots[r.id] = r.function;
}

bool listens() { return recording() && records_at_least(sluice::trace::recording_mode::timeline); }

}  // namespace

}  // namespace sluice::capture

/// Each module's copy of NVTX calls this once. Returning 0 leaves that copy without a tool, at its normal cost.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table) {
  using namespace sluice::capture;
  if (table == nullptr || !listens()) return 0;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return 0;
  replace_core(*callbacks);
  replace_domains(*callbacks);
  replace_driver_names(*callbacks);
  replace_runtime_names(*callbacks);
  return 1;
}

/// Each module's copy of an extension of NVTX calls this once. Returning 0 turns that copy off.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(void* info) {
  using namespace sluice::capture;
  const auto* module = static_cast<const extension_module*>(info);
  if (module == nullptr || module->size < sizeof *module || module->id != payload_extension || !listens()) return 0;
  if (module->segment_count == 0 || module->segments == nullptr || module->segments->slots == nullptr) return 0;
  replace_payload_functions(*module->segments);
  return 1;
}
