#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace sluice::query {

/// Bounds what SQLite writes into the temporary files of one database, in which it sorts and groups: a file system of SQLite's
/// that hands everything on to the default one, and counts. A write beyond the limit fails as on a full disk.
class scratch_limit {
 public:
  scratch_limit();
  ~scratch_limit();
  scratch_limit(const scratch_limit&) = delete;
  scratch_limit& operator=(const scratch_limit&) = delete;

  void set(std::size_t bytes);
  /// The name to open a database with.
  [[nodiscard]] const char* vfs() const;
  /// A write has failed for the limit since `reset`.
  [[nodiscard]] bool exceeded() const;
  void reset();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::query
