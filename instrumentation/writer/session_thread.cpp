// The work of the writer thread.
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <future>
#include <map>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/format.hpp"
#include "core/summary/passes/finalize.hpp"
#include "instrumentation/ring/process_identity.hpp"
#include "instrumentation/writer/recovery.hpp"
#include "instrumentation/writer/session_state.hpp"
#include "instrumentation/writer/source_text.hpp"

namespace sluice::writer {

using namespace trace;

namespace {
constexpr std::chrono::milliseconds idle_period{200};   // A new ring or a request ends the wait early.
constexpr std::chrono::seconds look_for_room_every{1};  // Time between attempts while the disk is full.
constexpr std::size_t max_warnings = 100;
constexpr int max_dumps = 16;
/// Size limits per turn and per ring, because the data stays in memory until the next turn has written it.
constexpr std::size_t max_of_turn = std::size_t{64} << 20;
constexpr std::size_t max_of_ring = std::size_t{16} << 20;
/// Each ring is one memory mapping; Linux allows a process 65,530 mappings.
constexpr std::size_t max_rings = std::size_t{1} << 15;
constexpr std::size_t max_clients = std::size_t{1} << 14;

/// The number of descriptors for watching processes: half of those that this process may open.
std::size_t max_watched() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur / 2) : 512;
}

const char* words_of(ring::no_ring_reason why) {
  switch (why) {
    case ring::no_ring_reason::descriptors:
      return "it had no descriptor left (ulimit -n)";
    case ring::no_ring_reason::file_limit:
      return "its file size limit is smaller than a ring (ulimit -f)";
    case ring::no_ring_reason::memory:
      return "it had no memory for a ring";
    case ring::no_ring_reason::slots:
      return "it had more concurrent threads than can be recorded";
    case ring::no_ring_reason::refused:
      break;
  }
  return "it could not reach the recorder's sockets (is it in its own namespace or chroot?)";
}

std::string words_of(const dropped_rows& lost, error_code why) {
  return std::string(why == error_code::no_space ? "the disk was full" : "the disk failed") + ": events between " +
         format_moment(lost.begin()) + " and " + format_moment(lost.end()) +
         " are incomplete (lost: " + lost.by_kind() + ")";
}

/// Describes losses that could not be recorded in the file.
std::string untold(const dropped_rows& lost) {
  dropped_rows::count all;
  for (const auto& [process, each] : lost.processes()) {
    all.events += each.events;
    all.memory_events += each.memory_events;
  }
  return "the file could not be made to say that " + format_some(all.events, "event") + " (" +
         format_count(all.memory_events) + " allocations and frees) are lost";
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
  const std::lock_guard lock(mutex);
  sync_done = UINT64_MAX;
  ended = true;
  synced.notify_all();
  over.notify_all();
}

void session::state::record() {
  bool filling = false;
  bool last = false;
  while (!last) {
    const std::array<int, 2> writer_addresses = sockets.descriptors();
    pollfd waiting[3] = {{wake.get(), POLLIN, 0}, {writer_addresses[0], POLLIN, 0}, {writer_addresses[1], POLLIN, 0}};
    // If a ring fills quickly, empty it again soon; a half-full ring wakes us. Without rings, wait longer.
    const auto period = filling ? std::chrono::milliseconds(1) : rings.empty() ? idle_period : options.drain_period;
    ::poll(waiting, std::size(waiting), static_cast<int>(period.count()));
    last = stopping.load(std::memory_order_acquire);
    const std::uint64_t sync_wanted = take_requests();
    welcome_arrivals();
    if (last) {
      for (const auto& ring : rings) ring->reader.say_gone();
    }
    const turned found = turn();
    filling = found.filling || found.more;
    if (last || sync_wanted != 0 || !dump_asked.empty()) {
      if (found.more) take_all();
      if (sync_wanted != 0 || !dump_asked.empty()) {
        turn();  // Writes the records that the previous turn took.
        rows.settle(true);
      }
    }
    if (!dump_asked.empty()) dump(std::exchange(dump_asked, {}));
    drop_closed_rings(last);
    notice_failures();
    save_failure();
    keep_ring();
    consider_dump();
    notice_ended_processes();
    const auto now = std::chrono::steady_clock::now();
    if (sync_wanted != 0 || now - last_flush >= options.flush_period) {
      flush();
      last_flush = now;
    }
    if (sync_wanted != 0) {
      const std::lock_guard lock(mutex);
      sync_done = sync_wanted;
      synced.notify_all();
    }
  }
}

