#include "app/cli/output/standard_files.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace sluice::cli {
namespace {

bool added[3];

}  // namespace

void add_standard_files() {
  for (int number = 0; number < 3; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    // `open` returns the lowest free descriptor, which is this one. The access mode is the opposite of the usual one,
    // so that reading from 0 and writing to 1 and 2 fail.
    added[number] = ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY) == number;
  }
}

void close_added_standard_files() {
  for (int number = 0; number < 3; ++number) {
    if (added[number]) ::close(number);
  }
}

}  // namespace sluice::cli
