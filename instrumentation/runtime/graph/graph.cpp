#include "instrumentation/runtime/graph.hpp"

#include <utility>

#include "instrumentation/runtime/graph/capture_list.hpp"
#include "instrumentation/runtime/graph/past_capture.hpp"

namespace sluice::runtime {

void active_capture::keep(std::shared_ptr<void> owner) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(owner));
}

void active_capture::keep_until_end(std::shared_ptr<void> owner) {
  const std::lock_guard lock(mutex_);
  until_end_.push_back(std::move(owner));
}

std::shared_ptr<active_capture> find_capture(const stream_ref& stream) noexcept {
  if (!capturing()) return nullptr;
  backend::device& device = stream.device().backend();
  const auto info = device.stream_capture(stream.handle());
  if (!info || info->status == backend::capture_status::none) return nullptr;
  const std::lock_guard lock(capture_list::get().mutex);
  const auto it = capture_list::get().by_id.find({&device, info->id});
  return it == capture_list::get().by_id.end() ? nullptr : it->second;
}

std::shared_ptr<active_capture> capture_that_holds(const stream_ref& stream) noexcept {
  if (!capturing()) return nullptr;
  if (auto own = find_capture(stream)) return own;
  const std::lock_guard lock(capture_list::get().mutex);
  for (const auto& [key, capture] : capture_list::get().by_id) {
    if (capture->forbids_waiting()) return capture;
  }
  return nullptr;
}

std::shared_ptr<active_capture> capture_that_holds(const device_ref& device) noexcept {
  if (!capturing()) return nullptr;
  const std::lock_guard lock(capture_list::get().mutex);
  for (const auto& [key, capture] : capture_list::get().by_id) {
    // Independent of the mode, because waiting for the device includes waiting for the captured stream.
    if (key.first == &device.backend() || capture->forbids_waiting()) return capture;
  }
  return nullptr;
}

void wait_beside_captures(const stream_ref& stream) noexcept {
  backend::device& device = stream.device().backend();
  const backend::beside_captures here(device);
  auto behind = backend::event_handle::null;
  {
    const captures_held_off held;
    if (capture_that_holds(stream) != nullptr) return;
    const auto idle = device.stream_idle(stream.handle());
    if (!idle || *idle) return;
    const auto event = device.create_event({});
    if (!event) return;
    behind = *event;
    if (!device.record_event(behind, stream.handle())) return device.destroy_event(behind);
  }
  (void)device.sync_event(behind);
  device.destroy_event(behind);
}

// --- capture -----------------------------------------------------------------------------------------------

graph_capture::graph_capture(const stream_ref& stream, capture_mode mode) : stream_(stream) {
  backend::device& device = stream.device().backend();
  capture_list& list = capture_list::get();
  // No other thread may query the stream between the start of the capture and its registration here.
  const std::lock_guard beginning(list.beginning);
  value_or_throw(device.begin_capture(stream.handle(), mode));
  const auto info = device.stream_capture(stream.handle());
  active_ = std::make_shared<active_capture>(info ? info->id : 0, mode);
  const std::lock_guard lock(list.mutex);
  list.by_id[{&device, active_->id()}] = active_;
  detail::captures.fetch_add(1, std::memory_order_release);
}

graph_capture::~graph_capture() {
  if (!open_) return;
  try {
    (void)finish();
  } catch (const error&) {
    // The capture is broken, or a stream was not joined: in either case there is no graph.
  }
}

void graph_capture::add_child(const graph& child) {
  value_or_throw(stream_.device().backend().capture_child(stream_.handle(), child.handle()));
  for (const auto& owner : child.kept_) active_->keep(owner);
}

