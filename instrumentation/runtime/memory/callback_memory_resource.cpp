#include "instrumentation/runtime/callback_memory_resource.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace sluice::runtime {

namespace {

[[noreturn]] void refuse(const char* who, std::string why) {
  throw error({status::invalid_value, 0, who, std::move(why)});
}

[[noreturn]] void no_memory(const char* who, std::size_t bytes, const stream_ref& stream) {
  throw out_of_memory({status::out_of_memory, 0, who, fmt::format("{} bytes on {}", bytes, stream.device().name())},
                      {bytes, stream.device().id(), stream.get(), false, {}});
}

/// The resources whose callbacks are running on this thread.
struct call_in_progress {
  explicit call_in_progress(const memory_resource* r) : resource(r), outer(innermost) { innermost = this; }
  ~call_in_progress() { innermost = outer; }
  call_in_progress(const call_in_progress&) = delete;
  call_in_progress& operator=(const call_in_progress&) = delete;

  [[nodiscard]] static bool of(const memory_resource* r) {
    for (const auto* c = innermost; c != nullptr; c = c->outer) {
      if (c->resource == r) return true;
    }
    return false;
  }

  const memory_resource* resource;
  const call_in_progress* outer;
  static constinit thread_local const call_in_progress* innermost;
};
constinit thread_local const call_in_progress* call_in_progress::innermost = nullptr;

}  // namespace

callback_memory_resource::callback_memory_resource(const device_ref& device, memory_space space,
                                                   allocate_function allocate, deallocate_function deallocate)
    : memory_resource(device, space), allocate_(std::move(allocate)), deallocate_(std::move(deallocate)) {
  if (!allocate_ || !deallocate_)
    refuse("callback_memory_resource", "both the allocate and the deallocate function are required");
}

void* callback_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  if (call_in_progress::of(this)) {
    refuse("callback_memory_resource",
           "the allocate function allocates from this resource itself; use another one in it");
  }
  const call_in_progress here(this);
  void* address = allocate_(bytes, stream);
  if (address == nullptr) no_memory("callback_memory_resource", bytes, stream);
  return address;
}

void callback_memory_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept {
  deallocate_(address, bytes, stream);
}

// --- tables of C functions ---------------------------------------------------------------------------------

vtable_memory_resource::vtable_memory_resource(const device_ref& device, memory_space space,
                                               const sluice_resource& table)
    : memory_resource(device, space), table_(table) {
  if (table.version != SLUICE_RESOURCE_VERSION || table.struct_size < sizeof(sluice_resource)) {
    refuse("vtable_memory_resource",
           fmt::format("table of version {} and {} bytes: expected version {} and at least {} bytes", table.version,
                       table.struct_size, SLUICE_RESOURCE_VERSION, sizeof(sluice_resource)));
  }
  if (table.allocate == nullptr || table.deallocate == nullptr) {
    refuse("vtable_memory_resource", "the table has no allocate or no deallocate function");
  }
}

vtable_memory_resource::~vtable_memory_resource() {
  if (table_.destroy != nullptr) table_.destroy(table_.context);
}

void* vtable_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  void* address = table_.allocate(table_.context, bytes, default_alignment, reinterpret_cast<void*>(stream.get()));
  if (address == nullptr) no_memory("vtable_memory_resource", bytes, stream);
  return address;
}

void vtable_memory_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept {
  table_.deallocate(table_.context, address, bytes, default_alignment, reinterpret_cast<void*>(stream.get()));
}

namespace {

resource_ptr& held(void* context) { return *static_cast<resource_ptr*>(context); }

stream_ref get_stream(const memory_resource& resource, void* stream) {
  return stream_ref::from_native(resource.device(), reinterpret_cast<std::uintptr_t>(stream));
}

}  // namespace

sluice_resource export_resource(resource_ptr resource) {
  if (!resource) refuse("export_resource", "the resource is null");
  sluice_resource table{};
  table.version = SLUICE_RESOURCE_VERSION;
  table.struct_size = sizeof(sluice_resource);
  table.context = new resource_ptr(std::move(resource));
  table.allocate = [](void* context, size_t bytes, size_t alignment, void* stream) -> void* {
    try {
      return held(context)->allocate(get_stream(*held(context), stream), bytes, alignment);
    } catch (...) {
      return nullptr;  // Exceptions must not reach C code.
    }
  };
  table.deallocate = [](void* context, void* address, size_t bytes, size_t alignment, void* stream) {
    held(context)->deallocate(get_stream(*held(context), stream), address, bytes, alignment);
  };
  table.destroy = [](void* context) { delete static_cast<resource_ptr*>(context); };
  return table;
}

}  // namespace sluice::runtime
