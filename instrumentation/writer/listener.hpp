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

/// A descriptor that is closed when its owner goes.
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

/// A ring that has arrived.
struct arrival {
  ring_reader reader;
  std::uint64_t pid = 0;  ///< As the kernel says, in our own numbering; 0: of a pid namespace that we cannot see.
};

/// What a client's first message is.
enum class greeting : std::uint8_t { stranger, nonsense, known };
/// `message` as it came, `secret` as `SLUICE_SOCKET` says. Takes as long whatever of the secret is wrong.
[[nodiscard]] greeting check_greeting(std::span<const std::byte> message,
                                      std::span<const unsigned char, secret_bytes> secret);

/// What a process left that could not send a ring.
struct loss_note {
  no_ring_reason why = no_ring_reason::refused;
  std::uint64_t pid = 0;  ///< As the process sees itself.
  std::uint64_t events = 0, memory_events = 0;
  std::string program;
};
/// The target of a note's link. Nothing if it makes no sense.
[[nodiscard]] std::optional<loss_note> parse_note(std::string_view text);

/// The sockets that recorded processes send rings to: one in the abstract namespace, which no file system and no chroot can hide,
/// and one in a private folder, which no network namespace can. Never waits; nothing that a client does makes it fail. Clients
/// without the secret are turned away and counted. Not thread-safe.
class listener {
 public:
  /// Listens under new names. Errors: unavailable.
  [[nodiscard]] static result<listener> open();

  /// What `SLUICE_SOCKET` must say.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Readable when `take` has something to do. -1: no such socket.
  [[nodiscard]] std::array<int, 2> descriptors() const { return {private_socket_.get(), public_socket_.get()}; }

  /// What has arrived, so much at once that a crowd cannot keep the caller. What made no sense is described in `complaints`:
  /// strangers once in all, others once a client.
  [[nodiscard]] std::vector<arrival> take(std::vector<std::string>& complaints);

  /// What processes said that could not send a ring; so many at most.
  [[nodiscard]] std::vector<loss_note> notes() const;

  /// Clients that had the secret and could not be heard.
  [[nodiscard]] std::uint64_t turned_away() const { return turned_away_; }

  /// Nobody can connect any more.
  void close();

 private:
  listener() = default;
  void accept_from(const unique_descriptor& socket, std::vector<std::string>& complaints);
  bool accept_one(const unique_descriptor& socket, std::vector<std::string>& complaints);
  void hear(unique_descriptor client, std::vector<arrival>& arrivals, std::vector<std::string>& complaints);

  std::array<unsigned char, secret_bytes> secret_{};
  unique_descriptor public_socket_, private_socket_;
  unique_descriptor spare_;  ///< Given up for a moment to turn a client away where no other descriptor is left.
  std::unique_ptr<private_folder> folder_;
  std::string name_;
  std::vector<unique_descriptor> silent_;  ///< Connected, but have not spoken yet.
  std::uint64_t turned_away_ = 0;
  bool strangers_met_ = false;
  bool descriptors_spent_ = false;
};

/// Watches whether a process lives. The kernel's process descriptor is immune to a reused pid; without one its number has to do.
/// Pid 0 counts as living until somebody says otherwise.
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
