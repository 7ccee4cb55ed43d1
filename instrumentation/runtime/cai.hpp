#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "instrumentation/runtime/any_array.hpp"

// Arrays to and from Numba, CuPy, PyTorch and others by the CUDA array interface, version 3
// (https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html): a description by value, without a copy and
// without ownership. Whoever imports keeps the exporting object alive.

namespace sluice::runtime {

/// The fields of `__cuda_array_interface__`, with their meanings.
struct cai_description {
  std::vector<std::int64_t> shape;
  std::string typestr;      ///< "<f4": byte order, kind, bytes
  std::uintptr_t data = 0;  ///< 0 for arrays without elements
  bool read_only = false;
  std::optional<std::vector<std::int64_t>> strides{};  ///< in bytes; none: dense, in C order
  bool masked = false;                                 ///< there is a mask; no library of ours takes one
  /// The stream on which the elements are ready: none: they are already; 1: the legacy default stream; 2: the calling
  /// thread's default stream; else a cudaStream_t. 0 is not allowed, for it could mean 1 or 2.
  std::optional<std::int64_t> stream{};
  int version = 3;
};

/// An object that offers its array this way, as Python's objects do by having the attribute.
template <class T>
concept has_cai = requires(const T& object) {
  { object.cuda_array_interface() } -> std::convertible_to<cai_description>;
};

/// An array over the described memory, which `owner` keeps alive; null: somebody else does. Work on `stream` waits, on
/// the device, for the exporter's stream, if there is one.
///
/// Throws error, and lets go of `owner`: versions below 2, masks, stream 0, type strings that are not understood, big
/// endian elements, strides that are no whole elements, extents below 0, sizes past 64 bits, memory that is not the
/// device's or shorter than the shape. The driver is asked; O(axes).
[[nodiscard]] any_array import_cai(const cai_description& what, memory_owner owner = {},
                                   const stream_ref& stream = current_stream());
template <has_cai T>
[[nodiscard]] any_array import_cai(const T& object, memory_owner owner = {},
                                   const stream_ref& stream = current_stream()) {
  return import_cai(static_cast<cai_description>(object.cuda_array_interface()), std::move(owner), stream);
}

/// The description of an array whose elements are ready: whoever exports has waited.
[[nodiscard]] cai_description export_cai(const any_array& array);
/// The description of one whose elements are ready once `stream` has done what is enqueued now. Throws error for
/// element types that the interface does not know (bfloat16).
[[nodiscard]] cai_description export_cai(const any_array& array, const stream_ref& stream);

}  // namespace sluice::runtime