/// Ends the file, after adding the last data to it. Skips slow steps if cut_short was called.
void session::state::end_file() {
  resume();
  take_notes();
  rows.finish(read_clocks());
  if (options.keep_on_failure) {
    notice_failures();
    if (rows.failures().any_open()) failure_unsaved = true;
    if (failure_unsaved) publish();
  }
  discarded = options.publish_later && !published && !publish_asked;
  if (discarded) return file.discard();
  if (const std::string missing = rows.left_out(); !missing.empty())
    add_warning("declarations exceeded the memory limit; those left out were (counted per declaration): " + missing);
  resume();
  say_lost_to_disk();
  if (!hurried) ask_for_links();
  if (options.sources && !hurried) {
    const std::string missed = add_sources(file, rows.python_lines());
    if (!missed.empty()) add_warning(missed);
  }
  const auto left_alone = recover(file);
  if (!left_alone) rows.add_message(severity::warning, left_alone.error().to_string());
  auto ordered = ahead.take();
  const auto closed = summary::finalize(file, {.cancel = &hurried, .begun = &ordered});
  const std::lock_guard lock(mutex);
  failure.reset();
  if (!closed) failure = closed.error();
  if (failure && file.dropped().own().events != 0) failure->hint += "; " + words_of(file.dropped(), failure->code);
  if (failure && !file.says_losses()) failure->hint += "; " + untold(file.dropped());
  if (!left_alone && !failure) failure = left_alone.error();
}

/// Ends the recording for lack of memory: disconnects all processes and frees memory first.
/// If there is too little memory even to end the file, the file opens like that of a killed writer.
void session::state::end_early(const char* why) {
  for (const auto& ring : rings) ring->reader.say_gone();
  rings.clear();
  sockets.close();
  rows.abandon();
  static_cast<void>(ahead.take());
  try {
    const std::string text = std::string("the recording ended early: ") + why;
    {
      const std::lock_guard lock(mutex);
      if (!failure)
        failure = error{error_code::unavailable, text, file.path(), error::no_offset, "it holds what came before"};
    }
    rows.add_message(severity::error, text);
    static_cast<void>(file.flush());
    static_cast<void>(summary::finalize(file));
  } catch (const std::exception&) {
    static_cast<void>(file.flush());
  }
}

