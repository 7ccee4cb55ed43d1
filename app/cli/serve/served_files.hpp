#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/regular_file.hpp"
#include "core/trace/file/byte_source.hpp"

namespace sluice::cli::serve {

/// One file that a recording has been in. When a recording ends, a new file with its summaries takes the old one's
/// place; who reads the old one must not get bytes of both.
struct file_version {
  std::string id;  ///< Tells the versions of all files apart. Letters, digits and "-".
  std::shared_ptr<trace::byte_source> source;
};

/// The files that clients read, each with its latest versions.
class served_files {
 public:
  using opener = std::function<result<regular_file>()>;
  using judge = bool (*)(const regular_file&);

  /// The newest version of the file `key`. `open`: opens what is there now. `may_be_served` is asked once for each file
  /// that is found there. Errors: those of `open`; foreign, for what may not be served.
  [[nodiscard]] result<file_version> newest(const std::string& key, const opener& open, judge may_be_served);
  /// The newest version of a recording that another process sends; `first` if it is asked for the first time.
  [[nodiscard]] file_version newest_live(const std::string& key, const std::shared_ptr<trace::byte_source>& first);
  /// A version that was the newest once; without a source if it is not kept any more.
  [[nodiscard]] file_version find(const std::string& key, std::string_view id) const;

 private:
  /// Files, and versions of each, that are kept open.
  static constexpr std::size_t most_files = 64, most_versions = 4;

  struct kept {
    std::string key;
    std::vector<file_version> versions;  ///< The newest is the last.
  };
  kept& kept_of(const std::string& key);
  static file_version add(kept& to, file_version newest);

  std::list<kept> all_;  ///< The last used is the first.
  std::uint64_t live_versions_ = 0;
};

}  // namespace sluice::cli::serve
