// Writes a recording of a program whose GPU waits, for pictures of the window: idle_demo FILE
#include <cstdio>

#include "tests/gui/idle/idle_sample.hpp"

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: idle_demo FILE\n", stderr);
    return 2;
  }
  sluice::test::write_idle_sample(words[1]);
  return 0;
}