/// Takes everything that was in the rings at the call. Bounded, even if a sender never stops.
void session::state::take_all() {
  std::size_t turns = 1;
  for (const auto& ring : rings) turns += ring->reader.capacity() / max_of_ring + 1;
  while (turn().more && --turns != 0) {
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

/// Handles requests. Returns the number of the newest waiting `sync`; 0 if there is none.
std::uint64_t session::state::take_requests() {
  std::uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake.get(), &ignored, sizeof ignored);
  std::vector<session_request> asked;
  std::uint64_t wanted = 0;
  {
    const std::lock_guard lock(mutex);
    asked.swap(requests);
    if (sync_asked != sync_done) wanted = sync_asked;
  }
  for (const session_request& r : asked) serve(r);
  return wanted;
}

void session::state::serve(const session_request& r) {
  switch (r.what) {
    case session_request::kind::add_process:
      add_command(r.pid, r.text);
      return;
    case session_request::kind::warn:
      add_warning(r.text);
      return;
    case session_request::kind::begin_now: {
      const auto forgotten = rows.forget_past();
      rows.set_ring(options.ring_bytes);
      begun = true;
      if (!forgotten)
        add_warning("events before the start of the recording could not be dropped: " + forgotten.error().to_string());
      return;
    }
    case session_request::kind::publish:
      publish();
      return;
    case session_request::kind::dump:
      dump_asked = r.text;
      return;
    case session_request::kind::process_exited:
      const auto exited =
          std::find_if(clients.rbegin(), clients.rend(), [&](const client& c) { return c.pid == r.pid; });
      if (exited == clients.rend()) return;
      process_row& row = exited->process->names.row;
      row.exit_status = r.status;
      row.end = rows.now();
      rows.update(*exited->process);
      return;
  }
}

void session::state::publish() {
  published = true;
  const auto published = file.publish();
  if (published) return;
  file.publish_where_it_is();
  add_warning(published.error().to_string() + "; the recording is in " + file.path());
}

/// Adds a process that may never send a record. Its row is filled in here, by its parent process.
void session::state::add_command(std::uint64_t pid, const std::string& text) {
  // A short process may have sent data, and even ended, before this request.
  const bool known = std::any_of(clients.begin(), clients.end(), [&](const client& c) { return c.pid == pid; });
  if (known) return;
  ring::ring_identity ours{};
  ring::fill_identity(ours, -1);
  producer_identity identity;
  identity.pid = pid;
  identity.host = ours.host;
  identity.boot_id = ours.boot_id;
  identity.command = text;
  clients.emplace_back(pid, identity, rows.add_process(identity, pid), watch(pid));
}

void session::state::welcome_arrivals() {
  std::vector<std::string> complaints;
  for (arrival& a : sockets.take(complaints)) {
    const bool simulated = a.reader.clock() == ring::clock_kind::simulated_ns;
    if (simulated != options.simulated) {
      complaints.push_back("process " + std::to_string(a.pid) +
                           (simulated ? " has a simulated clock and this recording a real one; it is ignored"
                                      : " has a real clock and this recording a simulated one; it is ignored"));
      a.reader.say_gone();
      continue;
    }
    auto ring = std::make_unique<open_ring>(std::move(a.reader));
    const producer_identity& identity = ring->reader.identity();
    if (rings.size() >= max_rings || clients.size() >= max_clients) {
      if (turned_away++ == 0)
        complaints.push_back("too many concurrent processes or threads: events of the others are lost");
      ring->reader.say_gone();
      continue;
    }
    ring->source.process = &process_of(identity, a.pid != 0 ? a.pid : identity.pid);
    ring->source.clock = ring->reader.clock();
    ring->source.copy = identity.copy;
    rings.push_back(std::move(ring));
  }
  for (const std::string& complaint : complaints) add_warning(complaint);
}

recorded_process& session::state::process_of(const producer_identity& identity, std::uint64_t pid) {
  client* silent = nullptr;
  for (client& c : clients) {
    if (c.pid != pid) continue;
    if (c.start_time == identity.start_time && c.image == identity.image) {
      // The process sent this ring before it ended.
      c.silent_turns = 0;
      if (std::exchange(c.ended, false)) c.watch = watch(pid);
      return *c.process;
    }
    // It may have ended already: the end of a short process is noticed before its ring.
    if (c.start_time == 0 && c.image == 0) silent = &c;
  }
  if (silent != nullptr) {
    silent->start_time = identity.start_time;
    silent->image = identity.image;
    rows.identify(*silent->process, identity);
    return *silent->process;
  }
  // A different program with the same pid: after an exec, or because the pid was reused.
  for (client& c : clients) {
    if (c.pid == pid && !c.ended) end(c);
  }
  clients.emplace_back(pid, identity, rows.add_process(identity, pid), watch(pid));
  return *clients.back().process;
}

process_watch session::state::watch(std::uint64_t pid) const {
  const auto watched =
      std::count_if(clients.begin(), clients.end(), [](const client& c) { return c.watch.has_descriptor(); });
  return process_watch(pid, static_cast<std::size_t>(watched) < max_watched());
}

/// Drains every ring once, up to the size limit of a turn.
session::state::turned session::state::turn() {
  turned found;
  std::size_t room = max_of_turn;
  const std::size_t count = rings.size();
  const std::size_t first = count == 0 ? 0 : first_ring % count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (first + i) % count;
    if (!take_from(*rings[at], room, found)) {
      first_ring = at;
      break;
    }
  }
  rows.advance(read_clocks());
  for (const auto& ring : rings) rows.take_ringless_loss(ring->source, ring->reader.lost());
  return found;
}

