#include "app/cli/standard_files.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace sluice::cli {
namespace {

bool added[3];

}  // namespace

void add_standard_files() {
  for (int number = 0; number < 3; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    // This gets the lowest free number, i.e. this one. Wrong direction, so that reading 0 or writing 1, 2 fails.
    added[number] = ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY) == number;
  }
}

void close_added_standard_files() {
  for (int number = 0; number < 3; ++number) {
    if (added[number]) ::close(number);
  }
}

}  // namespace sluice::cli
