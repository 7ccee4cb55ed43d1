// A program that describes its work by NVTX, using only the headers, as libraries do. Its only use of CUDA is to create
// a stream if the fake driver is present.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
// Not in CUDA 12.4's headers.
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#define HAS_PAYLOADS
#endif

namespace {

nvtxEventAttributes_t make_event_selection(nvtxMessageType_t type, nvtxMessageValue_t message) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = type;
  event.message = message;
  return event;
}

void ranges() {
  nvtxRangePop();  // There is no range to pop.
  nvtxRangePushA("outer");
  nvtxRangePushW(L"inn\u00e9r \U0001F600");
  nvtxMarkA("mark");
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangePop();
  // This range starts here and ends on another thread.
  const nvtxRangeId_t across = nvtxRangeStartA("across threads");
  std::thread([=] { nvtxRangeEnd(across); }).join();
  nvtxRangeEnd(12345);  // An unknown range.
}

void domains() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  nvtxMessageValue_t message{};
  message.registered = nvtxDomainRegisterStringA(domain, "registered");
  const nvtxEventAttributes_t registered = make_event_selection(NVTX_MESSAGE_TYPE_REGISTERED, message);
  message.ascii = "plain";
  const nvtxEventAttributes_t plain = make_event_selection(NVTX_MESSAGE_TYPE_ASCII, message);
  // Each domain has its own stack: the pop below affects only the stack of its domain.
  nvtxRangePushA("default domain");
  nvtxDomainRangePushEx(domain, &registered);
  nvtxRangePop();
  nvtxDomainRangePop(domain);
  nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &plain));
  nvtxDomainMarkEx(domain, &registered);
  nvtxDomainMarkEx(nullptr, nullptr);
  nvtxDomainDestroy(domain);
}

/// Adds payloads as NCCL does: some ranges start without a payload and end with one.
void payloads() {
#ifdef HAS_PAYLOADS
  nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
  nvtxMessageValue_t message{};
  message.ascii = "ncclCommInitRankConfig";
  const nvtxEventAttributes_t event = make_event_selection(NVTX_MESSAGE_TYPE_ASCII, message);
  const int rank = 3;
  const nvtxPayloadData_t payload = {NVTX_PAYLOAD_ENTRY_TYPE_INT, sizeof rank, &rank};
  nvtxDomainRangePushEx(domain, &event);
  nvtxRangePushPayload(domain, &payload, 1);
  nvtxRangePopPayload(domain, &payload, 1);
  nvtxRangePopPayload(domain, &payload, 1);
  nvtxRangeEndPayload(domain, nvtxRangeStartPayload(domain, &payload, 1), &payload, 1);
#endif
}

void names() {
  nvtxNameOsThreadA(static_cast<std::uint32_t>(syscall(SYS_gettid)), "the main one");
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return;
  const auto find = [&](const char* name) { return dlsym(driver, name); };
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  reinterpret_cast<CUresult (*)(unsigned)>(find("cuInit"))(0);
  reinterpret_cast<CUresult (*)(CUcontext*, CUdevice)>(find("cuDevicePrimaryCtxRetain"))(&context, 0);
  reinterpret_cast<CUresult (*)(CUcontext)>(find("cuCtxSetCurrent"))(context);
  reinterpret_cast<CUresult (*)(CUstream*, unsigned)>(find("cuStreamCreate"))(&stream, 0);
  nvtxNameCudaStreamA(reinterpret_cast<cudaStream_t>(stream), "copies");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "payloads") {
    payloads();
    return 0;
  }
  ranges();
  domains();
  if (argc > 1 && std::string(argv[1]) == "cuda") names();
  nvtxRangePushA("never popped");
  static_cast<void>(nvtxRangeStartA("never ended"));
  // A push returns the same value with and without the recorder.
  const int depth = nvtxRangePushA("answer");
  nvtxRangePop();
  return depth == NVTX_NO_PUSH_POP_TRACKING ? 0 : 3;
}