/// Drains one ring. Returns false if this turn has no space left for the ring.
bool session::state::take_from(open_ring& ring, std::size_t& room, turned& found) {
  if (room < ring::maximum_record_bytes) {
    found.more = true;
    return false;
  }
  // Checked before draining, so that everything written before the close is drained.
  const bool closing = ring.reader.closed();
  if (!ring.source.broken) {
    const auto drained = rows.take(ring.source, ring.reader, std::min(room, max_of_ring));
    if (!drained) {
      ring.source.broken = true;
      add_warning("a ring of process " + std::to_string(ring.source.process->names.row.pid) +
                  " is unusable: " + drained.error().message);
    } else {
      room -= std::min(room, *drained);
      found.filling = found.filling || *drained > ring.reader.capacity() / 4;
      found.more = found.more || ring.reader.has_more();
    }
  }
  ring.closing = ring.closing || ring.source.broken || (closing && !ring.reader.has_more());
  return true;
}

/// Adds the losses of processes that had no ring.
void session::state::take_notes() {
  for (const loss_note& note : sockets.notes()) {
    ++unheard;
    const auto known = std::find_if(clients.begin(), clients.end(), [&](const client& c) { return c.pid == note.pid; });
    producer_identity identity;
    identity.pid = note.pid;
    identity.command = note.program;
    recorded_process& process = known != clients.end() ? *known->process : rows.add_process(identity, note.pid);
    rows.add_unreported_loss(process, note.events, note.memory_events);
    add_warning("process " + std::to_string(note.pid) + " (" + note.program +
                ") could not be recorded: " + words_of(note.why) + "; it lost at least " + std::to_string(note.events) +
                " events, " + std::to_string(note.memory_events) + " of them allocations and frees");
  }
}

void session::state::drop_closed_rings(bool all) {
  const auto gone =
      std::stable_partition(rings.begin(), rings.end(), [&](const auto& ring) { return !all && !ring->closing; });
  std::for_each(gone, rings.end(), [&](const auto& ring) {
    rows.take_unreported_loss(ring->source, ring->reader.lost());
    rows.take_ringless_loss(ring->source, ring->reader.lost());
    ring->reader.say_gone();
  });
  rings.erase(gone, rings.end());
}

/// The number of turns after which all waiting records of an ended process have been written.
constexpr int turns_until_forgotten = static_cast<int>(turn_clock::max_turns) + 4;

/// Handles ended processes: their rings are drained once more in the next turn,
/// then dropped. A little later, data that only late records would need is freed.
void session::state::notice_ended_processes() {
  std::size_t speaking = 0;
  for (client& c : clients) {
    if (c.silent_turns == turns_until_forgotten) continue;
    const auto its_own = [&](const auto& ring) { return ring->source.process == c.process; };
    if (c.ended) {
      if (std::any_of(rings.begin(), rings.end(), its_own)) continue;
      if (++c.silent_turns == turns_until_forgotten) c.process->forget_past();
      continue;
    }
    if (!c.watch.ended()) {
      if (std::any_of(rings.begin(), rings.end(), its_own)) ++speaking;
      continue;
    }
    end(c);
  }
  living.store(speaking, std::memory_order_relaxed);
}

