#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

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

/// Rewrites texts according to their role. Equal texts always give equal results and different texts different ones: a
/// directory becomes "dir3", a host "host2", numbered in order of appearance, so originals cannot be guessed. Not
/// thread-safe: use one per file written.
class redactor {
 public:
  explicit redactor(redaction what = {}) : what_(what) {}

  /// Returns `text` or its replacement. Valid until the next call.
  [[nodiscard]] std::string_view text(std::string_view text, text_role role);

  [[nodiscard]] bool active() const { return what_.any(); }
  [[nodiscard]] const redaction& what() const { return what_; }

  /// Adds a name to remove from messages. Hosts passed to `text` are added automatically.
  void learn_host(std::string_view name);

  /// Adds the users named in `text` by a folder (/home/NAME, /Users/NAME, C:\Users\NAME), USER=, LOGNAME=, USERNAME= or
  /// HOME=. They are removed wherever they appear as whole words. Pass all texts here before rewriting the first.
  void learn_users(std::string_view text);

 private:
  [[nodiscard]] std::string path(std::string_view text);
  [[nodiscard]] std::string arguments(std::string_view text);
  [[nodiscard]] std::string message(std::string_view text);
  [[nodiscard]] std::string code(std::string_view text);
  [[nodiscard]] std::string word(std::string_view text);
  [[nodiscard]] std::string path_in_message(std::string_view text);
  [[nodiscard]] std::string without_addresses(std::string_view text);
  void learn_user(std::string_view name);
  [[nodiscard]] std::string without_names(std::string text) const;
  [[nodiscard]] const std::string& numbered(std::unordered_map<std::string, std::string>& names, std::string_view text,
                                            std::string_view word);

  redaction what_;
  std::unordered_map<std::string, std::string> directories_;
  std::unordered_map<std::string, std::string> hosts_;
  std::unordered_map<std::string, std::string> users_;
  std::unordered_map<std::string, std::string> addresses_;  ///< URLs and user@host.
  std::unordered_map<std::string, std::string> entries_;    ///< Last parts of paths in sentences.
  std::string last_;
};

}  // namespace sluice::exports
