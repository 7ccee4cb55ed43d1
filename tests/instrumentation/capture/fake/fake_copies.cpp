// fake_copies: programs that copy to the fake device. The only argument selects one. Copies are identified by size and
// order; contents_test.cpp knows which of them moved the same bytes. Status 0 if every call succeeded as expected.

#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#undef cuMemAlloc
#undef cuMemcpyHtoD
#undef cuMemcpyHtoDAsync
#undef cuMemcpyDtoH
#undef cuMemcpyDtoHAsync
#undef cuMemHostRegister
#undef cuMemcpy2D
#undef cuStreamBeginCapture
#undef cuGraphInstantiate

// The names that the driver exports.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, std::size_t);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void*, std::size_t);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void*, std::size_t, CUstream);
CUresult cuMemcpyDtoH_v2(void*, CUdeviceptr, std::size_t);
CUresult cuMemcpyDtoHAsync_v2(void*, CUdeviceptr, std::size_t, CUstream);
CUresult cuMemHostRegister_v2(void*, std::size_t, unsigned);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D*);
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long);
}

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "fake_copies: %s: %d\n", call, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check((call), #call)

CUcontext use_device() {
  CHECK(cuInit(0));
  CUcontext context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  return context;
}
CUdeviceptr block(std::size_t bytes) {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc_v2(&address, bytes));
  return address;
}
std::vector<char> filled(std::size_t bytes, int seed) {
  std::vector<char> texts(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    texts[i] = static_cast<char>(i * 31 + i / 251 + static_cast<std::size_t>(seed));
  return texts;
}

/// Copies 1000 bytes twice from one source, once from another source, then changed. Copies 3 MiB twice, then with the
/// middle half changed, then as before.
void repeats() {
  const CUdeviceptr to = block(4 * mib);
  const CUdeviceptr other = block(4 * mib);
  std::vector<char> small = filled(1000, 1);
  const std::vector<char> same = small;
  CHECK(cuMemcpyHtoD_v2(to, small.data(), small.size()));
  CHECK(cuMemcpyHtoD_v2(to, small.data(), small.size()));
  CHECK(cuMemcpyHtoD_v2(other, same.data(), same.size()));
  small[500] ^= 1;
  CHECK(cuMemcpyHtoD_v2(to, small.data(), small.size()));
  std::vector<char> large = filled(3 * mib, 2);
  const std::vector<char> was = large;
  CHECK(cuMemcpyHtoD_v2(to, large.data(), large.size()));
  CHECK(cuMemcpyHtoD_v2(to, large.data(), large.size()));
  for (std::size_t i = large.size() / 4; i < 3 * large.size() / 4; ++i) large[i] ^= 1;
  CHECK(cuMemcpyHtoD_v2(to, large.data(), large.size()));
  CHECK(cuMemcpyHtoD_v2(to, was.data(), was.size()));
}

/// Copies the same 2000 bytes from each kind of source. The recorder reads only host memory that is not managed.
void kinds() {
  const CUdeviceptr to = block(mib);
  const std::vector<char> content = filled(2000, 3);
  CHECK(cuMemcpyHtoD_v2(to, content.data(), content.size()));
  void* pinned = nullptr;
  CHECK(cuMemHostAlloc(&pinned, 2000, 0));
  std::memcpy(pinned, content.data(), content.size());
  CHECK(cuMemcpyHtoDAsync_v2(to, pinned, 2000, nullptr));
  CHECK(cuMemcpyAsync(to, reinterpret_cast<CUdeviceptr>(pinned), 2000, nullptr));
  CHECK(cuMemcpyAsync(to, reinterpret_cast<CUdeviceptr>(content.data()), 2000, nullptr));
  CUdeviceptr managed = 0;
  CHECK(cuMemAllocManaged(&managed, 2000, CU_MEM_ATTACH_GLOBAL));
  std::memcpy(reinterpret_cast<void*>(managed), content.data(), content.size());
  CHECK(cuMemcpyHtoD_v2(to, reinterpret_cast<const void*>(managed), 2000));
  CHECK(cuMemcpyAsync(to, block(mib), 2000, nullptr));
  std::vector<char> back(2000);
  CHECK(cuMemcpyDtoH_v2(back.data(), to, 2000));
  // The same 2000 bytes as 5 rows of 400 with gaps between them.
  std::vector<char> rows(5 * 512);
  for (std::size_t r = 0; r < 5; ++r) std::memcpy(&rows[r * 512 + 8], &content[r * 400], 400);
  CUDA_MEMCPY2D shape{};
  shape.srcMemoryType = CU_MEMORYTYPE_HOST;
  shape.srcHost = rows.data();
  shape.srcPitch = 512;
  shape.srcXInBytes = 8;
  shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  shape.dstDevice = to;
  shape.dstPitch = 400;
  shape.WidthInBytes = 400;
  shape.Height = 5;
  CHECK(cuMemcpy2D_v2(&shape));
}

/// Copies 2000 bytes to the device, back to each kind of memory that the host can read, then to the device again.
void results() {
  const CUdeviceptr device_block = block(mib);
  const std::vector<char> content = filled(2000, 6);
  CHECK(cuMemcpyHtoD_v2(device_block, content.data(), 2000));
  std::vector<char> plain(2000);
  CHECK(cuMemcpyDtoH_v2(plain.data(), device_block, 2000));
  std::fill(plain.begin(), plain.end(), '\1');
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemcpyDtoHAsync_v2(plain.data(), device_block, 2000, stream));
  CHECK(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(plain.data()), device_block, 2000, stream));
  // The same as 5 rows of 400 with gaps between them.
  std::vector<char> rows(5 * 512);
  CUDA_MEMCPY2D shape{};
  shape.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  shape.srcDevice = device_block;
  shape.srcPitch = 400;
  shape.dstMemoryType = CU_MEMORYTYPE_HOST;
  shape.dstHost = rows.data();
  shape.dstXInBytes = 8;
  shape.dstPitch = 512;
  shape.WidthInBytes = 400;
  shape.Height = 5;
  CHECK(cuMemcpy2D_v2(&shape));
  // Page-locked memory: the recorder reads each copy when the wait for that copy ends; the program changes it
  // afterwards.
  void* pinned = nullptr;
  CHECK(cuMemHostAlloc(&pinned, 2000, 0));
  CHECK(cuMemcpyDtoH_v2(pinned, device_block, 2000));
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, 0));
  const std::vector<std::function<void()>> waits{
      [&] { CHECK(cuStreamSynchronize(stream)); },
      [] { CHECK(cuCtxSynchronize()); },
      [&] {
        CHECK(cuEventRecord(event, stream));
        CHECK(cuEventSynchronize(event));
      },
      [&] {
        CHECK(cuEventRecord(event, stream));
        CHECK(cuEventQuery(event));
      },
      [&] { CHECK(cuStreamQuery(stream)); },
  };
  for (const auto& wait : waits) {
    CHECK(cuMemcpyDtoHAsync_v2(pinned, device_block, 2000, stream));
    wait();
    std::memset(pinned, 7, 2000);
    CHECK(cuStreamSynchronize(stream));  // Nothing is left to read.
  }
  CHECK(cuMemcpyHtoD_v2(device_block, content.data(), 2000));
}