void session::state::end(client& c) {
  c.ended = true;
  c.watch = {};
  for (const auto& ring : rings) {
    if (ring->source.process == c.process) ring->reader.end();
  }
  process_row& row = c.process->names.row;
  if (row.end != unknown_time) return;
  row.end = rows.now();
  rows.update(*c.process);
}

void session::state::flush() {
  if (std::chrono::steady_clock::now() >= next_resume) resume();
  rows.write_freed();
  const auto flushed = file.flush();
  look_ahead();
  const std::lock_guard lock(mutex);
  failure.reset();
  if (!flushed) failure = flushed.error();
}

/// Starts sorting the file early, unless the file is cut or may be discarded. On a full disk, leaves the space to the
/// recording.
void session::state::look_ahead() {
  if (file.is_stopped()) ahead.give_up();
  const bool cut = options.ring_bytes != 0 || (options.delayed && !begun);
  const bool named = !options.publish_later || published;
  if (!cut && named) ahead.poll(file);
}

/// Tries to continue after a failed write.
void session::state::resume() {
  if (!file.is_stopped()) return;
  next_resume = std::chrono::steady_clock::now() + look_for_room_every;
  if (const auto stopped = file.outcome(); !stopped) why_stopped = stopped.error().code;
  const auto lost = file.resume();
  if (!lost) return;
  rows.resume(*lost);
  lost_to_disk.add(*lost);
}

/// Writes the loss as a message for people; the loss rows contain it, too.
void session::state::say_lost_to_disk() {
  if (!lost_to_disk.empty()) add_warning(words_of(lost_to_disk, why_stopped));
}

void session::state::keep_ring() {
  const auto now = std::chrono::steady_clock::now();
  if (ring_failed || file.is_stopped() || now < next_ring) return;
  const auto kept = rows.keep_ring();
  if (kept) return;
  if (kept.error().code == error_code::no_space) {
    next_ring = now + look_for_room_every;
    return;
  }
  ring_failed = true;
  add_warning("the file can no longer be kept to its size limit: " + kept.error().to_string());
}

/// At most one dump per second: a program that runs out of memory retries many times.
void session::state::consider_dump() {
  const std::string reason = rows.take_trigger();
  if (reason.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  if (dumps >= max_dumps || now - last_dump < std::chrono::seconds(1)) return;
  last_dump = now;
  dump(reason);
}

result<std::string> session::state::write_dump() {
  std::string name = file.path();
  if (name.ends_with(".sluice")) name.resize(name.size() - 7);
  name += "-dump" + std::to_string(++dumps) + ".sluice";
  rows.settle(true);
  rows.write_live_set();
  if (const auto written = file.copy_to(name); !written) return tl::unexpected<error>(written.error());
  return name;
}

void session::state::dump(const std::string& reason) {
  const auto written = write_dump();
  add_warning(reason + ": " + (written ? "the recording up to then is in " + *written : written.error().to_string()));
}

void session::state::notice_failures() {
  if (!options.keep_on_failure || !rows.failures().take_reached()) return;
  failure_unsaved = true;
  publish();
}

/// Dumps an unsaved failure before the file is cut: the cut would drop it.
void session::state::save_failure() {
  if (!failure_unsaved || !rows.will_cut()) return;
  failure_unsaved = false;
  if (dumps >= max_dumps) return;
  const auto written = write_dump();
  if (written) {
    failure_dumps.push_back(*written);
  } else {
    add_warning("the recording up to an allocation failure is lost: " + written.error().to_string());
  }
}

void session::state::add_warning(const std::string& text) {
  if (warnings.size() >= max_warnings) return;
  warnings.push_back(text);
  rows.add_message(severity::warning, text);
}

}  // namespace sluice::writer
