// fake_launches: programs that launch kernels with parameters through the fake driver. The only argument selects one.
//
// Blocks are identified by size; touch_test.cpp knows the sizes that each kernel was given.

#include <cuda.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#undef cuStreamBeginCapture
#undef cuMemAlloc
#undef cuMemFree
#undef cuGraphInstantiate
// Functions of the fake driver itself.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, std::size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
CUresult cuGraphAddKernelNode_v2(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                                 const CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long);
}

namespace {

CUmodule module = nullptr;
CUstream stream = nullptr;

CUdeviceptr block(std::size_t bytes) {
  CUdeviceptr address = 0;
  if (cuMemAlloc_v2(&address, bytes) != CUDA_SUCCESS) std::exit(2);
  return address;
}
CUfunction kernel(const char* name) {
  CUfunction handle = nullptr;
  cuModuleGetFunction(&handle, module, name);
  return handle;
}
CUresult launch(CUfunction f, void** parameters, void** extra = nullptr, CUstream on = stream) {
  return cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, on, parameters, extra);
}
template <class... Values>
CUresult launch_with(const char* name, Values... values) {
  void* parameters[] = {static_cast<void*>(&values)...};
  return launch(kernel(name), parameters);
}

struct mixed {
  std::uint64_t five;
  CUdeviceptr first;
  double one;
  CUdeviceptr second;
};
struct crooked {  // A pointer at an unaligned offset.
  std::uint32_t words[3];
};
struct many {
  std::array<CUdeviceptr, 512> blocks;
};

int touches() {
  const CUdeviceptr a = block(1001);
  const CUdeviceptr b = block(3 << 20);
  const CUdeviceptr c = block(5003);
  const CUdeviceptr gone = block(7001);
  cuMemFree_v2(gone);
  launch_with("two:8,8,4", a, b + (2 << 20) + 12, 7);
  launch_with("structure:32", mixed{5, a, 1.0, c + 5002});
  launch_with("same:8,8", a, a + 500);
  launch_with("none:4,8,8", 7, std::uint64_t{4096}, 0.25);
  launch_with("past:8", c + 5003);
  launch_with("freed:8", gone);
  crooked twisted{};
  std::memcpy(&twisted.words[1], &a, sizeof a);
  launch_with("crooked:12", twisted);
  launch_with("library_kernel:8", c);
  launch_with("failing:8", a);
  // Parameters in one buffer, and one buffer whose stated size is too large.
  struct {
    CUdeviceptr first, second;
  } buffer{b, c};
  std::size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  launch(kernel("buffered:8,8"), nullptr, extra);
  bytes = ~std::size_t{0};
  launch(kernel("overstated:8,8"), nullptr, extra);
  bytes = 8;
  launch(kernel("understated:8,8"), nullptr, extra);
  return 0;
}

int hostile() {
  CUdeviceptr a = block(1001);
  launch(kernel("nothing_given:8,8"), nullptr);
  void* holes[] = {nullptr, &a};
  launch(kernel("a_hole:8,8"), holes);
  void* unended[64];
  for (void*& option : unended) option = CU_LAUNCH_PARAM_BUFFER_POINTER;
  for (int i = 1; i < 64; i += 2) unended[i] = nullptr;
  launch(kernel("unended:8"), nullptr, unended);
  launch(nullptr, holes);
  launch(kernel("huge:40000"), holes);
  return 0;
}

/// A launch like that of an optimizer: 300 blocks, each of which is named twice.
int optimizer() {
  static many given;
  for (std::size_t i = 0; i < 300; ++i) given.blocks[i] = block(10'000 + i);
  for (std::size_t i = 300; i < 512; ++i) given.blocks[i] = given.blocks[i - 300];
  void* parameters[] = {given.blocks.data()};
  launch(kernel("optimizer:4096"), parameters);
  return 0;
}

int capture() {
  const CUdeviceptr a = block(1001);
  const CUdeviceptr b = block(2002);
  CUstream side = nullptr;
  cuStreamCreate(&side, 0);
  std::vector<char> texts(1001);
  cuStreamBeginCapture_v2(side, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUdeviceptr given = a;
  void* parameters[] = {&given};
  launch(kernel("captured:8"), parameters, nullptr, side);
  cuMemcpyHtoDAsync(b, texts.data(), 1001, side);
  launch(kernel("beside:8"), parameters);  // This launch is not on the captured stream.
  CUgraph graph = nullptr;
  cuStreamEndCapture(side, &graph);
  given = b;
  launch(kernel("after:8"), parameters, nullptr, side);
  CUgraphExec exec = nullptr;
  cuGraphInstantiateWithFlags(&exec, graph, 0);
  cuGraphDestroy(graph);
  for (int i = 0; i < 3; ++i) cuGraphLaunch(exec, side);
  // Another graph, which may reuse the first one's handle.
  cuStreamBeginCapture_v2(side, CU_STREAM_CAPTURE_MODE_GLOBAL);
  launch(kernel("second:8"), parameters, nullptr, side);
  cuStreamEndCapture(side, &graph);
  CUgraphExec other = nullptr;
  cuGraphInstantiateWithFlags(&other, graph, 0);
  cuGraphLaunch(other, side);
  // A graph that is built without a capture.
  CUgraph built = nullptr;
  cuGraphCreate(&built, 0);
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = kernel("node:8");
  node.kernelParams = parameters;
  CUgraphNode added = nullptr;
  cuGraphAddKernelNode_v2(&added, built, nullptr, 0, &node);
  cuGraphInstantiateWithFlags(&exec, built, 0);
  cuGraphLaunch(exec, side);
  return 0;
}

/// A function's handle is reused by another function with other parameters.
int unload() {
  CUdeviceptr a = block(1001);
  CUdeviceptr b = block(2002);
  CUmodule first = nullptr;
  cuModuleLoadData(&first, nullptr);
  CUfunction f = nullptr;
  cuModuleGetFunction(&f, first, "before:8");
  void* parameters[] = {&a, &b};
  launch(f, parameters);
  cuModuleUnload(first);
  CUmodule second = nullptr;
  cuModuleLoadData(&second, nullptr);
  CUfunction g = nullptr;
  cuModuleGetFunction(&g, second, "behind:4,8");
  std::printf("%s\n", f == g ? "the same handle" : "another handle");
  int number = 3;
  void* others[] = {&number, &b};
  launch(g, others);
  return f == g ? 0 : 3;
}

int threads() {
  std::vector<std::thread> items;
  for (std::size_t t = 0; t < 8; ++t) {
    items.emplace_back([t] {
      CUcontext context = nullptr;
      cuDevicePrimaryCtxRetain(&context, 0);
      cuCtxSetCurrent(context);
      const std::string name = "thread" + std::to_string(t) + ":8,8";
      CUfunction f = kernel(name.c_str());
      for (int i = 0; i < 200; ++i) {
        CUdeviceptr own = block(1000 + t);
        CUdeviceptr inside = own + 999;
        void* parameters[] = {&own, &inside};
        launch(f, parameters);
        cuMemFree_v2(own);
      }
    });
  }
  for (std::thread& t : items) t.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  cuInit(0);
  CUcontext context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuModuleLoadData(&module, nullptr);
  if (which == "touches") return touches();
  if (which == "hostile") return hostile();
  if (which == "optimizer") return optimizer();
  if (which == "capture") return capture();
  if (which == "unload") return unload();
  if (which == "threads") return threads();
  return 2;
}
