#include "instrumentation/backend/simulated/state/driver_call.hpp"

namespace sluice::backend::simulated {

driver_call driver_calls::begin(const char* name, std::int64_t cost) {
  driver_call call = begin_unrecorded(name, cost);
  call.correlation = next_correlation_++;
  return call;
}

driver_call driver_calls::begin_unrecorded(const char* name, std::int64_t cost) {
  driver_call call;
  call.lock = lock();
  const std::int64_t now = clock_.now();
  call.name = name;
  call.begin = static_cast<std::uint64_t>(now);
  call.end = now + cost;
  return call;
}

void driver_calls::finish(driver_call& call) {
  queue_.run_until(call.end);
  call.lock.unlock();
  clock_.advance_to(call.end);
}

}  // namespace sluice::backend::simulated
