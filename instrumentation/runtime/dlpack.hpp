#pragma once

#include <cstdint>
#include <optional>

#include "instrumentation/runtime/any_array.hpp"

// Arrays to and from other libraries by DLPack 1.x (https://dmlc.github.io/dlpack): no copy, and the consumer calls the
// producer's deleter exactly once. The structs are DLPack's ABI, declared here so that nobody needs its header; a
// pointer to one may be cast to the header's type of the same layout.
//
// DLPack says nothing about streams in C: whoever exports says on which stream the elements are ready, and whoever
// imports makes its own stream wait for that.

namespace sluice::runtime {

namespace dlpack {

inline constexpr std::uint32_t major_version = 1, minor_version = 0;

enum device_type : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };
enum type_code : std::uint8_t {
  type_int = 0,
  type_uint = 1,
  type_float = 2,
  type_bfloat = 4,
  type_complex = 5,
  type_bool = 6
};
/// The code of elements of this kind.
[[nodiscard]] type_code code_of(element_kind kind) noexcept;
/// The kind of elements of this code; none: it means no kind of ours.
[[nodiscard]] std::optional<element_kind> kind_of(std::int32_t code) noexcept;
/// What memory of the device's, or page-locked for it, is called.
[[nodiscard]] device_type device_type_of(memory_space space) noexcept;

inline constexpr std::uint64_t flag_read_only = 1, flag_is_copied = 2;

struct version {
  std::uint32_t major, minor;
};
struct device {
  std::int32_t type;  ///< a device_type
  std::int32_t id;
};
struct data_type {
  std::uint8_t code;  ///< a type_code
  std::uint8_t bits;  ///< of one lane; for complex numbers of both parts
  std::uint16_t lanes;
};
struct tensor {
  void* data;
  dlpack::device device;
  std::int32_t ndim;
  data_type dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: dense, in C order
  std::uint64_t byte_offset;
};
struct managed_tensor {
  tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(managed_tensor* self);
};
struct managed_tensor_versioned {
  dlpack::version version;
  void* manager_ctx;
  void (*deleter)(managed_tensor_versioned* self);
  std::uint64_t flags;
  tensor dl_tensor;
};

static_assert(sizeof(tensor) == 48 && sizeof(managed_tensor) == 64 && sizeof(managed_tensor_versioned) == 80,
              "DLPack's layout on 64-bit machines");

}  // namespace dlpack

/// Takes over a tensor of another library's; its deleter runs, once, when the last share in the array goes, on the
/// thread that lets go. Accepts CUDA (2), pinned (3) and managed memory (13) of `device`.
///
/// Throws error, and leaves the tensor and its deleter with the caller: null, another major version, a device type or
/// an ordinal that is not `device`'s, lanes, unknown element types, ndim outside 0..64, missing shape, extents below 0,
/// sizes or offsets past 64 bits, misaligned or unknown memory, memory shorter than the shape. The driver is asked;
/// O(axes).
[[nodiscard]] any_array from_dlpack(dlpack::managed_tensor* tensor, const device_ref& device = current_device());
[[nodiscard]] any_array from_dlpack(dlpack::managed_tensor_versioned* tensor,
                                    const device_ref& device = current_device());

/// The array for another library, which must call `deleter` once when it is done with it, from any thread. Never null.
/// It keeps the memory. Throws error for an array that may only be read: the unversioned form cannot say so.
[[nodiscard]] dlpack::managed_tensor* to_dlpack(const any_array& array);
/// The same with a version, and the read-only flag where it holds.
[[nodiscard]] dlpack::managed_tensor_versioned* to_dlpack_versioned(const any_array& array);

}  // namespace sluice::runtime
