#include "instrumentation/writer/session/client_list.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "instrumentation/ring/process_identity.hpp"

namespace sluice::writer {

using namespace trace;

namespace {
/// Size limits per turn and per ring, because the data stays in memory until the next turn has written it.
constexpr std::size_t max_of_turn = std::size_t{64} << 20;
constexpr std::size_t max_of_ring = std::size_t{16} << 20;
/// Each ring is one memory mapping; Linux allows a process 65,530 mappings.
constexpr std::size_t max_rings = std::size_t{1} << 15;
constexpr std::size_t max_clients = std::size_t{1} << 14;
/// The number of turns after which all waiting records of an ended process have been written.
constexpr int turns_until_forgotten = static_cast<int>(turn_clock::max_turns) + 4;

/// The number of descriptors for watching processes: half of those that this process may open.
std::size_t max_watched() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur / 2) : 512;
}

const char* describe(ring::no_ring_reason why) {
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

}  // namespace

// --------------------------------------------------------------------------------------------------------- processes

void client_list::add_command(std::uint64_t pid, const std::string& command) {
  // A short process may have sent data, and even ended, before this request.
  const bool known = std::any_of(clients_.begin(), clients_.end(), [&](const client& c) { return c.pid == pid; });
  if (known) return;
  ring::ring_identity ours{};
  ring::fill_identity(ours, -1);
  producer_identity identity;
  identity.pid = pid;
  identity.host = ours.host;
  identity.boot_id = ours.boot_id;
  identity.command = command;
  clients_.emplace_back(pid, identity, rows_.add_process(identity, pid), watch(pid));
}

void client_list::set_exit_status(std::uint64_t pid, int status) {
  const auto exited = std::find_if(clients_.rbegin(), clients_.rend(), [&](const client& c) { return c.pid == pid; });
  if (exited == clients_.rend()) return;
  process_row& row = exited->process->names.row;
  row.exit_status = status;
  row.end = rows_.now();
  rows_.update(*exited->process);
}

recorded_process& client_list::find_or_add_process(const producer_identity& identity, std::uint64_t pid) {
  client* silent = nullptr;
  for (client& c : clients_) {
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
    rows_.identify(*silent->process, identity);
    return *silent->process;
  }
  // A different program with the same pid: after an exec, or because the pid was reused.
  for (client& c : clients_) {
    if (c.pid == pid && !c.ended) end(c);
  }
  clients_.emplace_back(pid, identity, rows_.add_process(identity, pid), watch(pid));
  return *clients_.back().process;
}

recorded_process* client_list::find_process(std::uint64_t pid) {
  const auto known = std::find_if(clients_.rbegin(), clients_.rend(), [&](const client& c) { return c.pid == pid; });
  return known == clients_.rend() ? nullptr : known->process;
}

process_watch client_list::watch(std::uint64_t pid) const {
  const auto watched =
      std::count_if(clients_.begin(), clients_.end(), [](const client& c) { return c.watch.has_descriptor(); });
  return process_watch(pid, static_cast<std::size_t>(watched) < max_watched());
}

void client_list::take_notes() {
  for (const loss_note& note : sockets_.notes()) {
    ++noted_;
    const auto known =
        std::find_if(clients_.begin(), clients_.end(), [&](const client& c) { return c.pid == note.pid; });
    producer_identity identity;
    identity.pid = note.pid;
    identity.command = note.program;
    recorded_process& process = known != clients_.end() ? *known->process : rows_.add_process(identity, note.pid);
    rows_.add_unreported_loss(process, note.events, note.memory_events);
    warnings_.add("process " + std::to_string(note.pid) + " (" + note.program + ") could not be recorded: " +
                  describe(note.why) + "; it lost at least " + std::to_string(note.events) + " events, " +
                  std::to_string(note.memory_events) + " of them allocations and frees");
  }
}

