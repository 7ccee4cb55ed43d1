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
#include "instrumentation/ring/protocol.hpp"
#include "instrumentation/writer/private_folder.hpp"
#include "instrumentation/writer/ring_reader.hpp"

namespace sluice::collector {

/// A file descriptor that is closed with its owner.
class unique_descriptor {
 public:
  unique_descriptor() = default;
  explicit unique_descriptor(int number) : number_(number) {}
  unique_descriptor(unique_descriptor&& other) noexcept : number_(other.release()) {}
  unique_descriptor& operator=(unique_descriptor&& other) noexcept;
  ~unique_descriptor();

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
  int release();

 private:
  int number_ = -1;
};

/// A ring that a client sent.
struct arrival {
  ring_reader reader;
  std::uint64_t pid = 0;  ///< From the kernel, in our pid namespace; 0: not visible from it.
};

/// Classification of a client's first message: without the secret, with the secret but malformed, or valid.
enum class greeting : std::uint8_t { stranger, nonsense, known };
/// Checks a received message against the secret in `SLUICE_SOCKET`. Takes constant time, wherever the secret differs.
[[nodiscard]] greeting check_greeting(std::span<const std::byte> message,
                                      std::span<const unsigned char, secret_bytes> secret);

/// The note (see `note_prefix`) of a process that could not send a ring.
struct loss_note {
  no_ring_reason why = no_ring_reason::refused;
  std::uint64_t pid = 0;  ///< As seen by the process.
  std::uint64_t events = 0, memory_events = 0;
  std::string program;
};
/// Parses the target of a note's link. Empty if it is invalid.
[[nodiscard]] std::optional<loss_note> parse_note(std::string_view text);

/// The sockets to which recorded processes send rings. One is in the abstract namespace, so no file system or
/// chroot hides it; the other is in a private folder, so no network namespace hides it. Never blocks, and
/// nothing a client does makes it fail. Clients without the secret are rejected and counted. Not thread-safe.
class listener {
 public:
  /// Opens sockets with new names. Errors: unavailable.
  [[nodiscard]] static result<listener> open();

  /// The value for `SLUICE_SOCKET`.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The sockets' descriptors, readable when `take` has something to do. -1: there is no such socket.
  [[nodiscard]] std::array<int, 2> descriptors() const { return {private_socket_.get(), public_socket_.get()}; }

  /// Returns the rings that have arrived, at most so many per call that the caller is not blocked. Invalid
  /// messages are described in `complaints`: one for all clients without the secret, others once per client.
  [[nodiscard]] std::vector<arrival> take(std::vector<std::string>& complaints);

  /// The notes of processes that could not send a ring, up to a maximum number.
  [[nodiscard]] std::vector<loss_note> notes() const;

  /// Rejected clients, except those without the secret: no descriptor was left, or their message or ring was invalid.
  [[nodiscard]] std::uint64_t turned_away() const { return turned_away_; }

  /// Closes the sockets: no more clients can connect.
  void close();

 private:
  listener() = default;
  void accept_from(const unique_descriptor& socket, std::vector<std::string>& complaints);
  bool accept_one(const unique_descriptor& socket, std::vector<std::string>& complaints);
  void hear(unique_descriptor client, std::vector<arrival>& arrivals, std::vector<std::string>& complaints);

  std::array<unsigned char, secret_bytes> secret_{};
  unique_descriptor public_socket_, private_socket_;
  unique_descriptor spare_;  ///< Closed briefly to reject a client when no other descriptor is left.
  std::unique_ptr<private_folder> folder_;
  std::string name_;
  std::vector<unique_descriptor> silent_;  ///< Connected clients that have not sent a message yet.
  std::uint64_t turned_away_ = 0;
  bool strangers_met_ = false;
  bool descriptors_spent_ = false;
};

/// Checks whether a process is alive. Uses the kernel's process descriptor (pidfd),
/// which is safe against pid reuse; without one, the pid. Pid 0 always counts as alive.
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

}  // namespace sluice::collector
