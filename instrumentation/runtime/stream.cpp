#include "instrumentation/runtime/stream.hpp"

#include <map>
#include <utility>

#include "instrumentation/runtime/device_state.hpp"

namespace sluice::runtime {

struct stream_ref::state {
  device_ref device;
  backend::stream_handle handle{};
  bool owned = false;

  state(device_ref d, backend::stream_handle h, bool own) : device(std::move(d)), handle(h), owned(own) {}
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    if (!owned) return;
    device.state()->retire(handle);
    device.backend().destroy_stream(handle);
  }
};

namespace {

// The streams that guards of this thread have chosen, innermost last.
thread_local std::vector<stream_ref> guarded;

}  // namespace

stream_ref::stream_ref(const device_ref& device)
    : state_(std::make_shared<state>(device, backend::stream_handle::null, false)) {}

stream_ref::stream_ref(const stream& owner) noexcept : state_(owner.ref_.state_) {}

stream_ref stream_ref::from_native(const device_ref& device, std::uintptr_t handle) {
  return stream_ref(std::make_shared<state>(device, backend::stream_handle{handle}, false));
}

const device_ref& stream_ref::device() const noexcept { return state_->device; }

std::uintptr_t stream_ref::get() const noexcept { return static_cast<std::uintptr_t>(state_->handle); }

backend::stream_handle stream_ref::handle() const noexcept { return state_->handle; }

void stream_ref::sync() const { value_or_throw(device().backend().sync_stream(handle())); }

bool stream_ref::is_idle() const { return value_or_throw(device().backend().stream_idle(handle())); }

void stream_ref::record(event& e) const { value_or_throw(device().backend().record_event(e.handle(), handle())); }

void stream_ref::wait(const event& e) const { value_or_throw(device().backend().wait_event(handle(), e.handle())); }

stream::stream(stream_mode mode, int priority) : stream(current_device(), mode, priority) {}

stream::stream(const device_ref& device, stream_mode mode, int priority)
    : ref_(std::make_shared<stream_ref::state>(
          device, value_or_throw(device.backend().create_stream({mode == stream_mode::non_blocking, priority})),
          true)) {}

stream_ref default_stream() { return stream_ref(current_device()); }

stream_ref current_stream() {
  const device_ref device = current_device();
  for (auto it = guarded.rbegin(); it != guarded.rend(); ++it) {
    if (it->device() == device) return *it;
  }
  return stream_ref(device);
}

stream_guard::stream_guard(const stream_ref& s) : device_(s.device()) { guarded.push_back(s); }

stream_guard::~stream_guard() { guarded.pop_back(); }

event::event(const device_ref& device, bool timed)
    : device_(device), handle_(value_or_throw(device.backend().create_event({.timed = timed}))) {}

event::~event() {
  if (handle_ != backend::event_handle::null) device_.backend().destroy_event(handle_);
}

event::event(event&& other) noexcept
    : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, backend::event_handle::null)) {}

event& event::operator=(event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

void event::sync() const { value_or_throw(device_.backend().sync_event(handle_)); }

bool event::is_done() const { return value_or_throw(device_.backend().event_done(handle_)); }

std::chrono::duration<float, std::milli> elapsed(const timed_event& from, const timed_event& to) {
  return std::chrono::duration<float, std::milli>(
      value_or_throw(from.device().backend().elapsed_ms(from.handle(), to.handle())));
}

}  // namespace sluice::runtime
