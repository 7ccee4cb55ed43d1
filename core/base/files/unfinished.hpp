#pragma once

#include <string>

/// Names of files and folders that must not remain if the program ends early: unfinished outputs, scratch folders.
/// Normally their owners remove them. If a signal ends the program, no destructor runs, so the signal handler removes
/// them.
namespace sluice {

/// Registers a file or folder that is removed if a signal ends the program while this object exists. In all other
/// cases, its owner must remove it. Thread-safe. Does nothing if 64 names are already registered, or if the name is too
/// long.
class unfinished_name {
 public:
  unfinished_name() = default;
  /// `path`: the absolute path of a file, or of a folder with at most four levels of folders in it. The path need not
  /// exist yet.
  explicit unfinished_name(const std::string& path);
  unfinished_name(unfinished_name&& other) noexcept;
  unfinished_name& operator=(unfinished_name&& other) noexcept;
  ~unfinished_name();

 private:
  int slot_ = -1;
};

/// Makes SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM and SIGXCPU remove all registered names and then end the process as
/// they do by default. Signals that are already ignored or handled are not changed. Programs may call this function,
/// but libraries must not.
void remove_unfinished_on_signals();

/// Makes a write beyond the file size limit (`ulimit -f`) fail with an error, like a write to a full disk (EFBIG),
/// instead of ending the process with SIGXFSZ. Programs that this process starts have the default behavior. Programs
/// may call this function, but libraries must not.
void outlive_file_size_limit();

}  // namespace sluice
