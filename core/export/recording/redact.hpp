#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "core/query/sql/columns.hpp"

/// What a recording gives away of the machine and the people it was made by, and how to leave it out.
namespace sluice::exports {

using query::text_role;

/// What is to be left out. Nothing by default.
struct redaction {
  bool paths =
      false;  ///< Directories, and in sentences what a path ends with if it has no ending such as ".py"; names of files stay, so that stacks stay readable.
  bool arguments = false;    ///< What follows a program's name on its command line.
  bool environment = false;  ///< Values of NAME=value and of --options, wherever they stand.
  bool hosts = false;        ///< Names, addresses and boot ids of machines; names of users.
  bool sources = false;      ///< Lines of source kept in the recording.
  [[nodiscard]] static constexpr redaction all() { return {true, true, true, true, true}; }
  [[nodiscard]] constexpr bool any() const { return paths || arguments || environment || hosts || sources; }
};

/// Rewrites texts by what they are. The same text becomes the same every time, and different ones stay different: a directory
/// becomes "dir3", a host "host2", numbered as they are met, so nothing can be guessed back. Not thread-safe: one for a file
/// that is written.
class redactor {
 public:
  explicit redactor(redaction what = {}) : what_(what) {}

  /// `text`, or what stands for it. The view is good until the next call.
  [[nodiscard]] std::string_view text(std::string_view text, text_role role);

  [[nodiscard]] bool active() const { return what_.any(); }
  [[nodiscard]] const redaction& what() const { return what_; }

  /// Names that must not stand in messages either; hosts that `text` was given are known already.
  void learn_host(std::string_view name);

  /// Learns the users that `text` names: by a folder (/home/NAME, /Users/NAME, C:\Users\NAME), or by USER=, LOGNAME=, USERNAME= or
  /// HOME=. Give it every text before the first is rewritten: they are left out wherever they stand as whole words.
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
  std::unordered_map<std::string, std::string> addresses_;  ///< URLs, and user@host.
  std::unordered_map<std::string, std::string> entries_;    ///< What paths in sentences end with.
  std::string last_;
};

}  // namespace sluice::exports
