#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "instrumentation/writer/decoder/record_decoder.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"
#include "instrumentation/writer/session/listener.hpp"
#include "instrumentation/writer/session/warning_list.hpp"

namespace sluice::writer {

/// The recorded processes of a session and their rings: accepts rings, drains them turn by turn, and drops those of
/// ended processes. Not thread-safe.
class client_list {
 public:
  /// `simulated`: accept only rings with a simulated clock; otherwise, only rings with a real clock.
  client_list(record_decoder& rows, listener& sockets, warning_list& warnings, bool simulated)
      : rows_(rows), sockets_(sockets), warnings_(warnings), simulated_(simulated) {}

  /// Adds the rings that have arrived at the sockets, and their processes.
  void accept_rings();

  /// Adds a child of this process, which may never send a record.
  void add_command(std::uint64_t pid, const std::string& command);
  /// Stores the exit status of a process. Ignores an unknown process.
  void set_exit_status(std::uint64_t pid, int status);

  /// The process that has or last had this pid; null if it is unknown. O(processes).
  [[nodiscard]] recorded_process* find_process(std::uint64_t pid);
  /// Calls `use(pid, process)` for each process that has not ended.
  template <class Use>
  void for_each_living(Use use) const {
    for (const client& c : clients_) {
      if (!c.ended) use(c.pid, std::as_const(*c.process));
    }
  }

  /// The result of a turn. If a turn reaches its size limit, the remaining data waits for the next turn.
  struct turn_result {
    bool filling = false;  ///< True if a ring is filling quickly.
    bool more = false;     ///< True if some ring still has data.
  };
  /// Drains every ring once, up to the size limit of a turn, and writes the records of the previous turn.
  turn_result take_turn();
  /// Takes everything that was in the rings at the call. Bounded, even if a sender never stops.
  void take_all();
  [[nodiscard]] bool has_rings() const { return !rings_.empty(); }

  /// Adds the losses of processes that had no ring.
  void take_notes();
  /// Drops the rings that have nothing more to read or, with `every_ring`, every ring.
  void drop_closed_rings(bool every_ring);
  /// Handles ended processes: their rings are drained once more in the next turn, and then dropped. A little later, the
  /// memory that only late records would need is freed. Returns the number of living processes with rings.
  std::size_t notice_ended_processes();

  /// Tells all processes that their rings no longer have a reader.
  void say_gone();
  /// Like `say_gone`, and frees the memory of the rings. Records that are still in the rings are lost.
  void disconnect();

  /// The number of processes and rings that had events but no way to send them.
  [[nodiscard]] std::uint64_t unheard() const { return noted_ + turned_away_; }

 private:
  /// An open ring and its source.
  struct open_ring {
    explicit open_ring(ring_reader r) : reader(std::move(r)) {}
    ring_reader reader;
    ring_source source;
    bool closing = false;  ///< True if no new data can arrive: the ring is drained once more and then dropped.
  };
  /// A recorded process, and whether it may still send data.
  struct client {
    client(std::uint64_t number, const producer_identity& identity, recorded_process& p, process_watch w)
        : pid(number), start_time(identity.start_time), image(identity.image), process(&p), watch(std::move(w)) {}

    std::uint64_t pid;
    std::uint64_t start_time;  ///< With `image`, distinguishes processes with the same pid. Both are 0 before a ring.
    std::uint64_t image;
    recorded_process* process;
    process_watch watch;
    bool ended = false;
    int silent_turns = 0;  ///< Number of turns without a ring since the process ended.
  };

  recorded_process& find_or_add_process(const producer_identity& identity, std::uint64_t pid);
  [[nodiscard]] process_watch watch(std::uint64_t pid) const;
  bool take_from(open_ring& ring, std::size_t& room, turn_result& found);
  void end(client& c);

  record_decoder& rows_;
  listener& sockets_;
  warning_list& warnings_;
  bool simulated_;
  std::vector<std::unique_ptr<open_ring>> rings_;
  std::vector<client> clients_;
  std::size_t first_ring_ = 0;     ///< Index of the ring at which the next turn starts, because the last stopped there.
  std::uint64_t turned_away_ = 0;  ///< Number of rings rejected because there were too many.
  std::uint64_t noted_ = 0;        ///< Number of processes that reported having no ring.
};

}  // namespace sluice::writer
