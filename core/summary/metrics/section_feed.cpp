#include "core/summary/metrics/section_feed.hpp"

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::summary {
namespace {

/// Large sections, which have many live blocks, are read one at a time.
constexpr std::uint64_t max_events_a_run = 200'000;

/// Reading an event store and computing what does not depend on other event stores takes about six times as long as the
/// longest piece of work that must follow earlier event stores.
std::size_t ahead_on_several_cores() {
  constexpr std::size_t least = 2, most = 6;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, least, most);
}

std::size_t get_ahead(const section_reader& reader, const stored_metrics_options& options) {
  // If sections are large, as with many processes, one event store takes a quarter of the memory that is allowed for
  // all event stores.
  for (std::size_t i = 0; i < reader.sections().size(); ++i)
    if (reader.sections().events(i) > max_events_a_run) return 1;
  if (options.readers > 0) return options.readers;
  return options.several_cores ? ahead_on_several_cores() : 1;
}

struct read_index {
  result<std::shared_ptr<const index::event_store>> store;
  metrics::run_findings found;
};

struct coming_index {
  std::size_t first = 0, last = 0;
  std::future<read_index> read;
};

/// Event stores in the order in which they are needed. The destructor waits for threads that are still reading.
class coming_indexes {
 public:
  coming_indexes() = default;
  ~coming_indexes() {
    for (const coming_index& each : all_) each.read.wait();
  }
  coming_indexes(const coming_indexes&) = delete;
  coming_indexes& operator=(const coming_indexes&) = delete;

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  void push(coming_index next) { all_.push_back(std::move(next)); }
  coming_index pop() {
    coming_index first = std::move(all_.front());
    all_.pop_front();
    return first;
  }

 private:
  std::deque<coming_index> all_;
};

}  // namespace

section_feed::section_feed(const section_reader& reader, const stored_metrics_options& options,
                           const std::function<bool()>& goes_on)
    : from_(reader),
      options_(options),
      goes_on_(goes_on),
      ahead_(get_ahead(reader, options)),
      threads_(options.one_thread ? 0 : ahead_ + (options.several_cores ? stored_metrics_builder::pieces + 1 : 0)) {}

std::size_t section_feed::compute_last(std::size_t first, std::size_t behind) const {
  std::size_t last = first;
  std::uint64_t events = from_.sections().events(first);
  while (last + 1 < std::min(first + options_.sections_a_run, behind)) {
    events += from_.sections().events(last + 1);
    if (events > max_events_a_run) break;
    ++last;
  }
  return last;
}

std::size_t section_feed::end_of_runs(std::size_t first, std::size_t behind) const {
  for (;;) {
    const std::size_t next = compute_last(first, from_.sections().size()) + 1;
    if (first >= behind || next > behind) return first;
    first = next;
  }
}

result<void> section_feed::add(stored_metrics_builder& to, std::size_t first, std::size_t behind,
                               const run_visitor& also) {
  if (from_.sections().size() == 0 || options_.sections_a_run == 0)
    return fail(error_code::invalid_argument, "the recording has no sections", from_.snapshot().path());
  std::size_t reads = 0;
  const auto read = [&](std::size_t begin, std::size_t last) {
    auto work = [&, begin, last] {
      read_index output{from_.get_index(begin, last, index::section_scope::everything, goes_on_), {}};
      if (!output.store) return output;
      static_cast<void>((*output.store)->tensors(from_.snapshot()));  // All later work needs the tensors.
      output.found = to.find(**output.store, from_.find_run(begin, last));
      return output;
    };
    return coming_index{begin, last, threads_.start(reads++ % ahead_, std::move(work))};
  };
  coming_indexes coming;
  std::size_t next = first;
  const auto read_ahead = [&] {
    while (next < behind && coming.size() < ahead_) {
      const std::size_t last = compute_last(next, behind);
      coming.push(read(next, last));
      next = last + 1;
    }
  };
  for (read_ahead(); coming.size() > 0;) {
    coming_index now = coming.pop();
    const read_index got = now.read.get();
    if (!got.store) return tl::unexpected(got.store.error());
    read_ahead();
    const index::event_store& run = **got.store;
    const time_range range = from_.find_run(now.first, now.last);
    bool goes = true;
    std::vector<std::function<void()>> work;
    for (std::size_t piece = 0; piece < stored_metrics_builder::pieces; ++piece)
      work.emplace_back([&, piece] { to.add_piece(piece, run, range); });
    work.emplace_back([&] { to.add_found(got.found, run, range); });
    if (also) work.emplace_back([&] { goes = also(run, now.first, now.last); });
    threads_.do_at_once(ahead_, work);
    if (!goes) return fail(error_code::cancelled, "cancelled", from_.snapshot().path());
  }
  return {};
}

result<void> section_feed::revisit(stored_metrics_builder& at) {
  std::set<std::size_t> wanted;
  for (const time_ns moment : at.moments()) wanted.insert(from_.section_at(moment));
  const std::size_t at_once = options_.several_cores ? 2 : 1;
  coming_indexes coming;
  auto next = wanted.begin();
  std::size_t reads = 0;
  const auto read_ahead = [&] {
    for (; next != wanted.end() && coming.size() < at_once; ++next) {
      const auto index = [&, section = *next] {
        return read_index{from_.get_index(section, section, index::section_scope::everything, goes_on_), {}};
      };
      coming.push({*next, *next, threads_.start(reads++ % at_once, index)});
    }
  };
  for (read_ahead(); coming.size() > 0; read_ahead()) {
    coming_index now = coming.pop();
    const auto run = now.read.get().store;
    if (!run) return tl::unexpected(run.error());
    at.revisit(**run, from_.find_run(now.first, now.last));
  }
  return {};
}

}  // namespace sluice::summary
