#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "instrumentation/collector/ring_reader.hpp"

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

/// The socket that recorded processes send rings to. Never waits; nothing that a client does makes it fail. Clients of
/// another user are turned away. Not thread-safe.
class listener {
 public:
  /// Listens under a new name in the abstract namespace, which no file system and no chroot can hide. Errors: unavailable.
  [[nodiscard]] static result<listener> open();

  /// What `SLUICE_SOCKET` must say.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Readable when `take` has something to do.
  [[nodiscard]] int descriptor() const { return socket_.get(); }

  /// Everything that has arrived. What made no sense is described in `complaints`, once a client.
  [[nodiscard]] std::vector<arrival> take(std::vector<std::string>& complaints);

 private:
  listener(unique_descriptor socket, std::string name) : socket_(std::move(socket)), name_(std::move(name)) {}

  unique_descriptor socket_;
  std::string name_;
  std::vector<unique_descriptor> silent_;  ///< Connected, but have not spoken yet.
};

/// Watches whether a process lives. The kernel's process descriptor is immune to a reused pid; where there is none, pid 0
/// included, the process counts as living until somebody says otherwise.
class process_watch {
 public:
  explicit process_watch(std::uint64_t pid);
  [[nodiscard]] bool ended() const;

 private:
  std::uint64_t pid_;
  unique_descriptor handle_;
};

}  // namespace sluice::collector
