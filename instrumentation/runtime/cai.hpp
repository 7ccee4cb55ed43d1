#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "instrumentation/runtime/any_array.hpp"

// Exchanges arrays with Numba, CuPy, PyTorch etc. through the CUDA array interface, version 3
// (https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html). The interface is a plain description: it
// copies nothing and owns nothing. The importer must keep the exporting object alive.

namespace sluice::runtime {

/// The fields of `__cuda_array_interface__`, with the same meanings.
struct cai_description {
  std::vector<std::int64_t> shape;
  std::string typestr;      ///< byte order, kind and size in bytes, such as "<f4"
  std::uintptr_t data = 0;  ///< 0 for empty arrays
  bool read_only = false;
  std::optional<std::vector<std::int64_t>> strides{};  ///< in bytes; if not set: dense, in C order
  bool masked = false;                                 ///< true if the array has a mask (always rejected)
  /// The stream on which the elements become ready; if not set, they are ready now. 1: the legacy default stream. 2:
  /// the calling thread's default stream. 0 is not allowed, because it could mean either. Other values: a cudaStream_t.
  std::optional<std::int64_t> stream{};
  int version = 3;
};

/// A C++ object that offers its array, like a Python object that has the attribute `__cuda_array_interface__`.
template <class T>
concept has_cai = requires(const T& object) {
  { object.cuda_array_interface() } -> std::convertible_to<cai_description>;
};

/// Imports an array. `owner` keeps the memory alive; if it is null, the caller must keep the memory
/// alive. If the exporter names a stream, later work on `stream` waits for that stream, on the device.
///
/// Throws error, and releases `owner`, for: versions below 2, masks, stream 0, unknown type strings, big-endian
/// elements, strides that are not multiples of the element size, negative extents, sizes over 64 bits, memory that
/// does not belong to the device, and memory too small for the shape. Queries the driver about the memory. O(axes).
[[nodiscard]] any_array import_cai(const cai_description& description, memory_owner owner = {},
                                   const stream_ref& stream = current_stream());
template <has_cai T>
[[nodiscard]] any_array import_cai(const T& object, memory_owner owner = {},
                                   const stream_ref& stream = current_stream()) {
  return import_cai(static_cast<cai_description>(object.cuda_array_interface()), std::move(owner), stream);
}

/// Describes an array whose elements are ready. The caller must have waited for them.
[[nodiscard]] cai_description export_cai(const any_array& array);
/// Describes an array whose elements are ready once all work enqueued on `stream` so far
/// is done. Throws error for element types that the interface cannot express (bfloat16).
[[nodiscard]] cai_description export_cai(const any_array& array, const stream_ref& stream);

}  // namespace sluice::runtime
