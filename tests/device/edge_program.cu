// edge_program: rare uses of CUDA, one per run, for run-edges.
//
//   edge_program fault HOW     the GPU faults: address (a kernel writes to invalid memory), trap, assert;
//                              address-device: the host finds out by waiting for the device. Status 42 if every
//                              earlier call worked and no later one did.
//   edge_program peer          copies between two devices; with one device, only cuMemcpyPeer to itself
//   edge_program ipc           memory of this process in a second one: by IPC handle, by shareable handle, from a pool
//   edge_program batch PARTS   copies in batches: five parts in three blocks, then PARTS small ones
//   edge_program around        one block allocated normally, one by the driver's own function, bypassing preloads
//   edge_program graph         an executable graph whose parameters change between its launches
//   edge_program beside        copies while another stream is being captured
//   edge_program children      nested graphs, and disabled nodes

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

void check(cudaError_t result, const char* call, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "edge_program:%d: %s: %s\n", line, call, cudaGetErrorString(result));
  std::exit(1);
}
void check(CUresult result, const char* call, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "?";
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "edge_program:%d: %s: %s\n", line, call, name);
  std::exit(1);
}
#define CHECK(call) check((call), #call, __LINE__)

__global__ void add_one(float* data, std::size_t n) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) data[i] += 1.0F;
}
__global__ void write_nowhere(float* data) { data[(std::size_t{1} << 44) + threadIdx.x] = 1.0F; }
__global__ void fall_into_trap(float* data) {
  if (data != nullptr) __trap();
}
__global__ void assert_false(float* data) { assert(data == nullptr); }

void launch(float* data, std::size_t bytes, cudaStream_t stream) {
  const std::size_t n = bytes / sizeof(float);
  add_one<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(data, n);
  CHECK(cudaGetLastError());
}

template <class T = char>
T* device_block(std::size_t bytes) {
  void* made = nullptr;
  CHECK(cudaMalloc(&made, bytes));
  return static_cast<T*>(made);
}
template <class T = char>
T* pinned_block(std::size_t bytes) {
  void* made = nullptr;
  CHECK(cudaMallocHost(&made, bytes));
  return static_cast<T*>(made);
}
cudaStream_t new_stream() {
  cudaStream_t made = nullptr;
  CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  return made;
}

// --- a fault ----------------------------------------------------------------------------------------------------------------

