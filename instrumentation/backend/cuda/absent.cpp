#include "instrumentation/backend/cuda/open.hpp"

// Replaces the CUDA backend in builds without CUDA.

namespace sluice::backend {

cuda_devices open_cuda_devices() { return {{}, "this program was built without CUDA", 0}; }

int cuda_built_version() noexcept { return 0; }

}  // namespace sluice::backend
