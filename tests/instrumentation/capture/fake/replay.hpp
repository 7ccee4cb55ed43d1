#pragma once
// Replays a journal through the fake driver's hub: all calls and records in order, each on the thread that
// made it.

#include <functional>
#include <string>

#include "tests/instrumentation/capture/fake/fake_hub.hpp"
#include "tests/instrumentation/capture/journal_reader.hpp"

namespace sluice::fake {

struct replay_options {
  int repeat = 1;                 ///< Number of passes; correlation ids continue to count up.
  bool paced = false;             ///< Replay at the recorded speed; otherwise as fast as possible.
  double until = 1.0;             ///< Stop after this fraction of the entries.
  std::function<void()> halfway;  ///< Called in the middle, on the main thread, if set.
};

/// Changes a journal into one that no driver should produce. Names: "frees-first" (entries in reverse order),
/// "records-first", "records-last", "zero-times", "backward-times", "unknown-kinds", "no-entries", "no-exits",
/// "null-pointers", "cut-records", "doubled". Returns false for an unknown name.
[[nodiscard]] bool make_hostile(journal::journal& j, const std::string& method);

/// Replays `j` and returns when all of it has been replayed. Call it on the main thread after cuInit.
void replay(const journal::journal& j, hub& to, const replay_options& options);

}  // namespace sluice::fake