std::size_t client_list::notice_ended_processes() {
  std::size_t speaking = 0;
  for (client& c : clients_) {
    if (c.silent_turns == turns_until_forgotten) continue;
    const auto its_own = [&](const auto& ring) { return ring->source.process == c.process; };
    if (c.ended) {
      if (std::any_of(rings_.begin(), rings_.end(), its_own)) continue;
      if (++c.silent_turns == turns_until_forgotten) c.process->forget_past();
      continue;
    }
    if (!c.watch.ended()) {
      if (std::any_of(rings_.begin(), rings_.end(), its_own)) ++speaking;
      continue;
    }
    end(c);
  }
  return speaking;
}

void client_list::end(client& c) {
  c.ended = true;
  c.watch = {};
  for (const auto& ring : rings_) {
    if (ring->source.process == c.process) ring->reader.end();
  }
  process_row& row = c.process->names.row;
  if (row.end != unknown_time) return;
  row.end = rows_.now();
  rows_.update(*c.process);
}

// ------------------------------------------------------------------------------------------------------------- rings

void client_list::accept_rings() {
  std::vector<std::string> complaints;
  for (arrival& a : sockets_.take(complaints)) {
    const bool simulated = a.reader.clock() == ring::clock_kind::simulated_ns;
    if (simulated != simulated_) {
      complaints.push_back("process " + std::to_string(a.pid) +
                           (simulated ? " has a simulated clock and this recording a real one; it is ignored"
                                      : " has a real clock and this recording a simulated one; it is ignored"));
      a.reader.say_gone();
      continue;
    }
    auto ring = std::make_unique<open_ring>(std::move(a.reader));
    const producer_identity& identity = ring->reader.identity();
    if (rings_.size() >= max_rings || clients_.size() >= max_clients) {
      if (turned_away_++ == 0)
        complaints.push_back("too many concurrent processes or threads: events of the others are lost");
      ring->reader.say_gone();
      continue;
    }
    ring->source.process = &find_or_add_process(identity, a.pid != 0 ? a.pid : identity.pid);
    ring->source.clock = ring->reader.clock();
    ring->source.copy = identity.copy;
    rings_.push_back(std::move(ring));
  }
  for (const std::string& complaint : complaints) warnings_.add(complaint);
}

client_list::turn_result client_list::take_turn() {
  turn_result found;
  std::size_t room = max_of_turn;
  const std::size_t count = rings_.size();
  const std::size_t first = count == 0 ? 0 : first_ring_ % count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (first + i) % count;
    if (!take_from(*rings_[at], room, found)) {
      first_ring_ = at;
      break;
    }
  }
  rows_.advance(read_clocks());
  for (const auto& ring : rings_) rows_.take_ringless_loss(ring->source, ring->reader.lost());
  return found;
}

/// Drains one ring. Returns false if this turn has no space left for the ring.
bool client_list::take_from(open_ring& ring, std::size_t& room, turn_result& found) {
  if (room < ring::maximum_record_bytes) {
    found.more = true;
    return false;
  }
  // Checked before draining, so that everything written before the close is drained.
  const bool closing = ring.reader.closed();
  if (!ring.source.broken) {
    const auto drained = rows_.take(ring.source, ring.reader, std::min(room, max_of_ring));
    if (!drained) {
      ring.source.broken = true;
      warnings_.add("a ring of process " + std::to_string(ring.source.process->names.row.pid) +
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

void client_list::take_all() {
  std::size_t turns = 1;
  for (const auto& ring : rings_) turns += ring->reader.capacity() / max_of_ring + 1;
  while (take_turn().more && --turns != 0) {
  }
}

void client_list::drop_closed_rings(bool every_ring) {
  const auto gone = std::stable_partition(rings_.begin(), rings_.end(),
                                          [&](const auto& ring) { return !every_ring && !ring->closing; });
  std::for_each(gone, rings_.end(), [&](const auto& ring) {
    rows_.take_unreported_loss(ring->source, ring->reader.lost());
    rows_.take_ringless_loss(ring->source, ring->reader.lost());
    ring->reader.say_gone();
  });
  rings_.erase(gone, rings_.end());
}

void client_list::say_gone() {
  for (const auto& ring : rings_) ring->reader.say_gone();
}

void client_list::disconnect() {
  say_gone();
  rings_.clear();
}

}  // namespace sluice::writer
