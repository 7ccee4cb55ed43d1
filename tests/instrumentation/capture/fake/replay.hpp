#pragma once
// Replays a journal through the fake driver's hub: each call and each record in its order, each on its own thread.

#include <functional>
#include <string>

#include "tests/instrumentation/capture/fake/fake_hub.hpp"
#include "tests/instrumentation/capture/journal_reader.hpp"

namespace sluice::fake {

struct replay_options {
  int repeat = 1;                 ///< Times in a row; correlation ids count on.
  bool paced = false;             ///< As slowly as it was; else as fast as it goes.
  double until = 1.0;             ///< Stops after this share of the entries.
  std::function<void()> halfway;  ///< Called in the middle, on the main thread, if set.
};

/// Changes a journal into one that no driver should produce. Names: "frees-first" (every call's edges in reverse order),
/// "records-first", "records-last", "zero-times", "backward-times", "unknown-kinds", "no-entries", "no-exits",
/// "null-pointers", "cut-records", "doubled". False: unknown name.
[[nodiscard]] bool make_hostile(journal::journal& j, const std::string& how);

/// Blocks until everything has been replayed. Call it on the main thread after cuInit.
void replay(const journal::journal& j, hub& to, const replay_options& options);

}  // namespace sluice::fake