/// Copies 1000 bytes back to page-locked memory, in nine ways in which the recorder does not observe the end of the
/// copy before the program continues.
void unseen() {
  const CUdeviceptr udeviceptr = block(mib);
  CUstream stream = nullptr;
  CUstream other = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  void* pinned = nullptr;
  CHECK(cuMemHostAlloc(&pinned, mib, 0));
  const auto back = [&](void* to) { CHECK(cuMemcpyDtoHAsync_v2(to, udeviceptr, 1000, stream)); };
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, 0));
  // Copied to the device again before the wait.
  back(pinned);
  CHECK(cuMemcpyHtoDAsync_v2(udeviceptr, static_cast<char*>(pinned) + 500, 100, other));
  CHECK(cuStreamSynchronize(stream));
  // Overwritten by another copy, which is observed.
  back(pinned);
  back(pinned);
  CHECK(cuStreamSynchronize(stream));
  // Waits for something unrelated; then for an event that was recorded earlier, and for an event that has been recorded
  // on another stream since.
  CHECK(cuEventRecord(event, stream));
  back(pinned);
  CHECK(cuStreamSynchronize(other));
  CHECK(cuEventSynchronize(event));
  back(static_cast<char*>(pinned) + 4096);
  CHECK(cuEventRecord(event, stream));
  CHECK(cuEventRecord(event, other));
  CHECK(cuEventSynchronize(event));
  // Freed before the wait.
  CHECK(cuMemFreeHost(pinned));
  // Unmapped before the wait, which a program must not do.
  void* const mapped = mmap(nullptr, mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(cuMemHostRegister_v2(mapped, mib, 0));
  back(mapped);
  munmap(mapped, mib);
  errno = 77;
  CHECK(cuStreamSynchronize(stream));
  if (errno != 77) std::exit(3);
  // Managed memory is not read.
  CUdeviceptr managed = 0;
  CHECK(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
  CHECK(cuMemcpyDtoH_v2(reinterpret_cast<void*>(managed), udeviceptr, 1000));
  // Never waited for.
  void* last = nullptr;
  CHECK(cuMemHostAlloc(&last, mib, 0));
  back(last);
}

/// Eight threads each copy back 100 times and wait for one another's streams.
void results_of_threads() {
  CUcontext context = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  CUstream streams[8];
  for (CUstream& stream : streams) CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr udeviceptr = block(4096);
  const std::vector<char> content = filled(4096, 5);
  CHECK(cuMemcpyHtoD_v2(udeviceptr, content.data(), content.size()));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      CHECK(cuCtxSetCurrent(context));
      void* to = nullptr;
      CHECK(cuMemHostAlloc(&to, 4096, 0));
      for (unsigned i = 0; i < 100; ++i) {
        CHECK(cuMemcpyDtoHAsync_v2(to, udeviceptr, 4096, streams[t]));
        CHECK(cuStreamSynchronize(streams[(t + i) % 8]));
        CHECK(cuStreamSynchronize(streams[t]));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

/// Copies zeros of 1000 bytes, 3 MiB and 64 MiB; then 64 MiB with one value in the middle page of each 64 KiB, twice;
/// then 64 MiB with a different value.
void zeros() {
  const CUdeviceptr to = block(64 * mib);
  std::vector<char> content(64 * mib);
  CHECK(cuMemcpyHtoD_v2(to, content.data(), 1000));
  CHECK(cuMemcpyHtoD_v2(to, content.data(), 3 * mib));
  CHECK(cuMemcpyHtoD_v2(to, content.data(), 64 * mib));
  for (std::size_t at = 30000; at < content.size(); at += 65536) std::memset(&content[at], 1, 40);
  CHECK(cuMemcpyHtoD_v2(to, content.data(), 64 * mib));
  CHECK(cuMemcpyHtoD_v2(to, content.data(), 64 * mib));
  for (std::size_t at = 30000; at < content.size(); at += 65536) std::memset(&content[at], 2, 40);
  CHECK(cuMemcpyHtoD_v2(to, content.data(), 64 * mib));
}

/// Captures a copy into a graph, launches the graph twice, then makes the same copy outside of the graph.
void capture() {
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr to = block(mib);
  const std::vector<char> content = filled(3000, 4);
  CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuMemcpyHtoDAsync_v2(to, content.data(), content.size(), stream));
  CUgraph graph = nullptr;
  CHECK(cuStreamEndCapture(stream, &graph));
  CUgraphExec ready = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&ready, graph, 0));
  CHECK(cuGraphLaunch(ready, stream));
  CHECK(cuGraphLaunch(ready, stream));
  CHECK(cuMemcpyHtoDAsync_v2(to, content.data(), content.size(), stream));
}

