#pragma once

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "instrumentation/backend/device.hpp"

// What the programs have in common that other_process starts, and what both say to each other.

namespace sluice::backend {

/// The status of a role that has no device to play on.
inline constexpr int no_device = 77;

template <class T>
bool tell(int to, const T& what) {
  return write(to, &what, sizeof what) == static_cast<ssize_t>(sizeof what);
}
template <class T>
bool hear(int from, T& what) {
  return read(from, &what, sizeof what) == static_cast<ssize_t>(sizeof what);
}

struct role {
  std::string_view name;
  int (*play)(backend_kind, int in, int out);  ///< What it returns is the program's status.
};

/// All that main() does: `program ROLE KIND IN OUT` plays one of its roles.
inline int play(int argc, char** argv, std::initializer_list<role> roles) {
  if (argc != 5) return 70;
  for (const role& each : roles) {
    if (each.name == argv[1])
      return each.play(static_cast<backend_kind>(std::atoi(argv[2])), std::atoi(argv[3]), std::atoi(argv[4]));
  }
  return 71;
}

}  // namespace sluice::backend
