#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace sluice::backend {

/// Error categories that are the same for every backend.
enum class status : std::uint8_t {
  out_of_memory,  ///< the device or the host has too little free memory
  invalid_value,  ///< an invalid size, or a pointer, stream or event that the device does not know
  not_supported,  ///< this device lacks the feature
  not_permitted,  ///< forbidden now: a stream capture is active or was invalidated
  unavailable,    ///< no driver, no device, or the device was lost
  failed,         ///< anything else; `native` has the driver's error number
};

/// A failed call of a device, as the backend reports it. The runtime turns it into an exception.
struct failure {
  status code = status::failed;
  int native = 0;         ///< the driver's error number (CUresult), 0 if there is none
  const char* call = "";  ///< the call that failed, a string literal
  std::string detail;     ///< one line: what was requested and what was expected
};

/// The result of a device's call: its value, or the failure that prevented the call.
template <class T>
using device_result = tl::expected<T, failure>;

/// A short phrase for a status, e.g. "out of memory".
[[nodiscard]] const char* to_string(status code) noexcept;

/// Describes the failure in one line, such as "cuMemAlloc: out of memory (2): 4096 bytes on NVIDIA H200".
[[nodiscard]] std::string describe(const failure& subject);

/// Makes a failure that a function returning a `device_result` can return directly.
[[nodiscard]] inline tl::unexpected<failure> fail(status code, const char* call, std::string detail, int native = 0) {
  return tl::unexpected<failure>(failure{code, native, call, std::move(detail)});
}

}  // namespace sluice::backend
