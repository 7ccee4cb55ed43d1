#include "instrumentation/runtime/dlpack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace sluice::runtime {

namespace dlpack {

namespace {
struct coded_kind {
  type_code code;
  element_kind kind;
};
constexpr coded_kind coded_kinds[] = {
    {type_int, element_kind::integer},     {type_uint, element_kind::unsigned_integer},
    {type_float, element_kind::floating},  {type_bfloat, element_kind::brain_float},
    {type_complex, element_kind::complex}, {type_bool, element_kind::boolean}};
}  // namespace

type_code get_code(element_kind kind) noexcept { return std::ranges::find(coded_kinds, kind, &coded_kind::kind)->code; }

std::optional<element_kind> get_kind(std::int32_t code) noexcept {
  const auto* const found = std::ranges::find(coded_kinds, code, &coded_kind::code);
  if (found == std::end(coded_kinds)) return std::nullopt;
  return found->kind;
}

device_type to_device_type(memory_space space) noexcept {
  switch (space) {
    case memory_space::pinned:
      return cuda_host;
    case memory_space::managed:
      return cuda_managed;
    default:
      return cuda;
  }
}

}  // namespace dlpack

namespace {

constexpr const char* from_call = "from_dlpack";
constexpr const char* export_call = "to_dlpack";

// --- import ------------------------------------------------------------------------------------------------

element_type get_type(dlpack::data_type type) {
  if (type.lanes != 1) refuse(from_call, fmt::format("elements of {} lanes: expected 1", type.lanes));
  if (type.bits == 0 || type.bits % 8 != 0) refuse(from_call, fmt::format("invalid element size: {} bits", type.bits));
  const auto kind = dlpack::get_kind(type.code);
  if (!kind) {
    refuse(from_call, fmt::format("type code {}: expected integers, floats, complex numbers or booleans", type.code));
  }
  return {*kind, type.bits};
}

void require_device(dlpack::device said, const device_ref& device) {
  switch (said.type) {
    case dlpack::cuda:
      break;
    case dlpack::cuda_host:
    case dlpack::cuda_managed:
      return;  // accessible from every device; libraries set the ordinal to 0
    case dlpack::cpu:
      refuse(from_call, "the tensor is in ordinary host memory; copy it with to_device");
    default:
      refuse(from_call, fmt::format("device type {}: expected CUDA (2), pinned (3) or managed (13) memory", said.type));
  }
  if (said.id != static_cast<std::int32_t>(device.description().ordinal)) {
    refuse(from_call, fmt::format("the tensor is on device {}, not {}; import it with that device", said.id,
                                  device.description().ordinal));
  }
}

void require_space(dlpack::device said, const any_array& array) {
  if (array.size() == 0) return;
  const memory_space space = array.space();
  const bool right = said.type == dlpack::cuda_host      ? space == memory_space::pinned
                     : said.type == dlpack::cuda_managed ? space == memory_space::managed
                                                         : space != memory_space::pinned;
  if (!right) refuse(from_call, fmt::format("the memory does not match device type {}", said.type));
}

any_array checked_tensor(const dlpack::tensor& t, bool read_only, const device_ref& device) {
  require_device(t.device, device);
  if (t.ndim < 0 || static_cast<std::size_t>(t.ndim) > max_axes) {
    refuse(from_call, fmt::format("{} axes: expected 0 to {}", t.ndim, max_axes));
  }
  const auto rank = static_cast<std::size_t>(t.ndim);
  if (rank != 0 && !t.shape) refuse(from_call, fmt::format("{} axes but no shape", rank));
  foreign_array array;
  array.type = get_type(t.dtype);
  array.extents.assign(t.shape, t.shape + rank);
  array.strides.resize(rank);
  if (t.strides) {
    array.strides.assign(t.strides, t.strides + rank);
  } else {
    (void)element_count(array.extents, array.type.bytes(), from_call);
    dense_strides(array.extents, storage_order::c, array.strides);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(t.data);
  if (t.byte_offset > UINTPTR_MAX - address) refuse(from_call, "byte_offset exceeds the address space");
  array.data = t.data ? reinterpret_cast<void*>(address + t.byte_offset) : nullptr;
  array.read_only = read_only;
  any_array out = checked_array(array, device, from_call);
  require_space(t.device, out);
  return out;
}

template <class Managed>
any_array take_over(Managed* tensor, const any_array& checked) {
  // From here on, only an allocation failure on the host can throw; in that case the deleter has already run.
  return checked.owned_by(memory_owner(tensor, [](Managed* t) {
    if (t->deleter) t->deleter(t);
  }));
}

// --- export ------------------------------------------------------------------------------------------------

dlpack::data_type get_type(element_type type) {
  if (type.bits > 255) refuse(export_call, fmt::format("elements of {} bits: DLPack supports at most 255", type.bits));
  return {dlpack::get_code(type.kind), static_cast<std::uint8_t>(type.bits), 1};
}

dlpack::device find_device(const any_array& array) {
  // Pinned memory belongs to all devices.
  const bool of_all = array.space() == memory_space::pinned;
  return {dlpack::to_device_type(array.space()),
          of_all ? 0 : static_cast<std::int32_t>(array.device().description().ordinal)};
}

// The memory that an exported tensor points into. Deleted with the tensor.
template <class Managed>
struct exported {
  explicit exported(const any_array& array) : kept(array), extents(array.extents()), strides(array.strides()) {
    managed.dl_tensor = {array.data(),
                         find_device(array),
                         static_cast<std::int32_t>(array.rank()),
                         get_type(array.type()),
                         extents.data(),
                         strides.data(),
                         0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { delete static_cast<exported*>(self->manager_ctx); };
  }
  Managed managed{};
  any_array kept;
  std::vector<std::int64_t> extents, strides;
};

}  // namespace

any_array from_dlpack(dlpack::managed_tensor* tensor, const device_ref& device) {
  if (!tensor) refuse(from_call, "the tensor is null");
  return take_over(tensor, checked_tensor(tensor->dl_tensor, false, device));
}

any_array from_dlpack(dlpack::managed_tensor_versioned* tensor, const device_ref& device) {
  if (!tensor) refuse(from_call, "the tensor is null");
  if (tensor->version.major != dlpack::major_version) {
    // Other major versions only guarantee the position of the deleter.
    refuse(from_call, fmt::format("DLPack version {}.{}: expected {}.x", tensor->version.major, tensor->version.minor,
                                  dlpack::major_version));
  }
  const bool read_only = (tensor->flags & dlpack::flag_read_only) != 0;
  return take_over(tensor, checked_tensor(tensor->dl_tensor, read_only, device));
}

dlpack::managed_tensor* to_dlpack(const any_array& array) {
  if (array.read_only()) {
    refuse(export_call, "the array is read-only, which the unversioned form cannot express; use to_dlpack_versioned");
  }
  return &(new exported<dlpack::managed_tensor>(array))->managed;
}

dlpack::managed_tensor_versioned* to_dlpack_versioned(const any_array& array) {
  auto* const out = new exported<dlpack::managed_tensor_versioned>(array);
  out->managed.version = {dlpack::major_version, dlpack::minor_version};
  out->managed.flags = array.read_only() ? dlpack::flag_read_only : 0;
  return &out->managed;
}

}  // namespace sluice::runtime
