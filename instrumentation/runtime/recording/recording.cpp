#include "instrumentation/runtime/recording.hpp"

#include <optional>
#include <vector>

#include "instrumentation/ring/producer.hpp"
#include "instrumentation/runtime/recording/live_sets.hpp"
#include "instrumentation/runtime/state/device_state.hpp"
#include "instrumentation/runtime/state/layer_log.hpp"
#include "instrumentation/writer/session/session.hpp"

namespace sluice::runtime {

namespace {

[[noreturn]] void refuse(const std::string& why) { throw error({status::failed, 0, "recording", why}); }

}  // namespace

struct recording::state {
  explicit state(device_ref d) : device(std::move(d)) {}

  /// The chosen device and all other devices that the process uses. With a simulated clock, only the chosen device.
  [[nodiscard]] std::vector<device_ref> all() const {
    std::vector<device_ref> out{device};
    if (device.backend().clock() != nullptr) return out;
    for (const device_ref& other : devices()) {
      if (!(other == device) && !other.simulated() && other.backend().in_use()) out.push_back(other);
    }
    return out;
  }

  device_ref device;
  std::optional<writer::session> session;
  std::optional<live_set_sender> sender;
};

recording::recording(const std::string& path, const device_ref& device) : state_(std::make_unique<state>(device)) {
  if (ring::active()) refuse("this process is already being recorded");
  backend::simulated_clock* clock = device.backend().clock();
  auto session = writer::session::start(path, {.simulated = clock != nullptr, .publish_later = true});
  if (!session) refuse(session.error().to_string());
  ring::producer_options options;
  if (clock) {
    options.clock = ring::clock_kind::simulated_ns;
    // A simulated second passes within milliseconds. Rings that hold all its events keep runs identical.
    options.ring_bytes = std::size_t{8} << 20;
  }
  layer_log::recording_comes();
  if (!ring::start(session->socket_name().c_str(), options)) {
    (void)session->stop();
    refuse("the recorder's socket did not respond");
  }
  session->publish();
  (void)session->sync();  // From here on, the file can be read.
  state_->session = std::move(*session);
  layer_log::use_clock(clock);
  const auto whole = state_->all();
  for (const device_ref& d : whole) d.backend().recording_begins(state_->session->socket_name());
  layer_log::recording_is_here();
  for (const device_ref& d : whole) d.state()->announce();
  state_->sender.emplace();
}

recording::~recording() {
  try {
    finish();
  } catch (const error&) {
    // A destructor cannot report errors; call finish() to see them.
  }
}

recording_summary recording::finish() {
  if (!state_->session) return {};
  // Ignore errors of a failed device, so that the file is still closed.
  const auto whole = state_->all();
  for (const device_ref& d : whole) (void)d.backend().synchronize();
  for (const device_ref& d : whole) d.backend().recording_ends();
  state_->sender.reset();
  ring::stop();
  layer_log::use_clock(nullptr);
  auto done = state_->session->stop();
  state_->session.reset();
  if (!done) refuse(done.error().to_string());
  return {done->path, done->bytes, done->events, done->lost_events, done->warnings};
}

}  // namespace sluice::runtime
