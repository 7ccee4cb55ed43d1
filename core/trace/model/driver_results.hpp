#pragma once

#include <cstdint>
#include <utility>

/// The result codes of the CUDA driver, which the runtime also uses. The code that runs inside the recorded process
/// includes this header, too, so it must not need the C++ library.
namespace sluice::trace {

/// True if this result means that the GPU has faulted: from then on, every call in the context fails with the same
/// error. cuda.h: "This leaves the process in an inconsistent state and any further CUDA work will return the same
/// error." Memory and link errors end a process, too.
[[nodiscard]] constexpr bool is_gpu_fault(std::int64_t result) {
  switch (result) {
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 226:  // CONTAINED
    case 700:  // ILLEGAL_ADDRESS
    case 702:  // LAUNCH_TIMEOUT
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
    case 721:  // TENSOR_MEMORY_LEAK
    case 810:  // MPS_CLIENT_TERMINATED
    case 911:  // EXTERNAL_DEVICE
      return true;
    default:
      return false;
  }
}

/// Returns the name of a result that is common in recordings; null for any other result.
[[nodiscard]] constexpr const char* name_of_result(std::int64_t result) {
  constexpr std::pair<std::int64_t, const char*> names[] = {
      {0, "CUDA_SUCCESS"},
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {3, "CUDA_ERROR_NOT_INITIALIZED"},
      {4, "CUDA_ERROR_DEINITIALIZED"},
      {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
      {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE"},
      {226, "CUDA_ERROR_CONTAINED"},
      {400, "CUDA_ERROR_INVALID_HANDLE"},
      {600, "CUDA_ERROR_NOT_READY"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
      {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
      {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
      {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
      {710, "CUDA_ERROR_ASSERT"},
      {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
      {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
      {714, "CUDA_ERROR_HARDWARE_STACK_ERROR"},
      {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
      {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
      {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"},
      {718, "CUDA_ERROR_INVALID_PC"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"},
      {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK"},
      {800, "CUDA_ERROR_NOT_PERMITTED"},
      {801, "CUDA_ERROR_NOT_SUPPORTED"},
      {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED"},
      {911, "CUDA_ERROR_EXTERNAL_DEVICE"},
      {999, "CUDA_ERROR_UNKNOWN"},
  };
  for (const auto& [number, name] : names)
    if (number == result) return name;
  return nullptr;
}

}  // namespace sluice::trace
