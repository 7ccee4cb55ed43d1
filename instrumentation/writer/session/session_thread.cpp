// The work of the writer thread.
#include <poll.h>

#include <algorithm>
#include <array>
#include <exception>
#include <future>
#include <map>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/summary/passes/finalize.hpp"
#include "instrumentation/writer/rings/source_text.hpp"
#include "instrumentation/writer/session/recovery.hpp"
#include "instrumentation/writer/session/session_state.hpp"

namespace sluice::writer {

using namespace trace;

namespace {
constexpr std::chrono::milliseconds idle_period{200};  // A new ring or a request ends the wait early.

/// Describes losses that could not be recorded in the file.
std::string describe_unwritten(const dropped_rows& lost) {
  dropped_rows::count total;
  for (const auto& [process, each] : lost.processes()) {
    total.events += each.events;
    total.memory_events += each.memory_events;
  }
  return "the file could not be made to say that " + format_some(total.events, "event") + " (" +
         format_count(total.memory_events) + " allocations and frees) are lost";
}
}  // namespace

void session::state::run() {
  try {
    record();
    end_file();
  } catch (const std::bad_alloc&) {
    end_early("the recorder has no memory left");
  } catch (const std::exception& e) {
    end_early(e.what());
  }
  requests.end();
}

void session::state::record() {
  bool filling = false;
  bool last = false;
  while (!last) {
    const std::array<int, 2> addresses = sockets.descriptors();
    pollfd waiting[3] = {{requests.descriptor(), POLLIN, 0}, {addresses[0], POLLIN, 0}, {addresses[1], POLLIN, 0}};
    // If a ring fills quickly, empty it again soon; a half-full ring wakes us. Without rings, wait longer.
    const auto period = filling                ? std::chrono::milliseconds(1)
                        : !clients.has_rings() ? idle_period
                                               : options.drain_period;
    ::poll(waiting, std::size(waiting), static_cast<int>(period.count()));
    last = requests.is_stopping();
    const session_requests::asked asked = requests.take();
    for (const session_request& request : asked.requests) serve(request);
    clients.accept_rings();
    if (last) clients.say_gone();
    sampling.take_turn();
    const client_list::turn_result turn = clients.take_turn();
    filling = turn.filling || turn.more;
    const bool complete = asked.sync != 0 || !dump_asked.empty();
    if ((last || complete) && turn.more) clients.take_all();
    if (complete) {
      clients.take_turn();  // Writes the records that the previous turn took.
      rows.settle(true);
    }
    if (!dump_asked.empty()) dumps.write(std::exchange(dump_asked, {}));
    clients.drop_closed_rings(last);
    notice_failures();
    dumps.save_failure();
    disk.keep_limit();
    dumps.consider();
    requests.set_live_processes(clients.notice_ended_processes());
    const auto now = std::chrono::steady_clock::now();
    if (asked.sync != 0 || now - last_flush >= options.flush_period) {
      flush();
      last_flush = now;
    }
    if (asked.sync != 0) requests.finish_sync(asked.sync);
  }
}

/// Ends the file, after adding the last data to it. Skips slow steps if `cut_short` was called.
void session::state::end_file() {
  disk.resume();
  clients.take_notes();
  sampling.finish();
  rows.finish(read_clocks());
  if (options.keep_on_failure) {
    notice_failures();
    if (rows.failures().any_open()) dumps.keep_failure();
    if (dumps.has_unsaved_failure()) publish();
  }
  discarded = options.publish_later && !published && !requests.publish_asked();
  if (discarded) return file.discard();
  if (const std::string missing = rows.left_out(); !missing.empty())
    warnings.add("declarations exceeded the memory limit; those left out were (counted per declaration): " + missing);
  disk.resume();
  disk.report_losses();
  if (!requests.hurried()) ask_for_links();
  if (options.sources && !requests.hurried()) {
    const std::string missed = add_sources(file, rows.python_lines());
    if (!missed.empty()) warnings.add(missed);
  }
  const auto left_alone = recover(file);
  if (!left_alone) rows.add_message(severity::warning, left_alone.error().to_string());
  std::optional<error> failure = finalize_file();
  if (!left_alone && !failure) failure = left_alone.error();
  requests.set_failure(std::move(failure));
}

/// Summarizes and closes the file. Returns the error that this has caused, and adds to its hint what was lost.
std::optional<error> session::state::finalize_file() {
  auto ordered = ahead.take();
  const auto closed = summary::finalize(file, {.cancel = &requests.hurried(), .begun = &ordered});
  if (closed) return std::nullopt;
  error failure = closed.error();
  if (file.dropped().own().events != 0) failure.hint += "; " + describe_losses(file.dropped(), failure.code);
  if (!file.says_losses()) failure.hint += "; " + describe_unwritten(file.dropped());
  return failure;
}

/// Ends the recording for lack of memory: disconnects all processes and frees memory first.
/// If there is too little memory even to end the file, the file opens like that of a killed writer.
void session::state::end_early(const char* why) {
  clients.disconnect();
  sampling.abandon();
  sockets.close();
  rows.abandon();
  static_cast<void>(ahead.take());
  try {
    const std::string text = std::string("the recording ended early: ") + why;
    if (!requests.failure()) {
      requests.set_failure(
          error{error_code::unavailable, text, file.path(), error::no_offset, "it holds what came before"});
    }
    rows.add_message(severity::error, text);
    static_cast<void>(file.flush());
    static_cast<void>(summary::finalize(file));
  } catch (const std::exception&) {
    static_cast<void>(file.flush());
  }
}

/// Queries the links between several GPUs if no process reported them (not recorded by CUPTI). The query may take 100
/// ms, or never return if a GPU has fallen off its bus. So a detached thread runs it, and we wait for a limited time.
void session::state::ask_for_links() {
  constexpr std::chrono::seconds longest{2};
  const std::vector<gpu_uuid> gpus = rows.gpus_without_peer_peak();
  if (gpus.size() < 2 || options.management_library.empty()) return;
  using result = std::map<gpu_uuid, std::uint64_t>;
  std::packaged_task<result()> ask(
      [gpus, library = options.management_library] { return nvlink_peaks(gpus, library); });
  std::future<result> answered = ask.get_future();
  try {
    std::thread(std::move(ask)).detach();
  } catch (const std::system_error&) {
    return;  // No thread available: the links stay unknown.
  }
  if (answered.wait_for(longest) != std::future_status::ready) return;
  for (const auto& [gpu, peak] : answered.get()) rows.set_peer_peak(gpu, peak);
}

void session::state::serve(const session_request& r) {
  switch (r.wanted) {
    case session_request::action::add_process:
      return clients.add_command(r.pid, r.text);
    case session_request::action::process_exited:
      return clients.set_exit_status(r.pid, r.status);
    case session_request::action::warn:
      return warnings.add(r.text);
    case session_request::action::begin_now:
      return begin_now();
    case session_request::action::publish:
      return publish();
    case session_request::action::dump:
      dump_asked = r.text;
      return;
  }
}

/// Begins a delayed recording: drops the events so far.
void session::state::begin_now() {
  const auto forgotten = rows.limit().forget_past();
  rows.limit().set_limit(options.ring_bytes);
  begun = true;
  if (!forgotten)
    warnings.add("events before the start of the recording could not be dropped: " + forgotten.error().to_string());
}

void session::state::publish() {
  published = true;
  const auto renamed = file.publish();
  if (renamed) return;
  file.publish_where_it_is();
  warnings.add(renamed.error().to_string() + "; the recording is in " + file.path());
}

void session::state::flush() {
  disk.consider_resuming();
  rows.write_freed();
  const auto flushed = file.flush();
  look_ahead();
  requests.set_failure(flushed ? std::nullopt : std::optional(flushed.error()));
}

/// Starts sorting the file early, unless the file is cut or may be discarded. On a full disk, leaves the space to the
/// recording.
void session::state::look_ahead() {
  if (file.is_stopped()) ahead.give_up();
  const bool cut = options.ring_bytes != 0 || (options.delayed && !begun);
  const bool named = !options.publish_later || published;
  if (!cut && named) ahead.poll(file);
}

/// Publishes a file that is only kept if an allocation failure reaches the program.
void session::state::notice_failures() {
  if (!options.keep_on_failure || !rows.failures().take_reached()) return;
  dumps.keep_failure();
  publish();
}

}  // namespace sluice::writer
