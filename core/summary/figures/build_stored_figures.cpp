#include "core/summary/figures/build_stored_figures.hpp"

#include <algorithm>
#include <deque>
#include <future>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/threads/crew.hpp"
#include "core/summary/figures/stored_figures_builder.hpp"

namespace sluice::analysis {
namespace {

/// Large sections, in which many blocks live, are read one at a time.
constexpr std::uint64_t most_events_a_run = 200'000;
/// Indexes that are read while the figures of another are made. Reading one and finding what it tells alone takes about six
/// times as long as the longest piece of work on it that must follow those before.
std::size_t most_read_ahead() {
  constexpr std::size_t least = 2, most = 6;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, least, most);
}

}  // namespace

result<stored_figures> build_stored_figures(const section_reader& from, const unsectioned_facts& unsectioned,
                                            const stored_figures_options& options, const run_visitor& also,
                                            const std::function<bool()>& goes_on) {
  const std::size_t sections = from.sections().size();
  if (sections == 0 || options.sections_a_run == 0)
    return fail(error_code::invalid_argument, "there is nothing to gather", from.snapshot().path());
  stored_figures_builder all(from.snapshot(), *from.whole()->steps, unsectioned);
  const auto last_of = [&](std::size_t first) {
    std::size_t last = first;
    std::uint64_t events = from.sections().events(first);
    while (last + 1 < std::min(first + options.sections_a_run, sections)) {
      events += from.sections().events(last + 1);
      if (events > most_events_a_run) break;
      ++last;
    }
    return last;
  };
  // Of large sections, as of many processes, an index takes a quarter of the memory that all of this may take.
  bool large = false;
  for (std::size_t i = 0; i < sections; ++i) large = large || from.sections().events(i) > most_events_a_run;
  const std::size_t usual = options.several_cores ? most_read_ahead() : 1;
  const std::size_t most_coming = large ? 1 : std::max<std::size_t>(options.readers, options.readers == 0 ? usual : 1);
  // Of the crew, the first read and find what an index tells alone, the others do what must go in order.
  crew threads(most_coming + (options.several_cores ? stored_figures_builder::pieces + 1 : 0));
  std::size_t reads = 0;
  struct read_index {
    result<std::shared_ptr<const index>> made;
    run_findings found;
  };
  struct coming_index {
    std::size_t first = 0, last = 0;
    std::future<read_index> read;
  };
  const auto read = [&](std::size_t first, std::size_t last) {
    return coming_index{first, last, threads.start(reads++ % most_coming, [&, first, last] {
                          read_index made{from.index_of(first, last, section_scope::everything, goes_on), {}};
                          if (!made.made) return made;
                          static_cast<void>((*made.made)->tensors(from.snapshot()));  // All that follows asks for it.
                          made.found = all.find(**made.made, from.run_of(first, last));
                          return made;
                        })};
  };
  std::deque<coming_index> coming;
  std::size_t next = 0;
  const auto read_ahead = [&] {
    while (next < sections && coming.size() < most_coming) {
      const std::size_t last = last_of(next);
      coming.push_back(read(next, last));
      next = last + 1;
    }
  };
  for (read_ahead(); !coming.empty();) {
    coming_index now = std::move(coming.front());
    coming.pop_front();
    const read_index got = now.read.get();
    if (!got.made) return tl::unexpected(got.made.error());
    read_ahead();
    const index& run = **got.made;
    const time_range range = from.run_of(now.first, now.last);
    bool goes = true;
    std::vector<std::function<void()>> work;
    for (std::size_t piece = 0; piece < stored_figures_builder::pieces; ++piece)
      work.emplace_back([&, piece] { all.add_piece(piece, run, range); });
    work.emplace_back([&] { all.add_found(got.found, run, range); });
    if (also) work.emplace_back([&] { goes = also(run, now.first, now.last); });
    if (options.several_cores) {
      threads.do_at_once(most_coming, work);
    } else {
      for (const auto& piece : work) piece();
    }
    if (!goes) return fail(error_code::cancelled, "cancelled", from.snapshot().path());
  }
  // Each rank has its own peak, so many sections may be read once more, two at a time.
  std::set<std::size_t> again;
  for (const time_ns moment : all.moments()) again.insert(from.section_at(moment));
  const std::size_t at_once = options.several_cores ? 2 : 1;
  auto next_again = again.begin();
  const auto read_again = [&] {
    for (; next_again != again.end() && coming.size() < at_once; ++next_again) {
      const auto index = [&, section = *next_again] {
        return read_index{from.index_of(section, section, section_scope::everything, goes_on), {}};
      };
      coming.push_back({*next_again, *next_again, threads.start(reads++ % at_once, index)});
    }
  };
  for (read_again(); !coming.empty(); read_again()) {
    const std::size_t section = coming.front().first;
    const auto run = coming.front().read.get().made;
    coming.pop_front();
    if (!run) return tl::unexpected(run.error());
    all.look(**run, from.run_of(section, section));
  }
  return all.take();
}

}  // namespace sluice::analysis
