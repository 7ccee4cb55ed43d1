#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/serve/http_server.hpp"
#include "app/cli/serve/served_files.hpp"
#include "core/base/error.hpp"

namespace sluice::cli::serve {

/// The window for a browser and the named recordings, for who knows the token:
///
///   /TOKEN/                       the page, with `page::files`
///   /TOKEN/samples/NAME           the recordings that come with the page
///   /TOKEN/recordings/            the list of the recordings
///   /TOKEN/recordings/N/NAME      the file NAME of the N-th word of the command line, counted from 1
///
/// A named file is served whatever it is, also if the path names another file later. Of a named folder, the recordings
/// directly in it are served, by their content (`importing::holds_recording`): no other files, no links, no hidden files,
/// no folders below it.
///
/// A recording may grow, and another file may take its place. So an answer about one says in `Sluice-Version` which file
/// it is about, in `Sluice-Newest` which one is there now, and in `Sluice-Growing` (1 or 0) whether its bytes become
/// more. With ?version=ID the answer is about that file, as long as it is kept open (served_files.hpp).
class site {
 public:
  /// `named`: paths of files and folders. `live`: sockets of recordings that are being made. `page`: the folder of the
  /// page. Errors: not_found, io; foreign for what is neither a file nor a folder; those of `remote::follow_live`.
  [[nodiscard]] static result<site> make(const std::vector<std::string>& named, const std::vector<std::string>& live,
                                         std::string page, std::uint16_t port);

  /// The address to begin with: of the page, with all recordings if each was named; of the list, if a folder was named.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] http_answer answer(const http_request& request);

 private:
  /// A word of the command line.
  struct place {
    std::string path;
    int folder = -1;                             ///< A descriptor; -1: `path` is a file.
    std::string name;                            ///< Of the file.
    std::shared_ptr<trace::byte_source> live{};  ///< Another process sends it; `path` is its socket.
  };
  /// Closes the folders.
  struct places : std::vector<place> {
    places() = default;
    places(places&&) noexcept = default;
    places& operator=(places&&) = delete;
    ~places();
  };

  site(places named, std::string page, std::uint16_t port, std::string token);
  [[nodiscard]] http_answer page_file(std::string_view name) const;
  [[nodiscard]] http_answer sample(std::string_view path, std::string_view range) const;
  [[nodiscard]] http_answer recording(std::string_view path, std::string_view version, std::string_view range);
  [[nodiscard]] http_answer list() const;

  places places_;
  std::string page_;
  std::string port_;
  std::string token_;
  served_files files_;
};

}  // namespace sluice::cli::serve
