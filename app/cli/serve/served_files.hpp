#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/files/regular_file.hpp"
#include "core/trace/file/byte_source.hpp"

namespace sluice::cli::serve {

/// One of the files in which a recording was stored. When a recording ends, a new file that includes summaries replaces
/// the old one; a client that reads the old file must not get bytes of both.
struct file_version {
  std::string id;  ///< Unique among the versions of all files. Consists of letters, digits and "-".
  std::shared_ptr<trace::byte_source> source;
};

/// The files that clients read, each with its newest versions.
class served_files {
 public:
  using opener = std::function<result<regular_file>()>;
  using judge = bool (*)(const regular_file&);

  /// The newest version of the file `key`. `open`: opens the current file. `may_be_served` is called once for each new
  /// file that `open` returns. Errors: those of `open`; foreign if the file may not be served.
  [[nodiscard]] result<file_version> newest(const std::string& key, const opener& open, judge may_be_served);
  /// The newest version of a recording that another process sends. `first`: its version on the first call for `key`.
  [[nodiscard]] file_version newest_live(const std::string& key, const std::shared_ptr<trace::byte_source>& first);
  /// A version that was once the newest; without a source if it is no longer kept.
  [[nodiscard]] file_version find(const std::string& key, std::string_view id) const;

 private:
  /// Limits on what is kept open: the number of files, and of versions of each file.
  static constexpr std::size_t max_files = 64, max_versions = 4;

  struct kept {
    std::string key;
    std::vector<file_version> versions;  ///< The newest is last.
  };
  kept& find_kept(const std::string& key);
  static file_version add(kept& to, file_version newest);

  std::list<kept> all_;  ///< The most recently used is first.
  std::uint64_t live_versions_ = 0;
};

}  // namespace sluice::cli::serve
