#pragma once

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "instrumentation/backend/device.hpp"

// Shared by the programs that other_process starts and the tests that exchange messages with them.

namespace sluice::backend {

/// The exit status of a role that finds no device.
inline constexpr int no_device = 77;

template <class T>
bool tell(int to, const T& subject) {
  return write(to, &subject, sizeof subject) == static_cast<ssize_t>(sizeof subject);
}
template <class T>
bool hear(int begin, T& subject) {
  return read(begin, &subject, sizeof subject) == static_cast<ssize_t>(sizeof subject);
}

struct role {
  std::string_view name;
  int (*play)(backend_kind, int in, int out);  ///< Returns the program's exit status.
};

/// Implements main() of such a program: `program ROLE KIND IN OUT` plays one of `roles`.
inline int play(int argc, char** argv, std::initializer_list<role> roles) {
  if (argc != 5) return 70;
  for (const role& each : roles) {
    if (each.name == argv[1])
      return each.play(static_cast<backend_kind>(std::atoi(argv[2])), std::atoi(argv[3]), std::atoi(argv[4]));
  }
  return 71;
}

}  // namespace sluice::backend
