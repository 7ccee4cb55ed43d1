#pragma once

namespace sluice::test {

/// A display of the test's own: Xvfb, started now and ended with the program. False when there is none to be had.
bool start_display();

}  // namespace sluice::test
