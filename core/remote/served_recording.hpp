#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/remote/frames.hpp"
#include "core/trace/file/byte_source.hpp"

namespace sluice::remote {

/// The files of a recording that one peer (a connected process) may read: the file at the recording's path, and earlier
/// files that it replaced. Takes the peer's requests and returns the replies. Never writes to the files. Not
/// thread-safe.
class served_recording {
 public:
  /// `path` need not exist yet.
  explicit served_recording(std::string path) : path_(std::move(path)) {}
  /// Serves a file that is open, and the files that replace it.
  explicit served_recording(std::shared_ptr<trace::byte_source> first);
  served_recording(const served_recording&) = delete;
  served_recording& operator=(const served_recording&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Call when the file at the path is complete and will not be replaced.
  void end() { ended_ = true; }

  /// Appends the reply to `request` to `out`. An error of the file becomes a `failure` reply. Returns false if
  /// `request` does not request bytes or sizes of the recording.
  bool reply(const frame& request, std::vector<std::byte>& out);
  /// True if the recording was complete when the peer read the newest file to its end.
  [[nodiscard]] bool has_all() const { return has_all_; }

 private:
  struct open_file {
    std::uint64_t generation = 0;
    std::shared_ptr<trace::byte_source> bytes;
    std::uint64_t read_to = 0;  ///< The end of the last range that the peer read.
  };
  [[nodiscard]] result<extent_message> poll(std::uint64_t generation);
  void reply_with_bytes(const frame& request, std::vector<std::byte>& out);
  void follow_path();
  /// Sets `has_all_` if the peer has read all of the recording.
  void note_rest(const open_file& file);
  [[nodiscard]] open_file* find(std::uint64_t generation);

  const std::string path_;
  /// The newest file and the two before it, which a peer may still read. In ring mode, each file replaces the previous
  /// one.
  std::array<open_file, 3> files_{};
  std::uint64_t newest_ = 0;
  bool ended_ = false;
  bool has_all_ = false;
};

}  // namespace sluice::remote