/// Copies from unreadable sources, which the fake driver accepts, and from a readable source in between. errno must
/// stay unchanged.
void hostile() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const CUdeviceptr to = block(mib);
  errno = 77;
  const auto* const nothing = reinterpret_cast<const char*>(std::uintptr_t{1} << 46);
  CHECK(cuMemcpyHtoD_v2(to, nothing, 1000));
  void* const closed = mmap(nullptr, 16 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(cuMemcpyHtoD_v2(to, closed, 16 * page));
  char path[] = "/tmp/fake-copies-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  if (ftruncate(file, static_cast<off_t>(16 * page)) != 0) std::exit(1);
  const void* const cut = mmap(nullptr, 16 * page, PROT_READ, MAP_SHARED, file, 0);
  if (ftruncate(file, static_cast<off_t>(page)) != 0) std::exit(1);
  CHECK(cuMemcpyHtoD_v2(to, cut, 16 * page));
  CHECK(cuMemcpyHtoD_v2(to, cut, page));
  CHECK(cuMemcpyHtoD_v2(to, nullptr, 0));
  if (errno != 77) std::exit(3);
}

/// Eight threads each make the same copies 100 times.
void threads() {
  CUcontext context = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  std::vector<std::thread> items;
  for (int t = 0; t < 8; ++t) {
    items.emplace_back([context] {
      CHECK(cuCtxSetCurrent(context));
      const CUdeviceptr to = block(4096);
      const std::vector<char> content = filled(4096, 5);
      for (int i = 0; i < 100; ++i) CHECK(cuMemcpyHtoD_v2(to, content.data(), content.size()));
    });
  }
  for (std::thread& t : items) t.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> ways{
      {"repeats", repeats}, {"kinds", kinds},     {"capture", capture},
      {"hostile", hostile}, {"threads", threads}, {"results", results},
      {"unseen", unseen},   {"zeros", zeros},     {"result_threads", results_of_threads}};
  const auto way = ways.find(argc > 1 ? argv[1] : "");
  if (way == ways.end()) return 2;
  use_device();
  way->second();
  return 0;
}
