// Replaces `sluice` in tests where the window starts a demo: `fake_demo demo NAME ... -o FILE` writes a recording
// with the counter "progress" until SIGTERM. With NAME "broken" it fails at once, with "quick" it ends by itself.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "core/trace/file/writer.hpp"

namespace {

volatile sig_atomic_t stopped = 0;

int record(const std::string& path, int steps) {
  using namespace sluice::trace;
  writer_options options;
  options.simulated = true;
  auto to = file_writer::create(path, options);
  if (!to) return 1;
  process_row process;
  process.id = process_id{1};
  process.command = to->intern("fake_demo");
  to->add(process);
  counter_row progress;
  progress.id = counter_id{1};
  progress.process = process_id{1};
  progress.unit = counter_unit::fraction;
  progress.name = to->intern("progress");
  to->add(progress);
  for (int i = 0; i < steps && stopped == 0; ++i) {
    counter_event event;
    event.time = i * 10'000'000LL;
    event.process = process_id{1};
    event.counter = counter_id{1};
    event.value = static_cast<double>(i + 1) / steps;
    to->add(event);
    kernel_event kernel;
    kernel.time = i * 10'000'000LL;
    kernel.end = kernel.time + 6'000'000;
    kernel.process = process_id{1};
    kernel.stream = stream_id{1};
    kernel.name = to->intern("step");
    to->add(kernel);
    if (!to->flush()) return 1;
    usleep(10'000);
  }
  return to->close() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  struct sigaction on_interrupt {};
  on_interrupt.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &on_interrupt, nullptr);
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto out = std::find(words.begin(), words.end(), "-o");
  if (!words.empty() && words[0] == "doctor") {
    std::printf(
        "missing  driver       the fake machine has no driver\nGPU programs cannot be recorded on this machine.\n");
    return 1;
  }
  if (words.size() < 4 || words.end() - out < 2) return 2;
  if (words[0] == "record") {
    // `fake_demo record ... -o FILE -- COMMAND`: prints the command, then writes a recording as a demo does.
    const auto command = std::find(words.begin(), words.end(), "--") + 1;
    for (auto word = command; word < words.end(); ++word) std::printf("[%s]", word->c_str());
    std::printf("\n");
    std::fflush(stdout);
    return record(*(out + 1), 2000);
  }
  if (words[0] != "demo") return 2;
  if (words[1] == "broken") {
    std::fputs("sluice: the device caught fire\n", stderr);
    return 1;
  }
  return record(*(out + 1), words[1] == "quick" ? 20 : 2000);
}
