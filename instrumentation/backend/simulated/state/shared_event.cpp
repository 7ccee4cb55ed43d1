#include "instrumentation/backend/simulated/state/shared_event.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace sluice::backend::simulated {

std::shared_ptr<shared_event> shared_event::make() {
  const int file = memfd_create("sluice-event", MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, sizeof(page)) != 0) {
    close(file);
    return nullptr;
  }
  return file < 0 ? nullptr : open(file);
}

std::shared_ptr<shared_event> shared_event::open(int file) {
  void* at = mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) {
    close(file);
    return nullptr;
  }
  return std::shared_ptr<shared_event>(new shared_event(file, static_cast<page*>(at)));
}

shared_event::~shared_event() {
  munmap(page_, sizeof(page));
  close(file_);
}

}  // namespace sluice::backend::simulated
