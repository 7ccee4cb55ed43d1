#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace sluice::backend {

/// What went wrong, in terms that hold for every backend.
enum class status : std::uint8_t {
  out_of_memory,  ///< the device or the host refused the bytes
  invalid_value,  ///< a pointer, size, stream or event that the device does not know
  not_supported,  ///< this device cannot do that
  not_permitted,  ///< not at this time: a stream capture is under way, or was broken
  unavailable,    ///< no driver, no device, or the device has gone
  failed,         ///< anything else; `native` says what the driver answered
};

/// A failed call: the backend's own error, before the runtime turns it into an exception.
struct failure {
  status code = status::failed;
  int native = 0;         ///< the driver's own number (CUresult), 0 where there is none
  const char* call = "";  ///< the call that failed, a string literal
  std::string detail;     ///< one line: what was asked, what was expected
};

template <class T>
using outcome = tl::expected<T, failure>;

/// Short word for a status, e.g. "out of memory".
[[nodiscard]] const char* to_string(status code) noexcept;

/// One line: "cuMemAlloc: out of memory (2): 4096 bytes on NVIDIA H200".
[[nodiscard]] std::string describe(const failure& what);

/// A failure, ready to be returned from a function that gives an outcome.
[[nodiscard]] inline tl::unexpected<failure> fail(status code, const char* call, std::string detail, int native = 0) {
  return tl::unexpected<failure>(failure{code, native, call, std::move(detail)});
}

}  // namespace sluice::backend
