#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/system/unique_descriptor.hpp"
#include "instrumentation/ring/protocol.hpp"
#include "instrumentation/writer/private_folder.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"

namespace sluice::writer {

/// A ring that a client sent.
struct arrival {
  ring_reader reader;
  std::uint64_t pid = 0;  ///< The sender's pid in our pid namespace, from the kernel; 0: not visible there.
};

/// Classification of a client's first message. `stranger`: without the secret; `nonsense`: with the secret, but
/// malformed; `known`: valid.
enum class greeting : std::uint8_t { stranger, nonsense, known };
/// Checks a received message against the secret in `SLUICE_SOCKET`. Takes constant time, wherever the secret differs.
[[nodiscard]] greeting check_greeting(std::span<const std::byte> message,
                                      std::span<const unsigned char, ring::secret_bytes> secret);

/// The note (see `note_prefix`) of a process that could not send a ring.
struct loss_note {
  ring::no_ring_reason why = ring::no_ring_reason::refused;
  std::uint64_t pid = 0;  ///< As seen by the process.
  std::uint64_t events = 0, memory_events = 0;
  std::string program;
};
/// Parses the target of a note's link; nullopt if `text` is invalid.
[[nodiscard]] std::optional<loss_note> parse_note(std::string_view text);

/// The sockets to which recorded processes send rings. One socket is in the abstract namespace, so no file system or
/// chroot hides it; the other is in a private folder, so no network namespace hides it. Never blocks; no action of a
/// client makes the listener fail. Clients without the secret are rejected. Not thread-safe.
class listener {
 public:
  /// Opens sockets with new names. Errors: unavailable.
  [[nodiscard]] static result<listener> open();

  /// The value for `SLUICE_SOCKET`.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The sockets' descriptors, which become readable when `take` has something to do; -1 if there is no such socket.
  [[nodiscard]] std::array<int, 2> descriptors() const { return {private_socket_.get(), public_socket_.get()}; }

  /// Returns the rings that have arrived. The number per call is limited, so that the caller is not blocked for long.
  /// Adds descriptions of invalid messages to `complaints`: a single one for all clients without the secret, and one
  /// for each other rejected client.
  [[nodiscard]] std::vector<arrival> take(std::vector<std::string>& complaints);

  /// The notes of processes that could not send a ring, up to a maximum number.
  [[nodiscard]] std::vector<loss_note> notes() const;

  /// The number of rejected clients, except clients without the secret: no descriptor was left, or the message or ring
  /// was invalid.
  [[nodiscard]] std::uint64_t turned_away() const { return turned_away_; }

  /// Closes the sockets: no more clients can connect.
  void close();

 private:
  listener() = default;
  void accept_from(const unique_descriptor& socket, std::vector<std::string>& complaints);
  bool accept_one(const unique_descriptor& socket, std::vector<std::string>& complaints);
  void hear(unique_descriptor client, std::vector<arrival>& arrivals, std::vector<std::string>& complaints);

  std::array<unsigned char, ring::secret_bytes> secret_{};
  unique_descriptor public_socket_, private_socket_;
  unique_descriptor spare_;  ///< Closed briefly to reject a client when no other descriptor is left.
  std::unique_ptr<private_folder> folder_;
  std::string name_;
  std::vector<unique_descriptor> silent_;  ///< Connected clients that have not sent a message yet.
  std::uint64_t turned_away_ = 0;
  bool strangers_met_ = false;
  bool descriptors_spent_ = false;
};

/// Checks whether a process is alive. Uses a process descriptor (pidfd), which is safe against pid
/// reuse, or the pid if the kernel does not provide a descriptor. Pid 0 always counts as alive.
class process_watch {
 public:
  process_watch() = default;
  process_watch(std::uint64_t pid, bool with_descriptor);
  [[nodiscard]] bool has_descriptor() const { return static_cast<bool>(handle_); }
  [[nodiscard]] bool ended() const;

 private:
  std::uint64_t pid_ = 0;
  unique_descriptor handle_;
};

}  // namespace sluice::writer
