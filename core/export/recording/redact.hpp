#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/export/recording/private_names.hpp"
#include "core/query/sql/columns.hpp"

/// Removes information about the machines and users of a recording.
namespace sluice::exports {

using query::text_role;

/// The information to remove. By default, nothing is removed.
struct redaction {
  bool paths =
      /// Directories and, in sentences, the last part of a path unless it has an ending like .py. File names, and paths
      /// inside public Python packages (torch, ...), are kept because they show the purpose of memory.
      false;
  bool arguments = false;    ///< The arguments after a program's name on its command line.
  bool environment = false;  ///< The values in NAME=value and of --options, in any text.
  bool hosts = false;        ///< The names, addresses and boot ids of machines, and the names of users.
  bool sources = false;      ///< The source lines in the recording.
  [[nodiscard]] static constexpr redaction all() { return {true, true, true, true, true}; }
  [[nodiscard]] constexpr bool any() const { return paths || arguments || environment || hosts || sources; }
};

/// Rewrites texts according to their role. Searches the plain form of a text (plain_form.hpp) in this order: first for
/// credentials, URLs and user@host (secret_rules.hpp), then for paths, values and addresses of machines, then for names
/// of users and hosts (private_names.hpp). In names of functions and kernels, NAME=value is kept unless the name
/// suggests a secret. A text without matches is unchanged. Equal texts give equal results. A directory becomes "dir3",
/// and a host becomes "host2". They are numbered in order of appearance, so that nobody can guess the originals. Takes
/// time proportional to a text's length, and caches results. Not thread-safe. Use a separate redactor for each file.
class redactor {
 public:
  explicit redactor(redaction subject = {});

  /// Returns `text` or its replacement. Valid until the next call.
  [[nodiscard]] std::string_view text(std::string_view text, text_role role);

  [[nodiscard]] bool active() const { return what_.any(); }
  [[nodiscard]] const redaction& what() const { return what_; }

  /// Adds the name of a machine, which is then removed from all texts. Texts with the role `host` that are passed to
  /// `text` are added automatically.
  void learn_host(std::string_view name);

  /// Adds the users and machines that `text` names: in a folder (/home/NAME, /Users/NAME, C:\Users\NAME, ~NAME/), after
  /// USER=, LOGNAME=, USERNAME=, HOME=, HOSTNAME= or COMPUTERNAME=, and as the hosts of URLs and of user@host. These
  /// names are removed wherever they appear as whole words. Pass all texts to this function before rewriting the first.
  void learn(std::string_view text);

 private:
  [[nodiscard]] std::string redacted(std::string_view text, text_role role);
  [[nodiscard]] std::string path(std::string_view text);
  [[nodiscard]] std::string path_as_a_whole(std::string_view text);
  [[nodiscard]] std::string arguments(std::string_view text);
  [[nodiscard]] std::string words(std::string_view text, bool code);
  [[nodiscard]] std::size_t add_quoted_path(std::string& to, std::string_view text, std::size_t at, bool code);
  [[nodiscard]] std::string word(std::string_view text, bool code);
  [[nodiscard]] std::string path_in_message(std::string_view text);
  [[nodiscard]] std::string without_addresses(std::string_view text);
  [[nodiscard]] std::string without_credentials(std::string_view text, bool code);
  void learn_user(std::string_view name);
  void learn_folders(std::string_view text);
  void learn_variables(std::string_view text);
  void learn_addresses(std::string_view text);
  [[nodiscard]] const std::string& numbered(std::unordered_map<std::string, std::string>& names, std::string_view text,
                                            std::string_view word);

  redaction what_;
  private_names names_;
  std::unordered_map<std::string, std::string> directories_;
  std::unordered_map<std::string, std::string> hosts_;
  std::unordered_map<std::string, std::string> users_;
  std::unordered_map<std::string, std::string> addresses_;  ///< URLs and user@host.
  std::unordered_map<std::string, std::string> entries_;    ///< The last parts of paths in sentences.
  /// The cached results: for each role, the rewritten texts keyed by the original ones.
  std::array<std::unordered_map<std::string, std::string>, static_cast<std::size_t>(text_role::source) + 1> known_;
  std::size_t known_bytes_ = 0;
};

}  // namespace sluice::exports
