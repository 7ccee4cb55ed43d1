// A libc10_cuda.so without PyTorch. Imports libc10's functions, as the real library does.
#include "tests/instrumentation/capture/fake/fake_c10_cuda.hpp"

#include <cuda.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "tests/instrumentation/capture/fake/fake_c10.hpp"

namespace {

constexpr std::size_t chunk = std::size_t{2} << 20;
constexpr std::size_t range = std::size_t{1} << 30;
constexpr c10::Device cpu{0, -1}, cuda{1, 0};

class allocator : public fake_allocator {
 public:
  void* allocate(std::size_t bytes) override {
    std::lock_guard lock(mutex_);
    auto place = hole_for(bytes);
    if (place == holes_.end()) {
      if (!grow(bytes)) {
        c10::reportOutOfMemoryToProfiler(static_cast<std::int64_t>(bytes), allocated_, reserved_, cuda);
        return nullptr;
      }
      place = hole_for(bytes);
    }
    const CUdeviceptr address = place->first;
    const std::size_t rest = place->second - bytes;
    holes_.erase(place);
    if (rest != 0) holes_[address + bytes] = rest;
    blocks_[address] = bytes;
    allocated_ += bytes;
    report(address, static_cast<std::int64_t>(bytes));
    return reinterpret_cast<void*>(address);
  }
  void release(void* address) override {
    std::lock_guard lock(mutex_);
    const auto block = blocks_.find(reinterpret_cast<CUdeviceptr>(address));
    const auto [where, bytes] = *block;
    blocks_.erase(block);
    allocated_ -= bytes;
    auto hole = holes_.emplace(where, bytes).first;
    const auto next = std::next(hole);
    if (next != holes_.end() && where + bytes == next->first && !starts_segment(next->first)) {
      hole->second += next->second;
      holes_.erase(next);
    }
    report(where, -static_cast<std::int64_t>(bytes));
  }
  std::size_t allocated() override {
    std::lock_guard lock(mutex_);
    return allocated_;
  }
  std::size_t reserved() override {
    std::lock_guard lock(mutex_);
    return reserved_;
  }
  void report_host_tensor(void* address, std::int64_t bytes) override {
    c10::reportMemoryUsageToProfiler(address, bytes, 0, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)),
                                     cpu);
  }

 protected:
  /// Adds a free range of at least `bytes`.
  virtual bool grow(std::size_t bytes) = 0;
  virtual bool starts_segment(CUdeviceptr address) = 0;

  std::map<CUdeviceptr, std::size_t> holes_;
  std::size_t reserved_ = 0;

 private:
  std::map<CUdeviceptr, std::size_t>::iterator hole_for(std::size_t bytes) {
    return std::find_if(holes_.begin(), holes_.end(), [=](const auto& hole) { return hole.second >= bytes; });
  }
  void report(CUdeviceptr address, std::int64_t bytes) {
    c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(address), bytes, allocated_, reserved_, cuda);
  }

  std::mutex mutex_;
  std::map<CUdeviceptr, std::size_t> blocks_;
  std::size_t allocated_ = 0;
};

class native : public allocator {
  bool grow(std::size_t bytes) override {
    CUdeviceptr segment = 0;
    const std::size_t size = std::max(bytes, chunk);
    if (cuMemAlloc(&segment, size) != CUDA_SUCCESS) {
      release_cached_segments();
      if (cuMemAlloc(&segment, size) != CUDA_SUCCESS) return false;
    }
    holes_[segment] = size;
    segments_[segment] = size;
    reserved_ += size;
    return true;
  }
  bool starts_segment(CUdeviceptr address) override { return segments_.contains(address); }
  /// Releases the segments that have no block in use.
  void release_cached_segments() {
    for (auto each = segments_.begin(); each != segments_.end();) {
      const auto hole = holes_.find(each->first);
      if (hole == holes_.end() || hole->second != each->second) {
        ++each;
        continue;
      }
      cuMemFree(each->first);
      reserved_ -= each->second;
      holes_.erase(hole);
      each = segments_.erase(each);
    }
  }
  std::map<CUdeviceptr, std::size_t> segments_;
};

class expandable : public allocator {
  bool grow(std::size_t bytes) override {
    if (base_ == 0 && cuMemAddressReserve(&base_, range, 0, 0, 0) != CUDA_SUCCESS) return false;
    const CUdeviceptr end = base_ + reserved_;
    std::size_t free_at_end = 0;
    for (const auto& [where, size] : holes_) {
      if (where + size == end) free_at_end = size;
    }
    const std::size_t more = (bytes - free_at_end + chunk - 1) / chunk * chunk;
    for (std::size_t done = 0; done < more; done += chunk) {
      CUmemGenericAllocationHandle handle = 0;
      if (cuMemCreate(&handle, chunk, nullptr, 0) != CUDA_SUCCESS) return false;
      if (cuMemMap(end + done, chunk, 0, handle, 0) != CUDA_SUCCESS) return false;
    }
    reserved_ += more;
    holes_.erase(end - free_at_end);
    holes_[end - free_at_end] = free_at_end + more;
    return true;
  }
  bool starts_segment(CUdeviceptr) override { return false; }
  CUdeviceptr base_ = 0;
};

}  // namespace

fake_allocator* fake_torch_allocator(bool in_one_range) {
  if (in_one_range) return new expandable;
  return new native;
}

// Called from Python through ctypes. The allocator is created once. Its mutex is held during reports, as in PyTorch.
#define EXPORTED extern "C" __attribute__((visibility("default")))
namespace {
fake_allocator& only_allocator() {
  static fake_allocator* const allocator = fake_torch_allocator(false);
  return *allocator;
}
}  // namespace
EXPORTED void* fake_torch_empty(std::size_t bytes) { return only_allocator().allocate(bytes); }
EXPORTED void fake_torch_del(void* address) { only_allocator().release(address); }
EXPORTED std::size_t fake_torch_stats() { return only_allocator().allocated(); }
