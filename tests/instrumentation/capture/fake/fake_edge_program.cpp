// fake_edge_program: rare uses of CUDA, by calls to the fake driver.
//
//   fake_edge_program HOW [WORD]      each function documents one HOW; status 0 if every call succeeded as expected

#include <cuda.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/instrumentation/capture/fake/flush_thread.hpp"

#undef cuMemAlloc
#undef cuMemFree
#undef cuMemcpyDtoH
#undef cuMemcpyHtoDAsync
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync

// The names that the driver exports, in case an older header does not map to them.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, std::size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpyDtoH_v2(void*, CUdeviceptr, std::size_t);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void*, std::size_t, CUstream);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice);
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
CUresult cuGraphAddKernelNode_v2(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                                 const CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long);
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphExecUpdate_v2(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*);
#if CUDA_VERSION >= 13000
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, CUmemcpyAttributes*, std::size_t*,
                               std::size_t, CUstream);
CUresult cuMemcpy3DBatchAsync_v2(std::size_t, CUDA_MEMCPY3D_BATCH_OP*, unsigned long long, CUstream);
#endif
}

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
std::string word;
CUmodule module = nullptr;

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "fake_edge_program: %s: %d\n", call, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check((call), #call)

CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc_v2(&address, bytes));
  return address;
}
CUfunction kernel(const char* name) {
  CUfunction handle = nullptr;
  CHECK(cuModuleGetFunction(&handle, module, name));
  return handle;
}
CUresult launch(CUfunction f, CUdeviceptr given, CUstream stream) {
  void* parameters[] = {&given};
  return cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
}