int fault(const std::string& how) {
  float* a = device_block<float>(3 * mib);
  float* b = device_block<float>(5 * mib);
  char* host = pinned_block(4 * mib);
  cudaStream_t good = new_stream();
  cudaStream_t bad = new_stream();
  CHECK(cudaMemcpyAsync(a, host, 3 * mib, cudaMemcpyHostToDevice, good));
  for (int i = 0; i < 20; ++i) launch(a, 3 * mib, good);
  CHECK(cudaStreamSynchronize(good));
  usleep(200'000);  // Meanwhile the recorder flushes finished work.
  launch(b, 5 * mib, bad);
  CHECK(cudaMemcpyAsync(host, b, 1 * mib, cudaMemcpyDeviceToHost, bad));
  if (how == "trap") {
    fall_into_trap<<<1, 32, 0, bad>>>(b);
  } else if (how == "assert") {
    assert_false<<<1, 32, 0, bad>>>(b);
  } else {
    write_nowhere<<<1, 32, 0, bad>>>(b);
  }
  const cudaError_t first = how == "address-device" ? cudaDeviceSynchronize() : cudaStreamSynchronize(bad);
  std::printf("first: %d %s\n", static_cast<int>(first), cudaGetErrorName(first));
  if (first == cudaSuccess) return 1;
  void* none = nullptr;
  int worked = 0;
  worked += cudaMalloc(&none, 1 * mib) == cudaSuccess;
  worked += cudaMemcpy(host, a, 1 * mib, cudaMemcpyDeviceToHost) == cudaSuccess;
  add_one<<<1, 256, 0, good>>>(a, 256);
  worked += cudaGetLastError() == cudaSuccess;
  worked += cudaFree(a) == cudaSuccess;
  worked += cudaStreamSynchronize(good) == cudaSuccess;
  std::printf("calls that worked after it: %d\n", worked);
  return worked == 0 ? 42 : 1;
}

// --- copies between devices -------------------------------------------------------------------------------------------------

/// Copies between the devices. Each copy has its own size, which identifies it.
void copy_to_peer(char* here, int there_device, char* there, int here_device) {
  cudaStream_t stream = new_stream();
  CHECK(cudaMemcpyPeer(there, there_device, here, here_device, 8 * mib));
  CHECK(cudaMemcpyPeerAsync(there, there_device, here, here_device, 9 * mib, stream));
  cudaMemcpy3DPeerParms shape{};
  shape.srcDevice = here_device;
  shape.dstDevice = there_device;
  shape.srcPtr = make_cudaPitchedPtr(here, mib, mib, 10);
  shape.dstPtr = make_cudaPitchedPtr(there, mib, mib, 10);
  shape.extent = make_cudaExtent(mib, 10, 1);
  CHECK(cudaMemcpy3DPeerAsync(&shape, stream));
  CHECK(cudaMemcpyAsync(there, here, 11 * mib, cudaMemcpyDefault, stream));  // Unified addresses give the devices.
  CHECK(cudaMemcpyAsync(there, here, 12 * mib, cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < 5; ++i) CHECK(cudaMemcpyPeerAsync(there, there_device, here, here_device, 200 * mib, stream));
  CHECK(cudaStreamSynchronize(stream));
}

int peer() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  char* here = device_block(200 * mib);
  if (devices < 2) {
    char* there = device_block(200 * mib);
    copy_to_peer(here, 0, there, 0);
    std::puts("devices: 1");
    return 0;
  }
  CHECK(cudaSetDevice(1));
  char* there = device_block(200 * mib);
  CHECK(cudaSetDevice(0));
  CHECK(cudaMemcpyPeer(there, 1, here, 0, 7 * mib));  // Before peer access is enabled.
  int reaches = 0;
  CHECK(cudaDeviceCanAccessPeer(&reaches, 0, 1));
  if (reaches != 0) CHECK(cudaDeviceEnablePeerAccess(1, 0));
  copy_to_peer(here, 1, there, 0);
  std::printf("devices: %d, peer access: %d\n", devices, reaches);
  return 0;
}

// --- memory in two processes ------------------------------------------------------------------------------------------------

void send_all(int to, const void* bytes, std::size_t count) {
  if (write(to, bytes, count) != static_cast<ssize_t>(count)) std::exit(3);
}
void receive_all(int from, void* bytes, std::size_t count) {
  auto* at = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = read(from, at, count);
    if (got <= 0) std::exit(3);
    at += got;
    count -= static_cast<std::size_t>(got);
  }
}
void send_descriptor(int to, int descriptor) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  if (sendmsg(to, &message, 0) != 1) std::exit(3);
}
int receive_descriptor(int from) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  if (recvmsg(from, &message, 0) != 1 || CMSG_FIRSTHDR(&message) == nullptr) std::exit(3);
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
  return descriptor;
}

CUmemAllocationProp shareable() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

