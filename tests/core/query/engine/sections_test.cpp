#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "core/generate/generate.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/trace/file/visit.hpp"
#include "tests/core/query/results/results_in_words.hpp"
#include "tests/core/recordings/copied_rows.hpp"
#include "tests/core/recordings/each_seed.hpp"
#include "tests/core/recordings/random_recording.hpp"
#include "tests/core/recordings/whole_sections.hpp"

/// An index of a part gives the same result for every query about that part as the index of the whole recording.
namespace sluice::query {
namespace {

using index::event_store;
using summary::section_reader;
using testing::indexed;
using testing::recording;

// --- a recording and its parts --------------------------------------------------------------------------------------

class parts {
 public:
  parts(recording& recorded, std::vector<time_ns> begins) {
    recorded.flush();
    {
      const indexed before(recorded.open());
      const time_ns end = before.snapshot->end();
      std::vector<trace::section_row> sections;
      for (std::size_t i = 0; i < begins.size(); ++i)
        sections.push_back({begins[i], i + 1 < begins.size() ? begins[i + 1] : std::max(begins[i], end), 0});
      recorded.writer().add_summary<trace::section_row>(sections);
      summary::save_sections(before.index, *before.snapshot, sections, recorded.writer());
    }
    recorded.close();
    whole = std::make_unique<indexed>(recorded.open());
    auto opened = section_reader::open(whole->snapshot, whole->index.tensors(*whole->snapshot)->steps);
    EXPECT_TRUE(opened) << opened.error().to_string();
    store = *opened;
  }

  const trace::snapshot& now() const { return *whole->snapshot; }

  std::unique_ptr<indexed> whole;
  std::shared_ptr<const section_reader> store;
};

/// Compares the results of both indexes for ranges and times inside a random run of sections.
class examiner {
 public:
  examiner(const parts& subject, std::uint64_t seed) : of_(subject), random_(seed) {
    first_ = random_() % subject.store->sections().size();
    last_ = first_ + random_() % std::min<std::size_t>(3, subject.store->sections().size() - first_);
    run_ = subject.store->find_run(first_, last_);
    run_.begin = std::max(run_.begin, subject.now().begin() - 10);
    run_.end = std::min(run_.end, subject.now().end() + 10);
    run_.end = std::max(run_.begin + 1, run_.end);
  }

  time_ns moment() { return run_.begin + static_cast<time_ns>(random_() % static_cast<std::uint64_t>(run_.length())); }
  time_range range() {
    if (random_() % 8 == 0) return run_;
    const time_ns a = moment(), b = moment();
    return {std::min(a, b), std::max(a, b) + 1};
  }

  /// The index of the smallest part that answers the query.
  template <class Query>
  const index::event_store& part_for(const Query& query) {
    std::shared_ptr<const index::event_store>& known = made_[get_scope(query)];
    if (known == nullptr) {
      auto output = of_.store->get_index(first_, last_, get_scope(query));
      EXPECT_TRUE(output) << output.error().to_string();
      known = *output;
    }
    return *known;
  }

  template <class Query>
  void expect_same(const Query& query, const std::string& about) {
    const std::string expected = ask(query, of_.whole->index, of_.now());
    const std::string found = ask(query, part_for(query), of_.now());
    if (expected == found) return;
    const auto [e, f] = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
    const auto around = [](const std::string& text, auto at) {
      const auto place = static_cast<std::size_t>(at - text.begin());
      return text.substr(place < 300 ? 0 : place - 300, 600);
    };
    ADD_FAILURE() << about << ", sections " << first_ << ".." << last_ << " [" << run_.begin << ", " << run_.end
                  << ")\nof all: ..." << around(expected, e) << "\nof the part: ..." << around(found, f);
  }

  void ask_everything() {
    const time_range asked = range();
    const std::string when = fmt::format("[{}, {})", asked.begin, asked.end);
    expect_same(statistics_query{asked}, "statistics " + when);
    blocks_query blocks{asked, {}, random_() % 4 == 0, static_cast<block_column>(random_() % 12), true, ""};
    if (random_() % 3 == 0) blocks.layer = static_cast<trace::layer>(random_() % 4);
    blocks.with_uses = random_() % 2 == 0;
    blocks.only_unused = random_() % 6 == 0;
    if (random_() % 6 == 0) blocks.min_bytes = random_() % 1000;
    if (random_() % 6 == 0) blocks.filter = "1";
    expect_same(blocks, "blocks " + when);
    memory_map_query map;
    map.time = moment();
    map.width = static_cast<std::uint32_t>(1 + random_() % 50);
    map.lone = map.width % 2 == 0;
    if (map.width % 3 == 0) map.pixel = 1 + map.width * 6;
    if (map.time % 3 == 0) map.device = trace::device_id{map.width % 3};
    expect_same(map, fmt::format("address map at {}", map.time));
    ask_stacks(asked, when);
    ask_tracks(asked, when);
  }

