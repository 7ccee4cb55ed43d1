// A window's queries of a trace, without the window: trace_queries FILE [WINDOWS]. Opens the file and queries every
// track over the whole trace at 1600 pixels. Memory is split by category, as in a window by default. Then it zooms and
// pans like a user: at the speed of a wheel, so that data can be read ahead between two steps; without any pause; with
// jumps to places far from any earlier view; drawing the first result of each query like a view; and until all results
// are exact. Finally it queries the live blocks and the memory layout at random times, each twice in a row. Prints one
// line per metric, with the median and the worst time in ms. With 0 windows it stops after the first view, so that
// another tool can count the view's instructions.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/freed_memory.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/memory_map.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t width = 1600;
constexpr double notch = 16;  ///< ms: a wheel, like a screen, gives at most about sixty views per second.

class stopwatch {
 public:
  [[nodiscard]] double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void print(const char* subject, std::vector<double> times) {
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  std::printf("%s: median %.3f worst %.3f of %zu\n", subject, times[times.size() / 2], times.back(), times.size());
  std::fflush(stdout);
}

template <class Query>
auto ask(query::engine& engine, const Query& query) {
  auto answered = engine.ask_now(query);
  if (!answered) {
    std::fprintf(stderr, "trace_queries: %s\n", answered.error().to_string().c_str());
    std::exit(1);
  }
  return *answered;
}

void ask_all_tracks(query::engine& engine, const query::track_list& tracks, time_range range) {
  for (const query::track& t : tracks.tracks) {
    switch (t.kind) {
      case query::track_kind::memory:
      case query::track_kind::pool:
      case query::track_kind::bandwidth:
      case query::track_kind::counter:
        ask(engine, query::series_query{t.id, range, width, true});
        break;
      case query::track_kind::direction:
      case query::track_kind::stream:
      case query::track_kind::host_thread:
      case query::track_kind::steps:
        ask(engine, query::slices_query{t.id, range, width});
        break;
    }
  }
}

/// A window's repeated queries: one slot per track.
class standing_queries {
 public:
  explicit standing_queries(const query::track_list& tracks) : slots_(tracks.tracks.size()) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].track = tracks.tracks[i].id;
      switch (tracks.tracks[i].kind) {
        case query::track_kind::memory:
        case query::track_kind::pool:
        case query::track_kind::bandwidth:
        case query::track_kind::counter:
          slots_[i].subject.emplace<query::slot<query::series_query>>();
          break;
        default:
          break;
      }
    }
  }

  /// Queries all tracks repeatedly, as frames do, until each has a result for this range. If `exact`, results from
  /// coarser tiles do not count. Gives up after `most` ms and reports the timeout.
  bool draw(query::engine& engine, time_range range, bool exact, double most) {
    const stopwatch waiting;
    for (;;) {
      std::size_t answered = 0;
      for (standing& each : slots_)
        answered +=
            std::visit([&](auto& subject) { return has(engine, subject, each.track, range, exact); }, each.subject);
      if (answered == slots_.size()) return true;
      if (waiting.ms() > most) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // Leaves the core to the query threads.
    }
  }

 private:
  using slices_slot = query::slot<query::slices_query>;
  using series_slot = query::slot<query::series_query>;
  struct standing {
    std::uint64_t track = 0;
    std::variant<slices_slot, series_slot> subject;
  };
  static bool has(query::engine& engine, slices_slot& slot, std::uint64_t track, time_range range, bool exact) {
    const auto got = slot.ask(engine, {track, range, width});
    return got.failure || (got.value != nullptr && got.value->range == range && (got.complete || !exact));
  }
  static bool has(query::engine& engine, series_slot& slot, std::uint64_t track, time_range range, bool exact) {
    const auto got = slot.ask(engine, {track, range, width, true});
    if (got.failure || got.value == nullptr) return got.failure.has_value();
    if (exact && !got.complete) return false;
    // Bins are aligned, so the result covers a few more bins than were queried.
    const time_range about = got.value->range;
    return about.begin <= range.begin && about.end >= range.end && about.length() <= range.length() * 101 / 100 + 4;
  }
  std::vector<standing> slots_;
};