int own(int other) {
  // 6 MiB by IPC handle.
  char* plain = device_block(6 * mib);
  CHECK(cudaMemset(plain, 1, 6 * mib));
  cudaIpcMemHandle_t handle{};
  CHECK(cudaIpcGetMemHandle(&handle, plain));
  send_all(other, &handle, sizeof handle);
  // 4 MiB of physical memory by descriptor.
  const CUmemAllocationProp properties = shareable();
  CUmemGenericAllocationHandle physical = 0;
  int descriptor = -1;
  CHECK(cuMemCreate(&physical, 4 * mib, &properties, 0));
  CHECK(cuMemExportToShareableHandle(&descriptor, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  send_descriptor(other, descriptor);
  // 2 MiB from a pool.
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  props.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool = nullptr;
  CHECK(cudaMemPoolCreate(&pool, &props));
  int pool_descriptor = -1;
  CHECK(cudaMemPoolExportToShareableHandle(&pool_descriptor, pool, cudaMemHandleTypePosixFileDescriptor, 0));
  send_descriptor(other, pool_descriptor);
  void* pooled = nullptr;
  CHECK(cudaMallocFromPoolAsync(&pooled, 2 * mib, pool, nullptr));
  CHECK(cudaStreamSynchronize(nullptr));
  cudaMemPoolPtrExportData exported{};
  CHECK(cudaMemPoolExportPointer(&exported, pooled));
  send_all(other, &exported, sizeof exported);
  char done = 0;
  receive_all(other, &done, 1);
  CHECK(cudaFreeAsync(pooled, nullptr));
  CHECK(cudaStreamSynchronize(nullptr));
  CHECK(cudaMemPoolDestroy(pool));
  CHECK(cuMemRelease(physical));
  CHECK(cudaFree(plain));
  close(descriptor);
  close(pool_descriptor);
  return 0;
}

int borrow(int other) {
  CHECK(cudaSetDevice(0));
  char* mine = device_block(1 * mib);
  cudaIpcMemHandle_t handle{};
  receive_all(other, &handle, sizeof handle);
  void* plain = nullptr;
  CHECK(cudaIpcOpenMemHandle(&plain, handle, cudaIpcMemLazyEnablePeerAccess));
  CHECK(cudaMemcpy(mine, plain, 1 * mib, cudaMemcpyDeviceToDevice));
  const int descriptor = receive_descriptor(other);
  CUmemGenericAllocationHandle physical = 0;
  CHECK(cuMemImportFromShareableHandle(&physical, reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor)),
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  CUdeviceptr address = 0;
  CHECK(cuMemAddressReserve(&address, 4 * mib, 0, 0, 0));
  CHECK(cuMemMap(address, 4 * mib, 0, physical, 0));
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemSetAccess(address, 4 * mib, &access, 1));
  CHECK(cudaMemset(reinterpret_cast<void*>(address), 2, 4 * mib));
  const int pool_descriptor = receive_descriptor(other);
  cudaMemPool_t pool = nullptr;
  CHECK(cudaMemPoolImportFromShareableHandle(&pool,
                                             reinterpret_cast<void*>(static_cast<std::uintptr_t>(pool_descriptor)),
                                             cudaMemHandleTypePosixFileDescriptor, 0));
  cudaMemPoolPtrExportData exported{};
  receive_all(other, &exported, sizeof exported);
  void* pooled = nullptr;
  CHECK(cudaMemPoolImportPointer(&pooled, pool, &exported));
  cudaMemAccessDesc pool_access{};
  pool_access.location.type = cudaMemLocationTypeDevice;
  pool_access.flags = cudaMemAccessFlagsProtReadWrite;
  CHECK(cudaMemPoolSetAccess(pool, &pool_access, 1));
  CHECK(cudaMemset(pooled, 3, 2 * mib));
  CHECK(cudaDeviceSynchronize());
  usleep(300'000);
  CHECK(cudaFree(pooled));
  CHECK(cuMemUnmap(address, 4 * mib));
  CHECK(cuMemRelease(physical));
  CHECK(cuMemAddressFree(address, 4 * mib));
  CHECK(cudaIpcCloseMemHandle(plain));
  CHECK(cudaFree(mine));
  send_all(other, "", 1);
  return 0;
}

int ipc() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 3;
  const pid_t child = fork();  // Must happen before either process uses CUDA.
  if (child == 0) {
    close(ends[0]);
    std::exit(borrow(ends[1]));
  }
  close(ends[1]);
  const int mine = own(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("the other process ended with status %d\n", WEXITSTATUS(status));
  return mine != 0 ? mine : WEXITSTATUS(status);
}

// --- the driver's own function ----------------------------------------------------------------------------------------------

CUresult (*own_allocate)(CUdeviceptr*, std::size_t) = nullptr;

int around() {
  CHECK(cudaSetDevice(0));
  device_block(3 * mib);
  const auto look_up = reinterpret_cast<void* (*)(void*, const char*)>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (look_up == nullptr || driver == nullptr) return 3;
  own_allocate = reinterpret_cast<decltype(own_allocate)>(look_up(driver, "cuMemAlloc_v2"));
  CUdeviceptr address = 0;
  CHECK(own_allocate(&address, 5 * mib));
  return 0;
}

// --- copies in batches ------------------------------------------------------------------------------------------------------

#if CUDART_VERSION >= 13000
void copy_batch(const std::vector<CUdeviceptr>& to, const std::vector<CUdeviceptr>& from,
                const std::vector<std::size_t>& sizes, cudaStream_t stream) {
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t index = 0;
  CHECK(cuMemcpyBatchAsync(const_cast<CUdeviceptr*>(to.data()), const_cast<CUdeviceptr*>(from.data()),
                           const_cast<std::size_t*>(sizes.data()), sizes.size(), &attributes, &index, 1, stream));
  CHECK(cudaStreamSynchronize(stream));
}

int batch(std::size_t parts) {
  cudaStream_t stream = new_stream();
  const auto device = [](std::size_t bytes) { return reinterpret_cast<CUdeviceptr>(device_block(bytes)); };
  const auto pinned = [](std::size_t bytes) { return reinterpret_cast<CUdeviceptr>(pinned_block(bytes)); };
  const CUdeviceptr a = device(1 * mib);
  const CUdeviceptr b = device(2 * mib);
  const CUdeviceptr c = device(3 * mib);
  const CUdeviceptr host = pinned(4 * mib);
  copy_batch({a, b, c, a + 512 * kib, b + 1 * mib}, {host, host, host, host, host},
             {100 * kib, 110 * kib, 120 * kib, 130 * kib, 140 * kib}, stream);
  // Both directions in one batch.
  copy_batch({a, host, c}, {host, b, b}, {150 * kib, 160 * kib, 170 * kib}, stream);
  const CUdeviceptr many = device(64 * parts * kib);
  std::vector<CUdeviceptr> to;
  std::vector<CUdeviceptr> from;
  for (std::size_t i = 0; i < parts; ++i) {
    to.push_back(many + i * 64 * kib);
    from.push_back(host + (i % 64) * 64 * kib);
  }
  copy_batch(to, from, std::vector<std::size_t>(parts, 4 * kib), stream);
  CUDA_MEMCPY3D_BATCH_OP operations[2]{};
  for (int i = 0; i < 2; ++i) {
    operations[i].src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    operations[i].src.op.ptr.ptr = host;
    operations[i].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    operations[i].dst.op.ptr.ptr = i == 0 ? b : c;
    operations[i].extent = {static_cast<std::size_t>(i + 1) * kib, 16, 2};
    operations[i].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  }
  CHECK(cuMemcpy3DBatchAsync(2, operations, 0, stream));
  CHECK(cudaStreamSynchronize(stream));
  return 0;
}
#else
int batch(std::size_t) { return 0; }
#endif

// --- a graph whose parameters change ----------------------------------------------------------------------------------------

int graph() {
  cudaStream_t stream = new_stream();
  float* a = device_block<float>(1 * mib);
  float* b = device_block<float>(2 * mib);
  float* c = device_block<float>(3 * mib);
  char* host = pinned_block(1 * mib);
  cudaGraph_t made = nullptr;
  cudaGraphExec_t exec = nullptr;
  const auto capture = [&](float* first, float* second) {
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(first, host, 64 * kib, cudaMemcpyHostToDevice, stream));
    add_one<<<4, 256, 0, stream>>>(first, 1024);
    CHECK(cudaMemsetAsync(second, 0, 64 * kib, stream));
    cudaGraph_t captured = nullptr;
    CHECK(cudaStreamEndCapture(stream, &captured));
    return captured;
  };
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
  };
  made = capture(a, a);
  CHECK(cudaGraphInstantiate(&exec, made, 0));
  run(2);  // a
  cudaGraphNode_t nodes[8];
  std::size_t count = 8;
  CHECK(cudaGraphGetNodes(made, nodes, &count));
  for (std::size_t i = 0; i < count; ++i) {
    cudaGraphNodeType type{};
    CHECK(cudaGraphNodeGetType(nodes[i], &type));
    if (type == cudaGraphNodeTypeKernel) {
      cudaKernelNodeParams params{};
      CHECK(cudaGraphKernelNodeGetParams(nodes[i], &params));
      std::size_t n = 1024;
      void* arguments[] = {&b, &n};
      params.kernelParams = arguments;
      params.extra = nullptr;
      CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes[i], &params));
    } else if (type == cudaGraphNodeTypeMemset) {
      cudaMemsetParams params{};
      params.dst = c;
      params.elementSize = 1;
      params.width = 64 * kib;
      params.height = 1;
      CHECK(cudaGraphExecMemsetNodeSetParams(exec, nodes[i], &params));
    }
  }
  run(3);  // The kernel b, the memset c, the copy a.
  for (std::size_t i = 0; i < count; ++i) {
    cudaGraphNodeType type{};
    CHECK(cudaGraphNodeGetType(nodes[i], &type));
    if (type == cudaGraphNodeTypeMemcpy)
      CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, nodes[i], b, host, 64 * kib, cudaMemcpyHostToDevice));
  }
  run(4);  // Without a.
  cudaGraph_t other = capture(c, c);
  cudaGraphExecUpdateResultInfo info{};
  CHECK(cudaGraphExecUpdate(exec, other, &info));
  run(5);  // Only c.
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(other));
  CHECK(cudaGraphDestroy(made));
  return 0;
}

