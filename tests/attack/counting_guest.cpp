// The program that kill tests and soak tests record. It counts its events in a file that outlives the process.
//
//   counting_guest COUNTS SLOT EVENTS EACH_MS
//
// Emits EVENTS pairs of allocation and free (0: until it is killed), EACH_MS pairs per millisecond. The event count
// is at SLOT in the file COUNTS, 8 bytes per slot, in shared memory for readers. A block's size is its number.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "instrumentation/ring/producer.hpp"

namespace {

using namespace sluice::ring;

constexpr std::uint64_t max_live = 64;  // blocks

void allocate(std::uint64_t number) {
  alloc_record record{};
  record.header.time = now();
  record.address = (number % max_live + 1) << 20;
  record.bytes = number;
  record.device = no_device;
  record.kind = 1;  // Driver layer, device memory.
  emit(record);
}

void release(std::uint64_t number) {
  free_record record{};
  record.header.time = now();
  record.address = (number % max_live + 1) << 20;
  emit(record);
}

/// The counter at `slot` in the file, mapped as shared memory. Null on failure.
std::atomic<std::uint64_t>* counter(const char* path, std::size_t slot) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  constexpr std::size_t page = 4096;
  const std::size_t begin = slot * 8 / page * page;
  void* const memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(begin));
  close(file);
  if (memory == MAP_FAILED) return nullptr;
  return reinterpret_cast<std::atomic<std::uint64_t>*>(static_cast<char*>(memory) + (slot * 8 - begin));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 64;
  const auto number = [&](int at) { return std::strtoull(argv[at], nullptr, 10); };
  auto* const said = counter(argv[1], number(2));
  if (said == nullptr) return 66;
  const std::uint64_t wanted = number(3);
  const std::uint64_t each_ms = number(4);
  if (!start()) return 69;
  for (std::uint64_t i = 1; wanted == 0 || i <= wanted; ++i) {
    allocate(i);
    said->store(2 * i - 1);
    release(i);
    said->store(2 * i);
    if (each_ms != 0 && i % each_ms == 0) usleep(1000);
  }
  return 0;
}