  void ask_stacks(time_range asked, const std::string& when) {
    for (const stack_measure measure : {stack_measure::peak, stack_measure::live, stack_measure::allocated,
                                        stack_measure::transferred, stack_measure::host}) {
      stacks_query query;
      query.range = asked;
      query.measure = measure;
      query.at = moment();
      if (random_() % 2 == 0) query.layer = static_cast<trace::layer>(random_() % 4);
      if (measure == stack_measure::host) {
        query.weight = random_() % 2 == 0 ? metrics::stack_weight::busy : metrics::stack_weight::alone;
        if (random_() % 3 == 0) query.device = trace::device_id{1 + random_() % 2};
        if (random_() % 3 == 0) query.thread = trace::thread_id{1 + random_() % 2};
        if (random_() % 3 == 0) query.state = static_cast<trace::host_state>(random_() % trace::host_state_count);
      }
      expect_same(query, fmt::format("stacks {} at {} {}", static_cast<int>(measure), query.at, when));
    }
  }

  void ask_tracks(time_range asked, const std::string& when) {
    const std::atomic<bool> never{false};
    symbols::frame_cache frames;
    bool provisional = false;
    const auto list = result_to(tracks_query{}, sources{.index = of_.whole->index,
                                                        .trace = of_.now(),
                                                        .cancelled = never,
                                                        .frames = frames,
                                                        .provisional = provisional});
    for (const track& row : list->tracks) {
      const auto width = static_cast<std::uint32_t>(1 + random_() % 50);
      expect_same(slices_query{row.id, asked, width}, "slices of " + row.label + " " + when);
      for (const bool by_category : {false, true})
        expect_same(series_query{row.id, asked, width, by_category}, "series of " + row.label + " " + when);
    }
  }

  /// Queries details of blocks that are live in the run, and of events in the run; at most `most` of each.
  void ask_details(std::size_t most) {
    std::vector<details_query> queries;
    for (const index::block_record& block : of_.whole->index.memory().blocks())
      if (block.allocated && block.live_in(run_)) queries.push_back({{}, block.id});
    for (std::size_t i = 0; i < of_.now().chunks().size(); ++i) {
      EXPECT_TRUE(trace::visit_events(of_.now(), i, [&](const auto& row) {
        if (row.time >= run_.begin && row.time < run_.end) queries.push_back({row.id, {}});
      }));
    }
    std::shuffle(queries.begin(), queries.end(), random_);
    if (queries.size() > most) queries.resize(most);
    for (const details_query& each : queries)
      expect_same(each, fmt::format("details of event {} or block {}", raw(each.event), raw(each.block)));
  }

 private:
  const parts& of_;
  std::mt19937_64 random_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  std::map<index::section_scope, std::shared_ptr<const index::event_store>> made_;
  time_range run_;
};

TEST(part_of_a_random_recording, results_as_the_whole_does) {
  testing::for_each_seed(1, 60, [](std::uint64_t seed) {
    random_recording reported(seed, seed % 4 == 0);
    const parts whole(reported.recorded, reported.begins());
    for (std::uint64_t i = 0; i < 6 && !::testing::Test::HasFailure(); ++i) {
      examiner subject(whole, seed * 100 + i);
      for (int queries = 0; queries < 4 && !::testing::Test::HasFailure(); ++queries) subject.ask_everything();
      subject.ask_details(150);
    }
  });
}

// --- recordings of programs -----------------------------------------------------------------------------------------

class part_of_a_generated_recording : public ::testing::TestWithParam<generate::generate_options> {};

TEST_P(part_of_a_generated_recording, results_as_the_whole_does) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("sluice-parts-{}.sluice", ::getpid())).string();
  ASSERT_TRUE(generate::generate(GetParam(), path));
  recording recorded(2048);
  {
    const auto file = trace::file::open(path).value();
    testing::copy_rows(*file->latest(), recorded.writer());
  }
  std::filesystem::remove(path);
  std::mt19937_64 random(GetParam().seed);
  recorded.flush();
  const auto flushed = recorded.open()->latest();
  const time_ns begin = flushed->begin(), end = flushed->end();
  std::set<time_ns> begins{begin};
  for (int i = 0; i < 9; ++i)
    begins.insert(begin + static_cast<time_ns>(random() % static_cast<std::uint64_t>(end - begin)));
  const parts whole(recorded, {begins.begin(), begins.end()});
  for (std::uint64_t i = 0; i < 3 && !HasFailure(); ++i) {
    examiner subject(whole, GetParam().seed * 10 + i);
    for (int queries = 0; queries < 2 && !HasFailure(); ++queries) subject.ask_everything();
    subject.ask_details(60);
  }
}

INSTANTIATE_TEST_SUITE_P(
    programs, part_of_a_generated_recording,
    ::testing::Values(generate::generate_options{.events = 60'000, .seed = 1},
                      generate::generate_options{.events = 60'000, .seed = 2, .timeline = false, .processes = 2},
                      generate::generate_options{
                          .events = 60'000, .seed = 3, .pattern = generate::program_pattern::inference}));

}  // namespace
}  // namespace sluice::query
