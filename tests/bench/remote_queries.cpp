// Response times of a window that shows a recording on another machine: the first view of the timeline, and zooms.
//
//     remote_queries ADDRESS        such as ssh://HOST/PATH; slow_line.py makes the line slow
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <vector>

#include "core/query/engine/engine.hpp"
#include "core/remote/address.hpp"

namespace {

using namespace sluice;
using clock_type = std::chrono::steady_clock;

constexpr std::uint32_t width = 1600;
/// As many rows as fit into a window of 1600x900.
constexpr std::size_t max_tracks = 14;

double ms_since(clock_type::time_point begin) {
  return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}

/// The timeline rows that a view shows.
class view {
 public:
  view(query::engine& engine, const query::track_list& tracks) : from_(engine) {
    for (const query::track& each : tracks.tracks) {
      if (rows_.size() == max_tracks) break;
      const bool slices = each.kind == query::track_kind::direction || each.kind == query::track_kind::stream ||
                          each.kind == query::track_kind::host_thread || each.kind == query::track_kind::steps;
      rows_.push_back({each.id, slices, {}, {}});
    }
  }
  /// Queries all rows. Returns true if all results are complete.
  bool draw(time_range range) {
    bool complete = true;
    for (row& each : rows_) {
      if (each.is_slices) {
        complete = each.slices.ask(from_, {each.id, range, width}).complete && complete;
      } else {
        complete = each.series.ask(from_, {each.id, range, width, true}).complete && complete;
      }
    }
    return complete;
  }

 private:
  struct row {
    std::uint64_t id;
    bool is_slices;
    query::slot<query::slices_query> slices;
    query::slot<query::series_query> series;
  };
  query::engine& from_;
  std::vector<row> rows_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  std::mutex mutex;
  std::condition_variable changed;
  const auto begin = clock_type::now();
  auto opened = remote::open_address(words[1], {}, {});
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().to_string().c_str());
    return 1;
  }
  const double connected = ms_since(begin);
  query::engine engine(opened->file, {.threads = 1, .wake = [&] { changed.notify_all(); }});
  const auto tracks = engine.ask_now(query::tracks_query{});
  if (!tracks) return 1;
  const double listed = ms_since(begin);
  view shown(engine, **tracks);
  const auto wait_for = [&](time_range range) {
    const auto since = clock_type::now();
    std::unique_lock lock(mutex);
    while (!shown.draw(range)) changed.wait_for(lock, std::chrono::milliseconds(2));
    return ms_since(since);
  };
  wait_for((*tracks)->span);
  std::printf("open %.0f ms, tracks %.0f ms, first picture %.0f ms\n", connected, listed, ms_since(begin));
  std::vector<double> zooms;
  time_range range = (*tracks)->span;
  while (range.length() > 100'000 && zooms.size() < 30) {
    const auto cut = range.length() / 5;
    range = {range.begin + cut, range.end - cut};
    zooms.push_back(wait_for(range));
  }
  std::sort(zooms.begin(), zooms.end());
  if (!zooms.empty())
    std::printf("%zu zooms: median %.0f ms, slowest %.0f ms\n", zooms.size(), zooms[zooms.size() / 2], zooms.back());
  return 0;
}
