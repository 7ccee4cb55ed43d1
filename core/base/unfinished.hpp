#pragma once

#include <string>

/// Names of files and folders that must not remain if the program ends early: unfinished outputs, scratch folders.
/// Their owners remove them; if a signal ends the program, no destructor runs and the signal handler removes them.
namespace sluice {

/// Registers a file or folder to be removed if a signal ends the program while this object lives. In all other cases
/// the owner removes it. Thread-safe. Does nothing if 64 names are registered already, or if the name is too long.
class unfinished_name {
 public:
  unfinished_name() = default;
  /// `path`: absolute; a file, or a folder, which may have folders in it, four deep. It need not exist yet.
  explicit unfinished_name(const std::string& path);
  unfinished_name(unfinished_name&& other) noexcept;
  unfinished_name& operator=(unfinished_name&& other) noexcept;
  ~unfinished_name();

 private:
  int slot_ = -1;
};

/// Makes SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM and SIGXCPU remove all registered names and then end the process as by
/// default. Signals already ignored or handled are left alone. For programs, not for libraries.
void remove_unfinished_on_signals();

/// Makes a write beyond the limit on the size of files (`ulimit -f`) an error like that of a full disk (EFBIG), instead of
/// the end of the process by SIGXFSZ. Programs that this one starts have the signal as before. For programs, not for
/// libraries.
void outlive_file_size_limit();

}  // namespace sluice
