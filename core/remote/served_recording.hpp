#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/remote/frames.hpp"

namespace sluice::remote {

/// What one peer may read of a recording: the file at a path, and files that took its place meanwhile. It only reads.
/// Not thread-safe.
class served_recording {
 public:
  /// `path` need not exist yet.
  explicit served_recording(std::string path) : path_(std::move(path)) {}
  served_recording(const served_recording&) = delete;
  served_recording& operator=(const served_recording&) = delete;
  ~served_recording();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// No file will come to the path any more, and the one that is there stays.
  void end() { ended_ = true; }

  /// Appends the reply to `request` to `out`. Returns false for kinds that are not about bytes of the recording. Errors
  /// of the file are replies as well.
  bool reply(const frame& request, std::vector<std::byte>& out);
  /// True if the peer has asked for the end of the newest file, once that had its end.
  [[nodiscard]] bool has_all() const { return has_all_; }

 private:
  struct open_file {
    std::uint64_t generation = 0;
    int descriptor = -1;
    std::uint64_t read_to = 0;  ///< The end of what the peer read last.
  };
  [[nodiscard]] result<extent_message> look(std::uint64_t generation);
  void reply_with_bytes(const frame& request, std::vector<std::byte>& out);
  void follow_path();
  /// Sees whether the peer has the rest of the recording.
  void note_rest(const open_file& of);
  [[nodiscard]] open_file* find(std::uint64_t generation);

  const std::string path_;
  /// The newest file and those before it, which a peer may still read: in ring mode, files follow one another.
  std::array<open_file, 3> files_{};
  std::uint64_t newest_ = 0;
  bool ended_ = false;
  bool has_all_ = false;
};

}  // namespace sluice::remote
