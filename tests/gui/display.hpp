#pragma once

namespace sluice::test {

/// Starts a private display (Xvfb), which ends with the test program. Returns false if Xvfb cannot be started.
bool start_display();

}  // namespace sluice::test
