#pragma once
// Lets a recorded program wait for the recorder's flush thread, which runs every 50 ms but may be delayed much longer
// on a busy machine.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace sluice::fake {

/// The number of times that this process's flush thread has waited; -1 if there is no such thread.
inline long waits_of_flush_thread() {
  const auto make_content = [](const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (make_content(thread.path() / "comm") != "sluice-flush\n") continue;
    const std::string word = "\nvoluntary_ctxt_switches:";
    const std::string status = make_content(thread.path() / "status");
    const std::size_t at = status.find(word);
    return at == std::string::npos ? -1 : std::atol(status.c_str() + at + word.size());
  }
  return -1;
}

/// Returns after `microseconds`, but not before the flush thread has completed as many passes as it would in that time
/// on an idle machine. Gives up after a minute.
inline void wait_for_flush(useconds_t microseconds) {
  constexpr useconds_t a_turn = 50'000;
  const long before = waits_of_flush_thread();
  usleep(microseconds);
  if (before < 0) return;
  const long wanted = before + static_cast<long>(microseconds / a_turn);
  for (int tries = 0; tries < 6'000 && waits_of_flush_thread() < wanted; ++tries) usleep(10'000);
}

}  // namespace sluice::fake
