#pragma once

#include <string>

/// Names of files and folders that must not stay when the program ends early: outputs that are still being written, and scratch
/// folders. Their owners remove them; a signal that ends the program runs no destructors, and this does it instead.
namespace sluice {

/// A name that is removed if a signal ends the program while this object lives. The owner removes it in all other cases.
/// Thread-safe. Holds nothing when too many names are listed already (64), or when the name is too long.
class unfinished_name {
 public:
  unfinished_name() = default;
  /// `path`: absolute, of a file or of a folder that holds only files. It may not exist yet.
  explicit unfinished_name(const std::string& path);
  unfinished_name(unfinished_name&& other) noexcept;
  unfinished_name& operator=(unfinished_name&& other) noexcept;
  ~unfinished_name();

 private:
  int slot_ = -1;
};

/// From now on SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU and SIGXFSZ first remove all unfinished names of this process, and
/// then end it as they do by default. Signals that are ignored or handled stay so. For programs; a library must not call it.
void remove_unfinished_on_signals();

}  // namespace sluice
