#include "instrumentation/backend/simulated/state/memory_budget.hpp"

namespace sluice::backend::simulated {

memory_info memory_budget::info() const noexcept {
  return {total_bytes_ > used_bytes_ ? total_bytes_ - used_bytes_ : 0, total_bytes_};
}

}  // namespace sluice::backend::simulated
