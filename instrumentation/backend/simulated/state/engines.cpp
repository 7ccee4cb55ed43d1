#include "instrumentation/backend/simulated/state/engines.hpp"

namespace sluice::backend::simulated {

timeline* engines::find(engine which, int priority) {
  switch (which) {
    case engine::to_device:
      return &to_device_;
    case engine::to_host:
      return &to_host_;
    case engine::within:
      return &within_;
    case engine::compute:
      return &compute_[priority];
    case engine::none:
      break;
  }
  return nullptr;
}

}  // namespace sluice::backend::simulated
