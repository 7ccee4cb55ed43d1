// fake_sharing_program: two processes that share memory, by calls to the fake driver.
//
//   fake_sharing_program HOW     each function documents one value of HOW; status 0 if every call succeeded as expected

#include <cuda.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#undef cuMemAlloc
#undef cuMemFree
#undef cuIpcOpenMemHandle

extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, std::size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr*, CUipcMemHandle, unsigned);
}

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr auto by_descriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "fake_sharing_program: %s: %d\n", call, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check((call), #call)

void use_device() {
  CHECK(cuInit(0));
  CUcontext context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
}
CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc_v2(&address, bytes));
  return address;
}

template <class T>
void send(int to, const T& subject) {
  if (write(to, &subject, sizeof subject) != static_cast<ssize_t>(sizeof subject)) std::exit(3);
}
template <class T>
T receive(int begin) {
  T subject{};
  if (recv(begin, &subject, sizeof subject, MSG_WAITALL) != static_cast<ssize_t>(sizeof subject)) std::exit(3);
  return subject;
}

/// Sends a byte together with `descriptor`.
struct descriptor_message {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  descriptor_message() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
  }
};
/// Sends the descriptor and closes it, as programs do.
void hand_over(int to, int descriptor) {
  descriptor_message m;
  cmsghdr* header = CMSG_FIRSTHDR(&m.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  if (sendmsg(to, &m.message, 0) != 1) std::exit(3);
  close(descriptor);
}
void* receive_descriptor(int begin) {
  descriptor_message m;
  if (recvmsg(begin, &m.message, 0) != 1 || CMSG_FIRSTHDR(&m.message) == nullptr) std::exit(3);
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&m.message)), sizeof descriptor);
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
}

// --- blocks by their handle: 1 and 2 MiB, the first one twice --------------------------------------------------------

void own_blocks(int other) {
  CUipcMemHandle handle{};
  for (const CUdeviceptr address : {allocate(1 * mib), allocate(2 * mib) + 4096}) {
    CHECK(cuIpcGetMemHandle(&handle, address));
    send(other, handle);
  }
  receive<char>(other);
}
void borrow_blocks(int other) {
  CUdeviceptr address = 0;
  const auto first = receive<CUipcMemHandle>(other);
  const auto second = receive<CUipcMemHandle>(other);
  for (const CUipcMemHandle& handle : {first, second, first}) {
    CHECK(cuIpcOpenMemHandle_v2(&address, handle, 0));
  }
  send(other, 'x');
}

// --- a handle from a process that is not recorded --------------------------------------------------------------------

void own_nothing(int other) { receive<char>(other); }
void borrow_from_outside(int other) {
  const std::uint64_t words[3] = {0x7000, 3 * mib, 1};
  CUipcMemHandle handle{};
  std::memcpy(&handle, words, sizeof words);
  CUdeviceptr address = 0;
  CHECK(cuIpcOpenMemHandle_v2(&address, handle, 0));
  send(other, 'x');
}

// --- physical memory of 4 and 6 MiB by descriptor, sent in the opposite order, and an unknown descriptor -------------

void own_physical(int other) {
  CUmemGenericAllocationHandle handles[2] = {};
  int descriptors[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(cuMemCreate(&handles[i], (4 + 2 * i) * mib, nullptr, 0));
    CHECK(cuMemExportToShareableHandle(&descriptors[i], handles[i], by_descriptor, 0));
  }
  hand_over(other, descriptors[1]);
  hand_over(other, descriptors[0]);
  receive<char>(other);
}
void borrow_physical(int other) {
  CUdeviceptr address = 0;
  CHECK(cuMemAddressReserve(&address, 10 * mib, 0, 0, 0));
  for (const std::size_t bytes : {6 * mib, 4 * mib}) {
    CUmemGenericAllocationHandle handle = 0;
    CHECK(cuMemImportFromShareableHandle(&handle, receive_descriptor(other), by_descriptor));
    CHECK(cuMemMap(address, bytes, 0, handle, 0));
    address += bytes;
  }
  CUmemGenericAllocationHandle handle = 0;
  CHECK(cuMemImportFromShareableHandle(&handle, nullptr, by_descriptor));  // Standard input, which was never exported.
  send(other, 'x');
}

// --- a block of 1 MiB from each of two pools -------------------------------------------------------------------------

void own_pools(int other) {
  for (int i = 0; i < 2; ++i) {
    CUmemoryPool pool = nullptr;
    int descriptor = -1;
    CUdeviceptr address = 0;
    CUmemPoolPtrExportData data{};
    CHECK(cuMemPoolCreate(&pool, nullptr));
    CHECK(cuMemPoolExportToShareableHandle(&descriptor, pool, by_descriptor, 0));
    CHECK(cuMemAllocFromPoolAsync(&address, 1 * mib, pool, nullptr));
    CHECK(cuMemPoolExportPointer(&data, address));
    hand_over(other, descriptor);
    send(other, data);
  }
  receive<char>(other);
}
void borrow_pools(int other) {
  CUmemoryPool pools[2] = {};
  CUmemPoolPtrExportData data[2] = {};
  for (int i = 0; i < 2; ++i) {
    CHECK(cuMemPoolImportFromShareableHandle(&pools[i], receive_descriptor(other), by_descriptor, 0));
    data[i] = receive<CUmemPoolPtrExportData>(other);
  }
  CUdeviceptr address = 0;
  CHECK(cuMemPoolImportPointer(&address, pools[1], &data[1]));
  CHECK(cuMemPoolImportPointer(&address, pools[0], &data[0]));
  send(other, 'x');
}

struct way {
  void (*own)(int);
  void (*borrow)(int);
};

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, way> ways{{"blocks", {own_blocks, borrow_blocks}},
                                        {"outside", {own_nothing, borrow_from_outside}},
                                        {"physical", {own_physical, borrow_physical}},
                                        {"pools", {own_pools, borrow_pools}}};
  const auto chosen = ways.find(argc > 1 ? argv[1] : "");
  int ends[2];
  if (chosen == ways.end() || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 2;
  const pid_t child = fork();  // Must happen before either process uses the driver.
  use_device();
  if (child == 0) {
    chosen->second.borrow(ends[1]);
    return 0;
  }
  chosen->second.own(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
