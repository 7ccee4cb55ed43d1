#include "instrumentation/writer/session/session.hpp"

#include <algorithm>
#include <future>
#include <system_error>

#include "instrumentation/ring/producer_state.hpp"
#include "instrumentation/writer/session/session_state.hpp"

namespace sluice::writer {

session::state::state(trace::file_writer f, listener l, const session_options& o, const clock_anchor& start)
    : file(std::move(f)),
      sockets(std::move(l)),
      options(o),
      rows(file, start,
           {.simulated = o.simulated,
            .checkpoint_every = o.checkpoint_every,
            .ring_bytes = o.delayed ? ring_before_begin : o.ring_bytes,
            .notice_failures = o.dump_on_failure,
            .max_device_bytes = o.dump_above_bytes}),
      warnings(rows),
      clients(rows, sockets, warnings, o.simulated),
      sampling(rows, clients, warnings, o.simulated ? 0 : o.sampling_hz),
      dumps(file, rows, warnings),
      disk(file, rows, warnings),
      ahead({.min_events = o.reorder_from, .events_a_round = std::min<std::uint64_t>(o.reorder_from, 250'000)}) {}

result<session> session::start(const std::string& path, const session_options& options) {
  auto sockets = listener::open();
  if (!sockets) return tl::unexpected<error>(sockets.error());
  const clock_anchor start = read_clocks();
  auto file = trace::file_writer::create_claimed(path, {.simulated = options.simulated,
                                                        .realtime_origin = options.simulated ? 0 : start.realtime,
                                                        .recorded_here = true,
                                                        .outlives_failures = true,
                                                        .replaces = options.replaces});
  if (!file) return tl::unexpected<error>(file.error());
  auto s = std::make_unique<state>(std::move(*file), std::move(*sockets), options, start);
  if (s->requests.descriptor() < 0) {
    s->file.discard();
    return fail(error_code::unavailable, "no descriptor left for the recording");
  }
  // Signals are for the program's own threads. The new thread inherits the blocked mask.
  const ring::detail::signals_held hold;
  std::promise<bool> begins;
  try {
    s->thread = std::thread([raw = s.get(), begun = begins.get_future()]() mutable {
      if (begun.get()) raw->run();
    });
  } catch (const std::system_error& refused) {
    s->file.discard();
    return fail(error_code::unavailable,
                "cannot start the thread that writes the recording: " + describe_errno(refused.code().value()), path,
                "allow more processes and threads (ulimit -u)");
  }
  // Publish last, so that an existing file is kept if the recording cannot begin.
  const auto published = options.publish_later ? result<void>{} : s->file.publish();
  begins.set_value(published.has_value());
  if (!published) {
    s->thread.join();
    s->file.discard();
    return tl::unexpected<error>(published.error());
  }
  return session(std::move(s));
}

session::session(std::unique_ptr<state> s) : state_(std::move(s)) {}
session::session(session&&) noexcept = default;

session& session::operator=(session&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

session::~session() {
  if (state_ && state_->thread.joinable()) static_cast<void>(stop());
}

const std::string& session::socket_name() const { return state_->sockets.name(); }

void session::add_process(std::uint64_t pid, std::string_view command) {
  state_->requests.add({session_request::action::add_process, pid, 0, std::string(command)});
}

void session::process_exited(std::uint64_t pid, int status) {
  state_->requests.add({session_request::action::process_exited, pid, status, {}});
}

void session::publish() { state_->requests.ask_to_publish(); }

void session::begin_now() { state_->requests.add({session_request::action::begin_now, 0, 0, {}}); }

void session::dump(std::string_view reason) {
  state_->requests.add({session_request::action::dump, 0, 0, std::string(reason)});
}

void session::warn(std::string_view text) {
  state_->requests.add({session_request::action::warn, 0, 0, std::string(text)});
}

std::size_t session::live_processes() const { return state_->requests.live_processes(); }

result<void> session::sync() { return state_->requests.sync(); }

bool session::stops_within(std::chrono::milliseconds time) { return state_->requests.stops_within(time); }

void session::cut_short() { state_->requests.cut_short(); }

result<session_summary> session::stop() {
  if (!state_->thread.joinable()) return fail(error_code::invalid_argument, "the recording has already been stopped");
  state_->requests.stop();
  state_->thread.join();
  state& s = *state_;
  if (s.requests.publish_asked()) s.publish();  // If the thread ended early, it may not have published the file.
  if (const auto failure = s.requests.failure()) return tl::unexpected<error>(*failure);
  session_summary summary;
  summary.path = s.file.path();
  summary.discarded = s.discarded;
  summary.dumps = s.dumps.failure_dumps();
  summary.bytes = s.file.bytes_written();
  summary.events = s.file.events() - s.disk.losses().rows();
  summary.device_events = s.rows.device_events();
  summary.lost_events = s.rows.lost_events();
  summary.lost_memory_events = s.rows.lost_memory_events();
  summary.processes = s.rows.processes_heard();
  summary.unheard_processes = s.clients.unheard() + s.sockets.turned_away();
  summary.warnings = s.warnings.texts();
  return summary;
}

}  // namespace sluice::writer