/// Launches twenty kernels that succeed, then the kernel `word` on another stream. Every later call fails. Status 42.
int fault() {
  CUstream good = nullptr;
  CUstream bad = nullptr;
  CHECK(cuStreamCreate(&good, 0));
  CHECK(cuStreamCreate(&bad, 0));
  const CUdeviceptr a = allocate(3 * mib);
  allocate(5 * mib);
  std::vector<char> host(3 * mib);
  CHECK(cuMemcpyHtoDAsync_v2(a, host.data(), 3 * mib, good));
  const CUfunction fine = kernel("fine:8");
  for (int i = 0; i < 20; ++i) CHECK(launch(fine, a, good));
  CHECK(cuStreamSynchronize(good));
  sluice::fake::wait_for_flush(150'000);  // Meanwhile the recorder flushes finished work.
  CHECK(launch(kernel("beside:8"), a, good));
  CHECK(launch(kernel((word + ":8").c_str()), 0, bad));
  int worked = 0;
  worked += cuStreamSynchronize(bad) == CUDA_SUCCESS;
  CUdeviceptr none = 0;
  worked += cuMemAlloc_v2(&none, 1 * mib) == CUDA_SUCCESS;
  worked += cuMemcpyDtoH_v2(host.data(), a, 1 * mib) == CUDA_SUCCESS;
  worked += launch(fine, a, good) == CUDA_SUCCESS;
  worked += cuMemFree_v2(a) == CUDA_SUCCESS;
  worked += cuMemFreeAsync(a, good) == CUDA_SUCCESS;
  worked += cuCtxSynchronize() == CUDA_SUCCESS;
  return worked == 0 ? 42 : 1;
}

/// As `fault`, but the program makes no call that would reveal the fault.
int silent_fault() {
  CHECK(launch(kernel("faulting:8"), 0, nullptr));
  return 42;
}

/// Destroys the context while the recorder's own query of it has not returned.
int reset_after_fault() {
  CHECK(launch(kernel("faulting:8"), allocate(1 * mib), nullptr));
  usleep(150'000);
  (void)cuDevicePrimaryCtxReset_v2(0);
  return 42;
}

#if CUDA_VERSION >= 13000
void copy_batch(std::vector<CUdeviceptr> to, std::vector<CUdeviceptr> udeviceptrs, std::vector<std::size_t> sizes) {
  CUmemcpyAttributes attributes{};
  std::size_t index = 0;
  CHECK(cuMemcpyBatchAsync_v2(to.data(), udeviceptrs.data(), sizes.data(), sizes.size(), &attributes, &index, 1,
                              nullptr));
}

/// Batches of copies: five copies to three blocks; three copies, one of them in the other direction; `word` small
/// copies; one copy; and two copies with shapes.
int batch() {
  const CUdeviceptr a = allocate(1 * mib);
  const CUdeviceptr b = allocate(2 * mib);
  const CUdeviceptr c = allocate(3 * mib);
  void* host = nullptr;
  CHECK(cuMemHostAlloc(&host, 4 * mib, 0));
  const auto source = reinterpret_cast<CUdeviceptr>(host);
  copy_batch({a, b, c, a + mib / 2, b + mib}, {source, source + 1, source + 2, source + 3, source + 4},
             {1001, 1002, 1003, 1004, 1005});
  copy_batch({a, source, c}, {source, b, source}, {2001, 2002, 2003});
  const auto count = static_cast<std::size_t>(std::stoul(word));
  const CUdeviceptr many = allocate(count * 64);
  std::vector<CUdeviceptr> to;
  for (std::size_t i = 0; i < count; ++i) to.push_back(many + i * 64);
  copy_batch(to, std::vector<CUdeviceptr>(count, source), std::vector<std::size_t>(count, 16));
  copy_batch({b}, {source}, {3001});
  CUDA_MEMCPY3D_BATCH_OP shaped[2]{};
  for (CUDA_MEMCPY3D_BATCH_OP& copy : shaped) {
    copy.src.type = copy.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    copy.src.op.ptr.ptr = source;
    copy.dst.op.ptr.ptr = &copy == shaped ? b : c;
    copy.extent = {100, 4, 2};
  }
  CHECK(cuMemcpy3DBatchAsync_v2(2, shaped, 0, nullptr));
  return 0;
}
#else
int batch() { return 77; }
#endif

/// Makes one copy to another device, one copy back, and one within a device.
int peer() {
  const CUdeviceptr a = allocate(1 * mib);
  const CUdeviceptr b = allocate(2 * mib);
  CUcontext here = nullptr;
  CHECK(cuCtxGetCurrent(&here));
  auto* const there = reinterpret_cast<CUcontext>(0x5d00);
  CHECK(cuCtxEnablePeerAccess(there, 0));
  CHECK(cuMemcpyPeerAsync(b, there, a, here, 1001, nullptr));
  CHECK(cuMemcpyPeerAsync(a, here, b, there, 1002, nullptr));
  CHECK(cuMemcpyPeerAsync(b, here, a, here, 1003, nullptr));
  return 0;
}

/// A captured kernel and copy, and manually created nodes, whose parameters change between launches. Blocks are
/// identified by size.
int graph() {
  const CUdeviceptr a = allocate(1001);
  const CUdeviceptr b = allocate(2002);
  const CUdeviceptr c = allocate(3003);
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, 0));
  std::vector<char> host(1001);
  const CUfunction f = kernel("changed:8");
  const auto capture = [&](CUdeviceptr named, CUdeviceptr copied) {
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(launch(f, named, stream));
    CHECK(cuMemcpyHtoDAsync_v2(copied, host.data(), 1000, stream));
    CUgraph captured = nullptr;
    CHECK(cuStreamEndCapture(stream, &captured));
    return captured;
  };
  const CUgraph graph_handle = capture(a, a);
  CUgraphExec exec = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&exec, graph_handle, 0));
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) CHECK(cuGraphLaunch(exec, stream));
  };
  run(1);  // a
  CUgraphNode nodes[2];
  std::size_t count = 2;
  CHECK(cuGraphGetNodes(graph_handle, nodes, &count));
  CUdeviceptr given = b;
  void* parameters[] = {&given};
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = f;
  params.kernelParams = parameters;
  CHECK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &params));
  run(2);  // b, a
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = c;
  CHECK(cuGraphExecMemcpyNodeSetParams(exec, nodes[1], &copy, nullptr));
  run(3);  // b, c
  const CUgraph other = capture(c, c);
  CUgraphExecUpdateResultInfo info{};
  CHECK(cuGraphExecUpdate_v2(exec, other, &info));
  run(4);  // c
  // A manually created graph, which changes after it was instantiated.
  CUgraph built = nullptr;
  CHECK(cuGraphCreate(&built, 0));
  CUgraphNode kernel_at = nullptr;
  CUgraphNode fill_at = nullptr;
  given = a;
  CHECK(cuGraphAddKernelNode_v2(&kernel_at, built, nullptr, 0, &params));
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = a;
  CHECK(cuGraphAddMemsetNode(&fill_at, built, nullptr, 0, &fill, nullptr));
  CUgraphExec before = nullptr;
  CUgraphExec after = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&before, built, 0));
  given = b;
  CHECK(cuGraphKernelNodeSetParams_v2(kernel_at, &params));
  CHECK(cuGraphInstantiateWithFlags(&after, built, 0));
  for (int i = 0; i < 5; ++i) CHECK(cuGraphLaunch(before, stream));  // a
  for (int i = 0; i < 6; ++i) CHECK(cuGraphLaunch(after, stream));   // b, a
  fill.dst = b;
  CHECK(cuGraphExecMemsetNodeSetParams(after, fill_at, &fill, nullptr));
  for (int i = 0; i < 7; ++i) CHECK(cuGraphLaunch(after, stream));  // b
  return 0;
}

