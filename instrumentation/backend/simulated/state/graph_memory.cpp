#include "instrumentation/backend/simulated/state/graph_memory.hpp"

#include <utility>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

std::shared_ptr<graph_memory> graph_memory_pool::reserve(std::uint64_t bytes) {
  void* address = memory_.allocate(bytes, memory_space::device);
  if (!address) return nullptr;
  std::shared_ptr<graph_memory> memory(new graph_memory{address, bytes, false},
                                       [this](graph_memory* last) { release(last); });
  reserved_[number(address)] = memory;
  return memory;
}

void graph_memory_pool::release(graph_memory* memory) {
  if (memory->live) {
    live_bytes_ -= memory->bytes;
    budget_.give_back(memory->bytes);
  }
  reserved_.erase(number(memory->address));
  memory_.free(memory->address);
  delete memory;
}

std::shared_ptr<graph_memory> graph_memory_pool::find(const void* address) const noexcept {
  const auto it = reserved_.find(number(address));
  return it == reserved_.end() ? nullptr : it->second.lock();
}

void graph_memory_pool::set_live(graph_memory& memory, bool live, std::int64_t now) {
  if (memory.live == live) return;
  memory.live = live;
  if (live) {
    live_bytes_ += memory.bytes;
    budget_.take(memory.bytes);
  } else {
    live_bytes_ -= memory.bytes;
    budget_.give_back(memory.bytes);
  }
  log_.pool_state(static_cast<std::uint64_t>(now), key_, live_bytes_, live_bytes_, trace::pool_operation::sample);
}

void graph_memory_pool::define_once(std::uint64_t now) {
  if (!std::exchange(defined_, true)) log_.define_pool(now, key_, "graph memory");
}

}  // namespace sluice::backend::simulated
