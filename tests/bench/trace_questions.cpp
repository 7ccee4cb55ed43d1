// What a window asks of a trace, without the window: trace_questions FILE [WINDOWS]. Opens the file, asks for every track at 1600 pixels
// over the whole trace, then zooms and pans as a user does, and asks for the blocks that live at random times, each twice in a row. Prints one
// line a figure, times in ms: the median and the worst.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "core/query/engine.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t width = 1600;

class stopwatch {
 public:
  [[nodiscard]] double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void print(const char* what, std::vector<double> times) {
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  std::printf("%s: median %.3f worst %.3f of %zu\n", what, times[times.size() / 2], times.back(), times.size());
  std::fflush(stdout);
}

template <class Question>
auto ask(query::engine& from, const Question& question) {
  auto answered = from.ask_now(question);
  if (!answered) {
    std::fprintf(stderr, "trace_questions: %s\n", answered.error().to_string().c_str());
    std::exit(1);
  }
  return *answered;
}

void ask_all_tracks(query::engine& from, const query::track_list& tracks, query::time_range range) {
  for (const query::track& t : tracks.tracks) {
    switch (t.kind) {
      case query::track_kind::memory:
      case query::track_kind::pool:
      case query::track_kind::bandwidth:
      case query::track_kind::counter:
        ask(from, query::series_question{t.id, range, width});
        break;
      case query::track_kind::direction:
      case query::track_kind::stream:
      case query::track_kind::host_thread:
      case query::track_kind::steps:
        ask(from, query::slices_question{t.id, range, width});
        break;
    }
  }
}

/// Windows as the wheel and a drag make them: in at a point by a quarter a notch down to some microseconds, a few drags, and out again.
std::vector<query::time_range> zooms_and_pans(query::time_range whole, int wanted) {
  std::mt19937_64 random(11);
  std::vector<query::time_range> windows;
  while (static_cast<int>(windows.size()) < wanted) {
    query::time_range at = whole;
    const double where = static_cast<double>(random() % 1000) / 1000;
    while (at.length() > 20'000 && static_cast<int>(windows.size()) < wanted) {
      const auto cut = static_cast<trace::time_ns>(static_cast<double>(at.length()) * 0.25);
      at.begin += static_cast<trace::time_ns>(static_cast<double>(cut) * where);
      at.end -= static_cast<trace::time_ns>(static_cast<double>(cut) * (1 - where));
      windows.push_back(at);
      if (random() % 4 == 0) {
        const trace::time_ns by = std::min(at.length() / 5, whole.end - at.end);
        windows.push_back({at.begin + by, at.end + by});
      }
    }
  }
  return windows;
}

int measure(const std::string& path, int wanted) {
  const stopwatch opening;
  const auto opened = trace::file::open(path);
  if (!opened) {
    std::fprintf(stderr, "trace_questions: %s\n", opened.error().to_string().c_str());
    return 1;
  }
  query::engine engine(*opened, {});
  const auto tracks = ask(engine, query::tracks_question{});
  print("open until the tracks are known", {opening.ms()});
  const stopwatch first;
  ask_all_tracks(engine, *tracks, tracks->span);
  print("first look at all tracks", {first.ms()});
  std::printf("tracks: %zu\n", tracks->tracks.size());

  std::vector<double> fresh;
  std::vector<double> again;
  const auto windows = zooms_and_pans(tracks->span, wanted);
  for (const auto& window : windows) {
    const stopwatch one;
    ask_all_tracks(engine, *tracks, window);
    fresh.push_back(one.ms());
  }
  for (const auto& window : windows) {
    const stopwatch one;
    ask_all_tracks(engine, *tracks, window);
    again.push_back(one.ms());
  }
  print("a zoom or pan, all tracks, first time", fresh);
  print("a zoom or pan, all tracks, again", again);

  std::mt19937_64 random(5);
  std::vector<double> first_time;
  std::vector<double> second_time;
  std::vector<query::time_range> moments;
  for (int i = 0; i < 20; ++i) {
    const auto at = tracks->span.begin +
                    static_cast<trace::time_ns>(
                        random() % static_cast<std::uint64_t>(std::max<trace::time_ns>(tracks->span.length(), 1)));
    moments.push_back({at, at + 1});
  }
  for (const auto& at : moments) {
    for (auto* times : {&first_time, &second_time}) {
      const stopwatch one;
      query::blocks_question question;
      question.range = at;
      ask(engine, question);
      times->push_back(one.ms());
    }
  }
  print("blocks live at a time, first time", first_time);
  print("blocks live at a time, again", second_time);
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf("resident at most: %ld KiB\n", used.ru_maxrss);
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: trace_questions FILE [WINDOWS]\n");
    return 2;
  }
  return sluice::measure(argv[1], argc > 2 ? std::atoi(argv[2]) : 100);
}
