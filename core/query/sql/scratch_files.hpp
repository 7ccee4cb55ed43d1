#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace sluice::query {

/// Limits the total size of the temporary files in which SQLite sorts and groups, for one database. It is a SQLite file
/// system (VFS) that counts bytes and forwards each call to the default VFS. A write beyond the limit fails like a
/// write to a full disk.
class scratch_limit {
 public:
  scratch_limit();
  ~scratch_limit();
  scratch_limit(const scratch_limit&) = delete;
  scratch_limit& operator=(const scratch_limit&) = delete;

  void set(std::size_t bytes);
  /// The name of the VFS with which to open the database.
  [[nodiscard]] const char* vfs() const;
  /// True if a write has failed because of the limit since the last `reset`.
  [[nodiscard]] bool exceeded() const;
  void reset();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::query
