#pragma once

#include <cstdint>
#include <optional>

#include "instrumentation/runtime/any_array.hpp"

// Exchanges arrays with other libraries through DLPack 1.x (https://dmlc.github.io/dlpack). No copy is made. The
// consumer calls the producer's deleter exactly once. The structs below are DLPack's ABI. They are declared here so
// that DLPack's header is not needed. Pointers to them may be cast to the types of that header, which have the same
// layout.
//
// DLPack's C interface has no streams. So the exporter must state, by other means, on which stream the elements
// become ready, and the importer must make its own stream wait for that stream.

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
/// The DLPack code for an element kind.
[[nodiscard]] type_code get_code(element_kind kind) noexcept;
/// The element kind for a DLPack code; empty if no element_kind matches.
[[nodiscard]] std::optional<element_kind> get_kind(std::int32_t code) noexcept;
/// The DLPack device type for memory in this space.
[[nodiscard]] device_type to_device_type(memory_space space) noexcept;

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
  std::uint8_t bits;  ///< bits of one lane; for complex numbers, bits of both parts
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

/// Takes ownership of a tensor from another library. Its deleter runs once, when the last owner of the array is
/// destroyed, on that owner's thread. Accepts CUDA (2), pinned (3) and managed memory (13) of `device`.
///
/// Throws error, and leaves the tensor with the caller (the deleter has not run), for: null, another major
/// version, a device type or ordinal that does not match `device`, vector lanes, unknown element types,
/// ndim outside 0..64, a missing shape, negative extents, sizes or offsets over 64 bits, misaligned or
/// unknown memory, and memory too small for the shape. Queries the driver about the memory. O(axes).
[[nodiscard]] any_array from_dlpack(dlpack::managed_tensor* tensor, const device_ref& device = current_device());
[[nodiscard]] any_array from_dlpack(dlpack::managed_tensor_versioned* tensor,
                                    const device_ref& device = current_device());

/// Exports the array. The other library must call `deleter` once, from any thread, when it no longer uses the tensor.
/// Never returns null.
/// The tensor keeps the memory alive. Throws error for a read-only array, because this form has no read-only flag.
[[nodiscard]] dlpack::managed_tensor* to_dlpack(const any_array& array);
/// Exports the array in the versioned form, which also has a read-only flag.
[[nodiscard]] dlpack::managed_tensor_versioned* to_dlpack_versioned(const any_array& array);

}  // namespace sluice::runtime