graph graph_capture::finish() {
  if (!std::exchange(open_, false)) {
    throw error({status::invalid_value, 0, "graph_capture::finish", "the capture has already been finished"});
  }
  backend::device& device = stream_.device().backend();
  auto ended = device.end_capture(stream_.handle());
  {
    const std::lock_guard lock(capture_list::get().mutex);
    capture_list::get().by_id.erase({&device, active_->id()});
    detail::captures.fetch_sub(1, std::memory_order_release);
  }
  std::vector<std::shared_ptr<void>> ending;  // destroyed without the lock, because that calls the device
  {
    const std::lock_guard lock(active_->mutex_);
    ending.swap(active_->until_end_);
  }
  const auto handle = value_or_throw(std::move(ended));
  const std::lock_guard lock(active_->mutex_);
  return graph(stream_.device(), handle, std::move(active_->kept_));
}

// --- graph -------------------------------------------------------------------------------------------------

graph::~graph() {
  if (handle_ != backend::graph_handle::null) device_.backend().destroy_graph(handle_);
}

graph::graph(graph&& other) noexcept
    : device_(other.device_),
      handle_(std::exchange(other.handle_, backend::graph_handle::null)),
      kept_(std::move(other.kept_)) {}

graph& graph::operator=(graph&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(kept_, other.kept_);
  return *this;
}

graph_shape graph::shape() const { return value_or_throw(device_.backend().get_shape(handle_)); }

void graph::write_dot(const std::filesystem::path& file, bool verbose) const {
  value_or_throw(device_.backend().write_dot(handle_, file.string(), verbose));
}

// --- graph_exec --------------------------------------------------------------------------------------------

namespace {

/// Destroys `exec` (unless null) and releases the objects that its launches use, once these launches are done.
void let_go(const device_ref& device, backend::graph_exec_handle exec, std::vector<std::shared_ptr<void>> kept,
            const std::optional<stream_ref>& last) noexcept {
  const bool waits = !kept.empty() && last;
  const bool destroys = exec != backend::graph_exec_handle::null;
  const stream_ref stream = last ? *last : stream_ref(device);
  if (waits) wait_beside_captures(stream);
  auto work = [device, exec, waits, destroys, kept = std::move(kept), stream] {
    if (waits) (void)stream.device().backend().sync_stream(stream.handle());
    if (destroys) device.backend().destroy_exec(exec);
  };
  // Destroying and waiting would both fail during a capture, and break it.
  if (destroys) return past_capture(device, put_off::until_capture_ends, std::move(work));
  if (waits) past_capture(stream, put_off::until_capture_ends, std::move(work));
}

}  // namespace

graph_exec::graph_exec(const graph& source, graph_exec_options options)
    : device_(source.device()),
      handle_(value_or_throw(device_.backend().instantiate(source.handle(), options))),
      kept_(source.kept_) {}

graph_exec::~graph_exec() {
  if (handle_ == backend::graph_exec_handle::null) return;
  let_go(device_, handle_, std::move(kept_), last_);
}

graph_exec::graph_exec(graph_exec&& other) noexcept
    : device_(other.device_),
      handle_(std::exchange(other.handle_, backend::graph_exec_handle::null)),
      kept_(std::move(other.kept_)),
      last_(std::move(other.last_)) {}

graph_exec& graph_exec::operator=(graph_exec&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(kept_, other.kept_);
  std::swap(last_, other.last_);
  return *this;
}

void graph_exec::launch(const stream_ref& stream) {
  // The driver would also reject the launch, but break the capture.
  if (find_capture(stream)) {
    throw error({status::not_permitted, 0, "graph_exec::launch",
                 "the stream is being captured; use graph_capture::add_child to add a graph as a node"});
  }
  auto done = device_.backend().launch_exec(handle_, stream.handle());
  if (!done && done.error().code == status::out_of_memory) {
    throw out_of_memory(std::move(done.error()), {.device = device_.id(), .stream = stream.get()});
  }
  value_or_throw(std::move(done));
  if (!last_ || !(*last_ == stream)) last_ = stream;
}

void graph_exec::upload(const stream_ref& stream) const {
  value_or_throw(device_.backend().upload_exec(handle_, stream.handle()));
}

void graph_exec::update(const graph& source) {
  value_or_throw(device_.backend().update_exec(handle_, source.handle()));
  let_go(device_, backend::graph_exec_handle::null, std::exchange(kept_, source.kept_), last_);
}

}  // namespace sluice::runtime