/// Nested graphs: created manually, replaced in the executable graph, and launched during a capture; and nodes that are
/// disabled and enabled. Blocks are identified by size.
int children() {
  const CUdeviceptr blocks[] = {allocate(1001), allocate(2002), allocate(3003)};
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, 0));
  const CUfunction f = kernel("child:8");
  CUgraphNode kernel_at = nullptr;
  const auto add_kernel = [&](CUgraph to, CUdeviceptr given) {
    void* parameters[] = {&given};
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = f;
    params.kernelParams = parameters;
    CHECK(cuGraphAddKernelNode_v2(&kernel_at, to, nullptr, 0, &params));
  };
  const auto with_kernel = [&](CUdeviceptr given) {
    CUgraph graph_handle = nullptr;
    CHECK(cuGraphCreate(&graph_handle, 0));
    add_kernel(graph_handle, given);
    return graph_handle;
  };
  const auto run = [&](CUgraphExec exec, int times) {
    for (int i = 0; i < times; ++i) CHECK(cuGraphLaunch(exec, stream));
  };
  const CUgraph child = with_kernel(blocks[0]);
  const CUgraph parent = with_kernel(blocks[1]);
  const CUgraphNode own = kernel_at;
  CUgraphNode child_at = nullptr;
  CHECK(cuGraphAddChildGraphNode(&child_at, parent, nullptr, 0, child));
  add_kernel(child, blocks[2]);  // Has no effect, because the parent already has a copy of the child.
  CUgraphExec exec = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&exec, parent, 0));
  run(exec, 1);  // 2002, 1001
  CHECK(cuGraphExecChildGraphNodeSetParams(exec, child_at, with_kernel(blocks[2])));
  run(exec, 2);  // 2002, 3003
  CHECK(cuGraphNodeSetEnabled(exec, own, 0));
  run(exec, 3);  // 3003
  CHECK(cuGraphNodeSetEnabled(exec, own, 1));
  run(exec, 4);  // 2002, 3003
  // Captured, then given a child graph.
  CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(launch(f, blocks[0], stream));
  if (cuGraphLaunch(exec, stream) != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) return 3;
  CUgraph captured = nullptr;
  CHECK(cuStreamEndCapture(stream, &captured));
  CHECK(cuGraphAddChildGraphNode(&child_at, captured, nullptr, 0, with_kernel(blocks[2])));
  CUgraphExec both = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&both, captured, 0));
  run(both, 5);  // 1001, 3003
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)()> ways{{"fault", fault},
                                              {"silent-fault", silent_fault},
                                              {"reset-after-fault", reset_after_fault},
                                              {"batch", batch},
                                              {"graph", graph},
                                              {"children", children},
                                              {"peer", peer}};
  const auto way = ways.find(argc > 1 ? argv[1] : "");
  if (way == ways.end()) return 2;
  word = argc > 2 ? argv[2] : "";
  CHECK(cuInit(0));
  CUcontext context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, nullptr));
  return way->second();
}
