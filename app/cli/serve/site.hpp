#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/serve/http_server.hpp"
#include "app/cli/serve/recording_list.hpp"
#include "app/cli/serve/served_files.hpp"
#include "app/recordings/overview_reader.hpp"
#include "core/base/error.hpp"

namespace sluice::cli::serve {

/// The window for a browser and the named recordings, for clients that know the token:
///
///   /TOKEN/                       the page, with `page::files`
///   /TOKEN/samples/NAME           the recordings that come with the page
///   /TOKEN/recordings/            the list of the recordings, with verdicts that are computed on another thread
///   /TOKEN/recordings/N/NAME      the file NAME of the N-th word of the command line, counted from 1
///
/// A named file is served whatever it is, even if the path names another file later. For a named folder, the recordings
/// directly in it are served, recognized by their content (`importing::holds_recording`): no other files, no links, no
/// hidden files, no subfolders.
///
/// A recording may grow, and another file may replace it. So a response about a recording names the file it is about in
/// `Sluice-Version`, the current file in `Sluice-Newest`, and in `Sluice-Growing` (1 or 0) whether the file still
/// grows. With ?version=ID the response is about that file, as long as it is kept open (served_files.hpp).
class site {
 public:
  /// `named`: paths of files and folders. `live`: sockets of recordings in progress. `page`: the folder of the page.
  /// Errors: not_found, io; foreign for a path that is neither a file nor a folder; those of `remote::follow_live`.
  [[nodiscard]] static result<site> make(const std::vector<std::string>& named, const std::vector<std::string>& live,
                                         std::string page, std::uint16_t port);

  /// The start address: the page with all recordings if only files were named, or the list of recordings if a folder
  /// was named.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] http_response respond(const http_request& request);

 private:
  /// A path from the command line.
  struct place {
    std::string path;
    int folder = -1;                             ///< Descriptor of the folder; -1: `path` is a file.
    std::string name;                            ///< The file's name.
    std::shared_ptr<trace::byte_source> live{};  ///< Recording that another process sends through the socket `path`;
                                                 ///< otherwise null.
  };
  /// The destructor closes the folders.
  struct places : std::vector<place> {
    places() = default;
    places(places&&) noexcept = default;
    places& operator=(places&&) = delete;
    ~places();
  };

  site(places named, std::string page, std::uint16_t port, std::string token);
  [[nodiscard]] http_response page_file(std::string_view name) const;
  [[nodiscard]] http_response sample(std::string_view path, std::string_view range) const;
  [[nodiscard]] http_response recording(std::string_view path, std::string_view version, std::string_view range);
  [[nodiscard]] http_response list();
  [[nodiscard]] std::vector<listed_recording> list_folder(std::size_t number);
  /// `number`: that of the place. `read`: also looks up, or requests, what is in the recording.
  [[nodiscard]] listed_recording describe(std::size_t number, const std::string& name, const regular_file& file,
                                          bool read);

  places places_;
  std::string page_;
  std::string port_;
  std::string token_;
  served_files files_;
  recordings::overview_reader overviews_;  ///< The last member: its thread uses the folders of `places_`.
};

}  // namespace sluice::cli::serve
