#pragma once

#include <cstdint>

/// Meaning of the CUDA driver's result codes; the runtime uses the same ones. The code inside the recorded process uses
/// this too, so it needs no C++ library.
namespace sluice::trace {

/// True if this result means that the GPU has faulted: from then on every call in the context fails with the same
/// error. cuda.h: "This leaves the process in an inconsistent state and any further CUDA work will return the same
/// error." Memory and link errors end a process as well.
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

/// The name of a result that is common in recordings; null for all others.
[[nodiscard]] constexpr const char* name_of_result(std::int64_t result) {
  switch (result) {
    case 0:
      return "CUDA_SUCCESS";
    case 1:
      return "CUDA_ERROR_INVALID_VALUE";
    case 2:
      return "CUDA_ERROR_OUT_OF_MEMORY";
    case 3:
      return "CUDA_ERROR_NOT_INITIALIZED";
    case 4:
      return "CUDA_ERROR_DEINITIALIZED";
    case 201:
      return "CUDA_ERROR_INVALID_CONTEXT";
    case 214:
      return "CUDA_ERROR_ECC_UNCORRECTABLE";
    case 217:
      return "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED";
    case 220:
      return "CUDA_ERROR_NVLINK_UNCORRECTABLE";
    case 226:
      return "CUDA_ERROR_CONTAINED";
    case 400:
      return "CUDA_ERROR_INVALID_HANDLE";
    case 600:
      return "CUDA_ERROR_NOT_READY";
    case 700:
      return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case 701:
      return "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
    case 702:
      return "CUDA_ERROR_LAUNCH_TIMEOUT";
    case 704:
      return "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED";
    case 705:
      return "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED";
    case 709:
      return "CUDA_ERROR_CONTEXT_IS_DESTROYED";
    case 710:
      return "CUDA_ERROR_ASSERT";
    case 712:
      return "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED";
    case 713:
      return "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED";
    case 714:
      return "CUDA_ERROR_HARDWARE_STACK_ERROR";
    case 715:
      return "CUDA_ERROR_ILLEGAL_INSTRUCTION";
    case 716:
      return "CUDA_ERROR_MISALIGNED_ADDRESS";
    case 717:
      return "CUDA_ERROR_INVALID_ADDRESS_SPACE";
    case 718:
      return "CUDA_ERROR_INVALID_PC";
    case 719:
      return "CUDA_ERROR_LAUNCH_FAILED";
    case 721:
      return "CUDA_ERROR_TENSOR_MEMORY_LEAK";
    case 800:
      return "CUDA_ERROR_NOT_PERMITTED";
    case 801:
      return "CUDA_ERROR_NOT_SUPPORTED";
    case 810:
      return "CUDA_ERROR_MPS_CLIENT_TERMINATED";
    case 911:
      return "CUDA_ERROR_EXTERNAL_DEVICE";
    case 999:
      return "CUDA_ERROR_UNKNOWN";
    default:
      return nullptr;
  }
}

}  // namespace sluice::trace
