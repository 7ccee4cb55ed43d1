#include "instrumentation/backend/simulated/memory/physical_memory.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sluice::backend::simulated {

namespace {

// Start at one granule, because address 0 means "none" in the suballocator.
constexpr std::uint64_t first = physical_memory::granule;

}  // namespace

physical_memory::~physical_memory() {
  if (file_ >= 0) close(file_);
}

std::uint64_t physical_memory::take(std::uint64_t bytes) {
  if (file_ < 0) {
    file_ = memfd_create("sluice-physical", MFD_CLOEXEC);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes_)) != 0) return none;
    free_.add_segment(first, bytes_);
  }
  const auto taken = free_.take(bytes, suballocator::clean);
  return taken ? taken->address - first : none;
}

void physical_memory::give(std::uint64_t offset) {
  const auto given = free_.give(offset + first, suballocator::clean);
  if (!given) return;
  (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(given->bytes));
}

}  // namespace sluice::backend::simulated