/// Copies in one stream while another is being captured in the most restrictive mode; the capture must end
/// successfully.
int beside() {
  cudaStream_t captured = new_stream();
  cudaStream_t other = new_stream();
  float* named = device_block<float>(1 * mib);
  char* device = device_block(1 * mib);
  char* host = pinned_block(1 * mib);
  CHECK(cudaMemcpyAsync(device, host, 1 * mib, cudaMemcpyHostToDevice, other));
  CHECK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 100; ++i) {
    add_one<<<4, 256, 0, captured>>>(named, 1024);
    CHECK(cudaMemcpyAsync(device, host, 256 * kib, cudaMemcpyHostToDevice, other));
  }
  cudaGraph_t made = nullptr;
  CHECK(cudaStreamEndCapture(captured, &made));
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, made, 0));
  CHECK(cudaGraphLaunch(exec, captured));
  CHECK(cudaDeviceSynchronize());
  return 0;
}

/// A nested graph, its replacement, a node that is disabled and enabled, and an executable graph launched during a
/// capture. Each launch adds one to the values that it names: the sums show which nodes ran.
int children() {
  cudaStream_t stream = new_stream();
  float* blocks[3] = {device_block<float>(1 * mib), device_block<float>(2 * mib), device_block<float>(3 * mib)};
  for (float* block : blocks) CHECK(cudaMemset(block, 0, 1 * mib));
  const auto with_kernel = [&](float* named) {
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    add_one<<<4, 256, 0, stream>>>(named, 1024);
    cudaGraph_t captured = nullptr;
    CHECK(cudaStreamEndCapture(stream, &captured));
    return captured;
  };
  const auto only_node = [&](cudaGraph_t of) {
    cudaGraphNode_t node = nullptr;
    std::size_t count = 1;
    CHECK(cudaGraphGetNodes(of, &node, &count));
    return node;
  };
  const auto run = [&](cudaGraphExec_t exec, int times) {
    for (int i = 0; i < times; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
  };
  const cudaGraph_t parent = with_kernel(blocks[1]);
  const cudaGraphNode_t own = only_node(parent);
  cudaGraphNode_t child_at = nullptr;
  CHECK(cudaGraphAddChildGraphNode(&child_at, parent, nullptr, 0, with_kernel(blocks[0])));
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, parent, 0));
  run(exec, 1);  // b, a
  CHECK(cudaGraphExecChildGraphNodeSetParams(exec, child_at, with_kernel(blocks[2])));
  run(exec, 2);  // b, c
  CHECK(cudaGraphNodeSetEnabled(exec, own, 0));
  run(exec, 3);  // c
  CHECK(cudaGraphNodeSetEnabled(exec, own, 1));
  run(exec, 4);  // b, c
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  add_one<<<4, 256, 0, stream>>>(blocks[0], 1024);
  cudaGraph_t captured = nullptr;
  CHECK(cudaStreamEndCapture(stream, &captured));
  CHECK(cudaGraphAddChildGraphNode(&child_at, captured, nullptr, 0, with_kernel(blocks[2])));
  cudaGraphExec_t both = nullptr;
  CHECK(cudaGraphInstantiate(&both, captured, 0));
  run(both, 5);  // a, c
  const float expected[3] = {1 + 5, 1 + 2 + 4, 2 + 3 + 4 + 5};
  for (int i = 0; i < 3; ++i) {
    float first = 0;
    CHECK(cudaMemcpy(&first, blocks[i], sizeof first, cudaMemcpyDeviceToHost));
    if (first != expected[i]) return 4;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::string how = argc > 2 ? argv[2] : "";
  if (what == "fault") return fault(how);
  if (what == "peer") return peer();
  if (what == "ipc") return ipc();
  if (what == "batch") return batch(how.empty() ? 1000 : std::stoul(how));
  if (what == "around") return around();
  if (what == "graph") return graph();
  if (what == "children") return children();
  if (what == "beside") return beside();
  return 2;
}
