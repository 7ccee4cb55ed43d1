#include "instrumentation/runtime/stream.hpp"

#include <atomic>
#include <map>
#include <utility>

#include "instrumentation/backend/host_function_order.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/state/device_state.hpp"

namespace sluice::runtime {

struct stream_ref::state : facts {
  device_ref device;
  bool owned = false;

  state(device_ref d, backend::stream_handle h, bool own, bool asked_about = false) : device(std::move(d)), owned(own) {
    handle = h;
    identity = device.state()->is_per_thread(h) ? 0 : device.state()->identify_recording(h);
    may_be_captured_by_others = asked_about && h != backend::stream_handle::null;
    plain_identity = may_be_captured_by_others ? 0 : identity;
    hash = compute_hash(identity);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    if (!owned) return;
    device.state()->retire(handle);
    device.backend().destroy_stream(handle);
  }
};

namespace {

// The streams of this thread's stream_guards, innermost last.
thread_local std::vector<stream_ref> guarded;

}  // namespace

std::uint64_t detail::thread_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t mine = ++last;
  return mine;
}

stream_ref::stream_ref(const std::shared_ptr<state>& s) noexcept : facts_(s) {}

stream_ref::stream_ref(const device_ref& device)
    : facts_(std::make_shared<state>(device, backend::stream_handle::null, false)) {}

stream_ref::stream_ref(const stream& owner) noexcept : facts_(owner.ref_.facts_) {}

stream_ref stream_ref::from_native(const device_ref& device, std::uintptr_t handle, foreign_captures captures) {
  const bool is_default = handle == detail::driver_legacy && !device.simulated();
  return stream_ref(std::make_shared<state>(device, backend::stream_handle{is_default ? 0 : handle}, false,
                                            captures == foreign_captures::asked_about));
}

const device_ref& stream_ref::device() const noexcept { return static_cast<const state&>(*facts_).device; }

std::uint64_t stream_ref::identity_here() const noexcept { return device().state()->identify_recording(handle()); }

int stream_ref::priority() const { return value_or_throw(device().backend().stream_priority(handle())); }

void stream_ref::sync() const { value_or_throw(device().backend().sync_stream(handle())); }

bool stream_ref::is_idle() const { return value_or_throw(device().backend().stream_idle(handle())); }

void stream_ref::record(event& e) const { value_or_throw(device().backend().record_event(e.handle(), handle())); }

void stream_ref::wait(const event& e) const { value_or_throw(device().backend().wait_event(handle(), e.handle())); }

stream::stream(stream_mode mode, int priority) : stream(current_device(), mode, priority) {}

stream::stream(const device_ref& device, stream_mode mode, int priority)
    : ref_(std::make_shared<stream_ref::state>(
          device, value_or_throw(device.backend().create_stream({mode == stream_mode::non_blocking, priority})),
          true)) {}

priority_range stream_priorities(const device_ref& device) {
  return value_or_throw(device.backend().stream_priorities());
}

stream_ref default_stream() { return stream_ref(current_device()); }

stream_ref per_thread_stream(const device_ref& device) {
  thread_local std::vector<stream_ref> mine;
  for (const stream_ref& s : mine) {
    if (s.device() == device) return s;
  }
  mine.emplace_back(stream(device, stream_mode::blocking));
  return mine.back();
}

void launch_host_func(const stream_ref& stream, std::function<void()> function) {
  using callable = std::function<void()>;
  backend::device& device = stream.device().backend();
  if (const auto capture = find_capture(stream)) {
    const auto kept = std::make_shared<callable>(std::move(function));
    capture->keep(kept);
    const auto call = [](void* f) {
      (*static_cast<callable*>(f))();
      backend::host_function_ended();
    };
    value_or_throw(device.launch_host(call, kept.get(), stream.handle()));
    return;
  }
  if (value_or_throw(device.stream_capture(stream.handle())).status != backend::capture_status::none) {
    throw error({status::not_permitted, 0, "launch_host_func",
                 "other code is capturing the stream; only a graph_capture can keep the function alive"});
  }
  auto once = std::make_unique<callable>(std::move(function));
  const auto call = [](void* f) {
    std::unique_ptr<callable> owned(static_cast<callable*>(f));
    (*owned)();
    owned.reset();
    backend::host_function_ended();
  };
  value_or_throw(device.launch_host(call, once.get(), stream.handle()));
  (void)once.release();
}

stream_ref current_stream() {
  const device_ref device = current_device();
  for (auto it = guarded.rbegin(); it != guarded.rend(); ++it) {
    if (it->device() == device) return *it;
  }
  return stream_ref(device);
}

stream_guard::stream_guard(const stream_ref& s) : device_(s.device()) { guarded.push_back(s); }

stream_guard::~stream_guard() { guarded.pop_back(); }

event::event(const device_ref& device, backend::event_flags flags)
    : device_(device), handle_(value_or_throw(device.backend().create_event(flags))) {}

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

std::chrono::duration<float, std::milli> elapsed(const timed_event& row, const timed_event& to) {
  return std::chrono::duration<float, std::milli>(
      value_or_throw(row.device().backend().elapsed_ms(row.handle(), to.handle())));
}

ipc_event ipc_event::open(const ipc_event_handle& handle, const device_ref& device) {
  return ipc_event(device, value_or_throw(device.backend().import_event(handle)));
}

ipc_event_handle ipc_event::share() const { return value_or_throw(device().backend().export_event(handle())); }

}  // namespace sluice::runtime
