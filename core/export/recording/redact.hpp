#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/export/recording/private_names.hpp"
#include "core/query/sql/columns.hpp"

/// Removes what a recording reveals about its machine and its users.
namespace sluice::exports {

using query::text_role;

/// What to remove. Nothing by default.
struct redaction {
  bool paths =
      false;  ///< Directories; in sentences also a path's last part if it has no ending like .py. File names stay, and
              ///< so do paths inside public Python packages (torch, transformers, ...), which tell what memory is for.
  bool arguments = false;    ///< What follows a program's name on its command line.
  bool environment = false;  ///< Values of NAME=value and of --options, anywhere.
  bool hosts = false;        ///< Machine names, addresses and boot ids; user names.
  bool sources = false;      ///< Source lines in the recording.
  [[nodiscard]] static constexpr redaction all() { return {true, true, true, true, true}; }
  [[nodiscard]] constexpr bool any() const { return paths || arguments || environment || hosts || sources; }
};

/// Rewrites texts according to their role. A text is looked at in its plain form (plain_form.hpp), and in this order:
/// credentials, URLs and user@host (secret_rules.hpp); paths, values, addresses of machines; names of users and hosts
/// (private_names.hpp). Of names of functions and kernels only NAME=value stays, unless the name says that it is secret.
/// A text in which nothing is found stays as it is. Equal texts always give equal results; a directory becomes "dir3", a
/// host "host2", numbered in order of appearance, so originals cannot be guessed. Each text takes time in proportion to
/// its length, and is worked on once. Not thread-safe: use one per file written.
class redactor {
 public:
  explicit redactor(redaction what = {});

  /// Returns `text` or its replacement. Valid until the next call.
  [[nodiscard]] std::string_view text(std::string_view text, text_role role);

  [[nodiscard]] bool active() const { return what_.any(); }
  [[nodiscard]] const redaction& what() const { return what_; }

  /// Adds a machine's name, which is then removed from every text. Hosts passed to `text` are added automatically.
  void learn_host(std::string_view name);

  /// Adds the users and machines that `text` names: by a folder (/home/NAME, /Users/NAME, C:\Users\NAME, ~NAME/), by
  /// USER=, LOGNAME=, USERNAME=, HOME=, HOSTNAME= or COMPUTERNAME=, and the hosts of URLs and of user@host. They are
  /// removed wherever they appear as whole words. Pass all texts here before rewriting the first.
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
  std::unordered_map<std::string, std::string> entries_;    ///< Last parts of paths in sentences.
  /// Texts and what became of them, by role.
  std::array<std::unordered_map<std::string, std::string>, static_cast<std::size_t>(text_role::source) + 1> known_;
  std::size_t known_bytes_ = 0;
};

}  // namespace sluice::exports
