// The delay of a live view: trace_live FILE SECONDS opens a recording that is being written, queries all memory curves
// and the report thirty times a second like a window, and prints every ten seconds: events, the delay of the drawn data
// and of the report behind the newest event in the file (median and worst), resident memory, and CPU time per
// second.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/freed_memory.hpp"
#include "core/index/event_store.hpp"
#include "core/query/engine/engine.hpp"
#include "tests/bench/processor_time.hpp"

namespace sluice {
namespace {

using steady = std::chrono::steady_clock;

double resident_mib() {
  std::FILE* e = std::fopen("/proc/self/statm", "r");
  if (e == nullptr) return 0;
  unsigned long total = 0, resident = 0;
  const int read = std::fscanf(e, "%lu %lu", &total, &resident);
  std::fclose(e);
  return read == 2 ? static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20) : 0;
}

struct lags {
  std::vector<double> seconds;
  void add(trace::time_ns lag) { seconds.push_back(static_cast<double>(lag) * 1e-9); }
  void print(const char* subject) {
    if (seconds.empty()) return;
    std::sort(seconds.begin(), seconds.end());
    std::printf("  %s %.2f s (%.2f)", subject, seconds[seconds.size() / 2], seconds.back());
    seconds.clear();
  }
};

int follow(const std::string& path, double length) {
  const auto opened = trace::file::open(path);
  if (!opened) {
    std::fprintf(stderr, "trace_live: %s\n", opened.error().to_string().c_str());
    return 1;
  }
  const auto newest = trace::file::open(path, {.cache_bytes = 0}).value();
  query::engine asked(*opened);
  query::slot<query::tracks_query> tracks;
  query::slot<query::report_query> report;
  std::vector<std::unique_ptr<query::slot<query::series_query>>> curves;
  lags drawn, reported;
  const auto begin = steady::now();
  const auto passed = [&] { return std::chrono::duration<double>(steady::now() - begin).count(); };
  double processor = processor_seconds(), printed = 0;
  while (passed() < length) {
    asked.refresh();
    static_cast<void>(newest->refresh());
    const auto whole = index::recorded_range(*asked.snapshot());
    const auto listed = tracks.ask(asked, {});
    if (listed.value) {
      while (curves.size() < listed.value->tracks.size())
        curves.push_back(std::make_unique<query::slot<query::series_query>>());
      for (std::size_t i = 0; i < listed.value->tracks.size(); ++i)
        if (listed.value->tracks[i].kind == query::track_kind::memory)
          static_cast<void>(curves[i]->ask(asked, {listed.value->tracks[i].id, whole, 1600, true}));
    }
    const auto got = report.ask(asked, {});
    const trace::time_ns now = newest->latest()->end();
    drawn.add(now - asked.snapshot()->end());
    if (got.value) reported.add(now - got.value->whole.range.end);
    if (passed() >= printed + 10) {
      const double used = processor_seconds() - processor;
      const double since = passed() - printed;
      std::printf("%4.0f s %6.1f M events", passed(), got.value ? static_cast<double>(got.value->events) / 1e6 : 0.0);
      drawn.print("drawn behind");
      reported.print("told behind");
      std::printf("  %.0f MiB  %.2f cores\n", resident_mib(), used / since);
      std::fflush(stdout);
      processor += used;
      printed += since;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(33));
  }
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "trace_live FILE SECONDS\n");
    return 2;
  }
  sluice::use_few_arenas();
  sluice::keep_freed_memory();  // As the window does.
  return sluice::follow(argv[1], std::atof(argv[2]));
}
