#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "instrumentation/runtime/cai.hpp"
#include "instrumentation/runtime/dlpack.hpp"
#include "instrumentation/runtime/interchange/sluice_interchange.h"
#include "instrumentation/runtime/kernel.hpp"
#include "instrumentation/runtime/memory/c_boundary.hpp"

#define SLUICE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace sluice::runtime;
using c_boundary::guarded, c_boundary::last_error;

struct sluice_array {
  any_array array;
  sluice_array_info info{};
};

namespace {

constexpr bool same(int ours, int theirs) { return ours == theirs; }
static_assert(same(SLUICE_INT, dlpack::type_int) && same(SLUICE_UINT, dlpack::type_uint) &&
              same(SLUICE_FLOAT, dlpack::type_float) && same(SLUICE_BFLOAT, dlpack::type_bfloat) &&
              same(SLUICE_COMPLEX, dlpack::type_complex) && same(SLUICE_BOOL, dlpack::type_bool));

element_type get_type(std::int32_t code, std::int32_t bits) {
  const auto kind = dlpack::get_kind(code);
  if (!kind || bits <= 0 || bits > 256 || bits % 8 != 0) {
    refuse("sluice_array_empty", fmt::format("no element type has code {} and {} bits", code, bits));
  }
  return {*kind, static_cast<std::uint16_t>(bits)};
}

sluice_array* made(any_array array) {
  auto out = std::make_unique<sluice_array>(sluice_array{std::move(array)});
  const any_array& a = out->array;
  out->info = {a.data(),
               dlpack::get_code(a.type().kind),
               a.type().bits,
               static_cast<std::int32_t>(a.rank()),
               a.read_only(),
               a.extents().data(),
               a.strides().data(),
               dlpack::to_device_type(a.space()),
               static_cast<std::int32_t>(a.device().description().ordinal)};
  return out.release();
}

std::vector<std::int64_t> values(const std::int64_t* begin, std::int32_t count) {
  if (count < 0 || count > static_cast<std::int32_t>(max_axes) || (count != 0 && !begin)) {
    refuse("sluice_array", fmt::format("invalid shape: {} axes at {}", count, static_cast<const void*>(begin)));
  }
  return {begin, begin + count};
}

const sluice_array& checked(const sluice_array* array) {
  if (!array) refuse("sluice_array", "the array is null");
  return *array;
}

// A function of the Python in this process, looked up by name. Python is not linked.
template <class Function>
Function* python(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

template <class Managed>
bool delete_unclaimed(void* capsule, const char* name) {
  auto* const is_valid = python<int(void*, const char*)>("PyCapsule_IsValid");
  auto* const pointer = python<void*(void*, const char*)>("PyCapsule_GetPointer");
  if (!is_valid || !pointer || !is_valid(capsule, name)) return false;
  auto* const managed = static_cast<Managed*>(pointer(capsule, name));
  if (managed && managed->deleter) managed->deleter(managed);
  return true;
}

}  // namespace

SLUICE_EXPORT const char* sluice_interchange_error(void) { return last_error::get(); }

SLUICE_EXPORT sluice_array* sluice_array_empty(const std::int64_t* extents, std::int32_t rank, std::int32_t code,
                                               std::int32_t bits, std::int32_t fortran) {
  return guarded([&] {
    const element_type type = get_type(code, bits);
    auto shape = values(extents, rank);
    const std::uint64_t bytes = element_count(shape, type.bytes(), "sluice_array_empty") * type.bytes();
    std::vector<std::int64_t> strides(shape.size());
    dense_strides(shape, fortran != 0 ? storage_order::f : storage_order::c, strides);
    return made({device_span<std::byte>(device_buffer(bytes)), 0, type, std::move(shape), std::move(strides)});
  });
}

SLUICE_EXPORT void sluice_array_release(sluice_array* array) { delete array; }

SLUICE_EXPORT int sluice_array_describe(const sluice_array* array, sluice_array_info* out) {
  return guarded([&] {
    if (!out) refuse("sluice_array_describe", "`out` is null");
    *out = checked(array).info;
    return 0;
  });
}

SLUICE_EXPORT sluice_array* sluice_array_from_dlpack(void* managed, std::int32_t versioned) {
  return guarded([&] {
    return made(versioned != 0 ? from_dlpack(static_cast<dlpack::managed_tensor_versioned*>(managed))
                               : from_dlpack(static_cast<dlpack::managed_tensor*>(managed)));
  });
}

SLUICE_EXPORT void* sluice_array_to_dlpack(const sluice_array* array, std::int32_t versioned) {
  return guarded([&]() -> void* {
    if (versioned != 0) return to_dlpack_versioned(checked(array).array);
    return to_dlpack(checked(array).array);
  });
}

SLUICE_EXPORT void sluice_dlpack_capsule_destructor(void* capsule) {
  if (delete_unclaimed<dlpack::managed_tensor_versioned>(capsule, "dltensor_versioned")) return;
  (void)delete_unclaimed<dlpack::managed_tensor>(capsule, "dltensor");
}

SLUICE_EXPORT sluice_array* sluice_array_from_cai(std::uintptr_t data, const std::int64_t* extents,
                                                  const std::int64_t* strides, std::int32_t rank, const char* typestr,
                                                  std::int32_t read_only, std::int32_t masked, std::int32_t has_stream,
                                                  std::int64_t stream, std::int32_t version, void (*release)(void*),
                                                  void* source) {
  return guarded([&] {
    const memory_owner owner = release != nullptr ? memory_owner(source, release) : memory_owner();
    cai_description description;
    description.shape = values(extents, rank);
    description.typestr = typestr ? typestr : "";
    description.data = data;
    description.read_only = read_only != 0;
    if (strides) description.strides = values(strides, rank);
    description.masked = masked != 0;
    if (has_stream != 0) description.stream = stream;
    description.version = version;
    return made(import_cai(description, owner));
  });
}

SLUICE_EXPORT void sluice_python_release(void* object) {
  auto* const is_there = python<int()>("Py_IsInitialized");
  auto* const enter = python<int()>("PyGILState_Ensure");
  auto* const leave = python<void(int)>("PyGILState_Release");
  auto* const let_go = python<void(void*)>("Py_DecRef");
  // After Python has shut down, its objects no longer exist.
  if (!is_there || !enter || !leave || !let_go || is_there() == 0) return;
  const int before = enter();
  let_go(object);
  leave(before);
}

SLUICE_EXPORT int sluice_array_order(const sluice_array* array, std::int64_t consumer) {
  return guarded([&] {
    const device_ref device = checked(array).array.device();
    if (consumer == 0)
      refuse("sluice_array_order", "stream 0 is ambiguous: use 1 (legacy) or 2 (per-thread default stream)");
    if (consumer == 1) return 0;  // all work here runs on that stream
    event done(device);
    done.record(stream_ref(device));
    stream_ref::from_native(device, static_cast<std::uintptr_t>(consumer)).wait(done);
    return 0;
  });
}

SLUICE_EXPORT int sluice_array_affine(sluice_array* array, std::uint32_t multiplier, std::uint32_t increment) {
  return guarded([&] {
    const any_array& a = checked(array).array;
    const bool whole = a.type().bits == 32 &&
                       (a.type().kind == element_kind::integer || a.type().kind == element_kind::unsigned_integer);
    if (!whole || a.read_only()) refuse("sluice_array_affine", "expected a writable array of 32-bit integers");
    if (!a.is_contiguous(storage_order::c) && !a.is_contiguous(storage_order::f)) {
      refuse("sluice_array_affine", "the array is not contiguous");
    }
    if (a.size() == 0) return 0;
    launch(kernels::affine_u32, launch_config::for_size(a.size()), stream_ref(a.device()),
           static_cast<std::uint32_t*>(a.data()), std::uint64_t{a.size()}, multiplier, increment, std::uint32_t{1});
    return 0;
  });
}

SLUICE_EXPORT int sluice_interchange_synchronize(void) {
  return guarded([] {
    current_device().sync();
    return 0;
  });
}