/// Makes each query twice in a row, and prints the times of the first and the second.
template <class Query>
void ask_twice(query::engine& engine, const char* subject, const std::vector<Query>& queries) {
  std::vector<double> times[2];
  for (const Query& query : queries) {
    for (std::vector<double>& turn : times) {
      const stopwatch one;
      ask(engine, query);
      turn.push_back(one.ms());
    }
  }
  print((std::string(subject) + ", first time").c_str(), times[0]);
  print((std::string(subject) + ", again").c_str(), times[1]);
}

std::vector<trace::time_ns> random_times(time_range whole, int wanted) {
  std::mt19937_64 random(5);
  std::vector<trace::time_ns> times;
  const auto length = static_cast<std::uint64_t>(std::max<trace::time_ns>(whole.length(), 1));
  while (static_cast<int>(times.size()) < wanted)
    times.push_back(whole.begin + static_cast<trace::time_ns>(random() % length));
  return times;
}

/// Windows as a wheel and a drag produce them: zooms in at a point by a quarter per notch to some microseconds, a few
/// drags, and out again.
std::vector<time_range> zooms_and_pans(time_range whole, int wanted) {
  std::mt19937_64 random(11);
  std::vector<time_range> windows;
  while (static_cast<int>(windows.size()) < wanted) {
    time_range at = whole;
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

/// Places far from any earlier view, at any zoom.
std::vector<time_range> jumps(time_range whole, int wanted) {
  std::mt19937_64 random(23);
  std::vector<time_range> windows;
  while (static_cast<int>(windows.size()) < wanted) {
    const auto length = std::max<trace::time_ns>(whole.length() >> (random() % 20), 1000);
    const auto begin = whole.begin + static_cast<trace::time_ns>(random() % static_cast<std::uint64_t>(whole.length()));
    windows.push_back({begin, begin + length});
  }
  return windows;
}

/// Opens the file. If that fails, reports why and returns null.
std::shared_ptr<trace::file> open(const std::string& path) {
  const auto opened = trace::file::open(path, {.cache_bytes = std::size_t{32} << 20});  // As the window does.
  if (!opened) std::fprintf(stderr, "trace_queries: %s\n", opened.error().to_string().c_str());
  return opened ? *opened : nullptr;
}

using windows = std::vector<time_range>;

void wait_for_the_next_notch(const stopwatch& since) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(std::max(0.0, notch - since.ms())));
}

