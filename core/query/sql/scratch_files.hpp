#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace sluice::query {

/// Limits the size of the temporary files in which SQLite sorts and groups, per database. It is a SQLite file system
/// (VFS) that forwards to the default one and counts. A write beyond the limit fails as on a full disk.
class scratch_limit {
 public:
  scratch_limit();
  ~scratch_limit();
  scratch_limit(const scratch_limit&) = delete;
  scratch_limit& operator=(const scratch_limit&) = delete;

  void set(std::size_t bytes);
  /// The VFS name to open a database with.
  [[nodiscard]] const char* vfs() const;
  /// True if a write failed because of the limit since `reset`.
  [[nodiscard]] bool exceeded() const;
  void reset();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::query