/// Queries a view of the whole trace, which a window shows before the user zooms in.
void show_the_whole(query::engine& engine, const query::track_list& tracks, standing_queries& queries) {
  ask(engine, query::tracks_query{});
  queries.draw(engine, tracks.span, true, 10'000);
}

/// The time of each window: the median of some passes, which excludes interruptions of a single pass.
template <class Pass>
std::vector<double> in_passes(const windows& seen, Pass&& pass) {
  constexpr std::size_t passes = 3;
  std::vector<std::vector<double>> lists;
  for (std::size_t i = 0; i < passes; ++i) lists.push_back(pass());
  std::vector<double> times;
  for (std::size_t w = 0; w < seen.size(); ++w) {
    std::vector<double> of_one;
    for (const std::vector<double>& each : lists) of_one.push_back(each[w]);
    std::sort(of_one.begin(), of_one.end());
    times.push_back(of_one[passes / 2]);
  }
  return times;
}

/// Like a user's wheel: a notch every 16 ms, whether or not the results have arrived.
void zoom_at_a_wheels_pace(const std::string& path, const query::track_list& tracks, const windows& seen) {
  std::size_t late = 0;
  const auto times = in_passes(seen, [&] {
    query::engine engine(open(path), {});
    standing_queries queries(tracks);
    show_the_whole(engine, tracks, queries);
    wait_for_the_next_notch(stopwatch());
    std::vector<double> of_pass;
    for (const auto& window : seen) {
      const stopwatch one;
      if (!queries.draw(engine, window, true, notch)) ++late;
      of_pass.push_back(one.ms());
      wait_for_the_next_notch(one);
    }
    return of_pass;
  });
  print("a notch of the wheel each 16 ms, all tracks, until exact", times);
  std::printf("of those not exact before the next notch: %zu\n", late);
}

/// Zooms like a view, which draws the first result that it gets.
void zoom_in_a_view(const std::string& path, const query::track_list& tracks, const windows& seen) {
  const auto times = in_passes(seen, [&] {
    query::engine engine(open(path), {});
    standing_queries queries(tracks);
    show_the_whole(engine, tracks, queries);
    std::vector<double> of_pass;
    for (const auto& window : seen) {
      const stopwatch one;
      queries.draw(engine, window, false, 10'000);
      of_pass.push_back(one.ms());
    }
    return of_pass;
  });
  print("a zoom or pan, all tracks, until drawn", times);
}

/// The time to query all tracks in each window, one after another.
std::vector<double> show(query::engine& engine, const query::track_list& tracks, const windows& seen, bool pauses) {
  std::vector<double> times;
  for (const auto& window : seen) {
    if (pauses) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(notch));
    const stopwatch one;
    ask_all_tracks(engine, tracks, window);
    times.push_back(one.ms());
  }
  return times;
}

void show_afresh(const std::string& path, const query::track_list& tracks, const windows& seen, const char* subject,
                 bool pauses) {
  const auto times = in_passes(seen, [&] {
    query::engine engine(open(path), {});
    ask(engine, query::tracks_query{});
    ask_all_tracks(engine, tracks, tracks.span);
    return show(engine, tracks, seen, pauses);
  });
  print(subject, times);
}

void ask_at_random_times(query::engine& engine, time_range whole) {
  std::vector<query::blocks_query> blocks;
  for (const trace::time_ns at : random_times(whole, 20)) {
    query::blocks_query query;
    query.range = {at, at + 1};
    blocks.push_back(query);
  }
  ask_twice(engine, "blocks live at a time", blocks);
}

/// Queries that cover more events than an index should hold.
void ask_about_half(query::engine& engine, time_range whole) {
  const time_range half{whole.begin + whole.length() / 4, whole.end - whole.length() / 4};
  const auto timed = [&](const char* subject, const auto& query) {
    const stopwatch one;
    ask(engine, query);
    print(subject, {one.ms()});
  };
  timed("figures of half the trace", query::statistics_query{half});
  query::blocks_query blocks;
  blocks.range = half;
  timed("blocks of half the trace", blocks);
  query::stacks_query stacks;
  stacks.range = half;
  timed("stacks at the peak of half the trace", stacks);
}

/// Uses a separate engine: otherwise results could come from parts that earlier queries have read.
void ask_for_maps(const std::string& path, time_range whole) {
  query::engine engine(open(path), {});
  ask(engine, query::tracks_query{});
  std::vector<query::memory_map_query> maps;
  for (const trace::time_ns at : random_times(whole, 20)) maps.push_back({at, std::nullopt, {}, width});
  ask_twice(engine, "address map of all segments at a time", maps);
}

int measure(const std::string& path, int wanted) {
  const stopwatch opening;
  const auto opened = open(path);
  if (opened == nullptr) return 1;
  std::shared_ptr<const query::track_list> tracks;
  windows seen;
  {
    query::engine engine(opened, {});
    tracks = ask(engine, query::tracks_query{});
    print("open until the tracks are known", {opening.ms()});
    const stopwatch first;
    ask_all_tracks(engine, *tracks, tracks->span);
    print("first look at all tracks", {first.ms()});
    std::printf("tracks: %zu\n", tracks->tracks.size());
    if (wanted == 0) return 0;
    seen = zooms_and_pans(tracks->span, wanted);
    static_cast<void>(show(engine, *tracks, seen, true));
    print("a zoom or pan, all tracks, again", in_passes(seen, [&] { return show(engine, *tracks, seen, false); }));
    ask_at_random_times(engine, tracks->span);
    ask_about_half(engine, tracks->span);
  }
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf("resident at most: %ld KiB\n", used.ru_maxrss);
  show_afresh(path, *tracks, seen, "a zoom or pan, all tracks, 16 ms after the last", true);
  show_afresh(path, *tracks, seen, "a zoom or pan, all tracks, without a pause", false);
  show_afresh(path, *tracks, jumps(tracks->span, wanted), "a jump to another place, all tracks", true);
  zoom_in_a_view(path, *tracks, seen);
  zoom_at_a_wheels_pace(path, *tracks, seen);
  ask_for_maps(path, tracks->span);
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: trace_queries FILE [WINDOWS]\n");
    return 2;
  }
  sluice::use_few_arenas();
  sluice::keep_freed_memory();  // As the window does.
  return sluice::measure(argv[1], argc > 2 ? std::atoi(argv[2]) : 100);
}
