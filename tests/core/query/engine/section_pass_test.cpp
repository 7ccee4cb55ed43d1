#include "core/summary/passes/section_pass.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/generate/generate.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/summary/stored/recording_facts_format.hpp"
#include "core/trace/model/row_references.hpp"
#include "tests/core/metrics/training_recording.hpp"
#include "tests/core/recordings/copied_rows.hpp"
#include "tests/core/recordings/each_seed.hpp"
#include "tests/core/recordings/random_recording.hpp"
#include "tests/core/recordings/whole_sections.hpp"

/// A pass over the sections of a recording stores the same data as an index of the whole recording.
namespace sluice::query {
namespace {

using summary::section_reader;
using testing::indexed;
using testing::recording;

std::vector<trace::section_row> select_sections(const std::vector<time_ns>& begins, time_ns end) {
  std::vector<trace::section_row> sections;
  for (std::size_t i = 0; i < begins.size(); ++i)
    sections.push_back({begins[i], i + 1 < begins.size() ? begins[i + 1] : std::max(begins[i], end), 0});
  return sections;
}

void save_of_all(recording& recorded, const std::vector<time_ns>& begins) {
  recorded.flush();
  {
    const indexed loaded(recorded.open());
    const auto sections = select_sections(begins, loaded.snapshot->end());
    recorded.writer().add_summary<trace::section_row>(sections);
    summary::save_sections(loaded.index, *loaded.snapshot, sections, recorded.writer());
  }
  recorded.close();
}

void save_part_after_part(recording& recorded, const std::vector<time_ns>& begins,
                          const summary::section_pass_options& options = {}) {
  recorded.flush();
  {
    const auto file = recorded.open();
    const auto trace = file->latest();
    const auto sections = select_sections(begins, trace->end());
    recorded.writer().add_summary<trace::section_row>(sections);
    const auto begins_of_sections = summary::collect_begins(sections);
    summary::section_writer into(recorded.writer(), begins_of_sections);
    const summary::recording_scan known(*trace);
    const std::function<bool()> goes_on = [] { return true; };
    summary::section_pass pass(known, options);
    pass.begin(known.steps(), into, goes_on, goes_on);
    ASSERT_TRUE(pass.go_until(sections.size()));
    const auto found = pass.finish();
    ASSERT_TRUE(found.complete);
    ASSERT_TRUE(into.add_whole(found.whole));
  }
  recorded.close();
}

template <class Row>
std::string get_words(Row row) {
  std::string text;
  trace::for_each_member(row, [&](const auto& member) {
    using member_type = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::is_enum_v<member_type>) {
      text += fmt::format(" {}", static_cast<std::uint64_t>(member));
    } else {
      text += fmt::format(" {}", member);
    }
  });
  return text;
}

template <class Row>
void read_rows(const trace::snapshot& recording,
               const std::function<void(const trace::chunk_info&, const Row&)>& visit) {
  std::vector<Row> rows;
  for (const trace::chunk_info& chunk : recording.summaries()) {
    if (chunk.type != trace::type_of_row<Row>) continue;
    ASSERT_TRUE(recording.read_summary(chunk, rows));
    for (const Row& row : rows) visit(chunk, row);
  }
}

template <class Row>
std::set<std::string> get_rows(const trace::snapshot& recording) {
  std::set<std::string> strings;
  read_rows<Row>(recording, [&](const trace::chunk_info& chunk, const Row& row) {
    const bool everywhere = chunk.min_time == INT64_MIN;
    strings.insert((everywhere ? "everywhere" : "") + get_words(row));
  });
  return strings;
}

/// The last stored category of each block, with the section whose readers use that category.
std::set<std::string> get_categories(const trace::snapshot& recording) {
  std::map<trace::block_id, std::string> last;
  read_rows<trace::block_category_row>(
      recording, [&](const trace::chunk_info& chunk, const trace::block_category_row& row) {
        last[row.block] = row.category == 0 ? "" : fmt::format("{}:{}", chunk.min_time, get_words(row));
      });
  std::set<std::string> strings;
  for (const auto& [block, words] : last) strings.insert(words);
  strings.erase("");
  return strings;
}

void expect_same(const char* subject, const std::set<std::string>& of_all, const std::set<std::string>& swept) {
  std::vector<std::string> missing, more;
  std::set_difference(of_all.begin(), of_all.end(), swept.begin(), swept.end(), std::back_inserter(missing));
  std::set_difference(swept.begin(), swept.end(), of_all.begin(), of_all.end(), std::back_inserter(more));
  for (auto* list : {&missing, &more})
    if (list->size() > 5) list->resize(5);
  EXPECT_TRUE(missing.empty() && more.empty()) << subject << "\nmissing:\n"
                                               << fmt::format("{}", fmt::join(missing, "\n")) << "\nmore:\n"
                                               << fmt::format("{}", fmt::join(more, "\n"));
}

/// The facts as text, in any order. The highest values of categories are left out, because the pass does not compute
/// them.
std::set<std::string> facts_in_words(const index::recording_facts& facts) {
  std::set<std::string> strings;
  const auto key = [](const index::memory_key& k) {
    return fmt::format("{} {} {}", raw(k.device), static_cast<int>(k.layer), static_cast<int>(k.kind));
  };
  for (const auto& m : facts.memories) {
    std::string words = fmt::format("memory {} highest {} stacks {}:", key(m.key), m.highest, m.stacks);
    for (const auto& part : m.by_category) words += fmt::format(" {}", static_cast<int>(part.kind));
    strings.insert(words);
  }
  for (const auto& p : facts.pools)
    strings.insert(fmt::format("pool {} {} {} {}", raw(p.pool), p.has_segments, p.has_blocks, p.highest));
  for (const auto& u : facts.not_tracked)
    strings.insert(fmt::format("not tracked {} {} {} {}", raw(u.device), u.time, u.value, u.order));
  for (const auto& s : facts.streams)
    strings.insert(
        fmt::format("stream {} {} {}: {}", raw(s.key.process), raw(s.key.device), raw(s.key.stream), s.lanes));
  for (const auto& d : facts.directions)
    strings.insert(fmt::format("direction {} {}: {} {}", raw(d.key.device), static_cast<int>(d.key.direction), d.lanes,
                               d.highest_rate));
  for (const auto& t : facts.threads)
    strings.insert(
        fmt::format("thread {} {}: {} {}", raw(t.key.process), raw(t.key.thread), t.range_lanes, t.call_lanes));
  for (const auto& d : facts.with_kernels) strings.insert(fmt::format("kernels on {}", raw(d)));
  for (const auto& g : facts.graphs)
    strings.insert(fmt::format("graph {} names {}: {} {} {} {}", raw(g.use.graph), raw(g.block), g.use.nodes,
                               raw(g.use.first), raw(g.use.last), g.copies));
  for (const auto& s : facts.segments) strings.insert(fmt::format("segment {}", raw(s)));
  strings.insert(fmt::format("touches {} tagged {}", facts.touches, facts.tagged));
  return strings;
}

/// The facts of a version, as the file stores them.
index::recording_facts facts_of_version(std::uint32_t version, const trace::snapshot& recording) {
  index::recording_facts facts;
  bool there = false;
  read_rows<trace::saved_row>(recording, [&](const trace::chunk_info&, const trace::saved_row& row) {
    if (row.name != summary::sections_name || row.version != version) return;
    summary::value_reader words(row.bytes, 4 * summary::max_saved_bytes);
    words.get(facts);
    there = !words.failed() && words.at_end();
  });
  EXPECT_TRUE(there) << version;
  return facts;
}

/// Expects both recordings to store the same data about their sections. If rows contradict each other
/// (`contradictions`), it is unspecified which row counts, so the data of the affected blocks may differ.
void expect_same_parts(const recording& of_all, const recording& swept, bool contradictions = false) {
  const auto expected = of_all.open()->latest();
  const auto found = swept.open()->latest();
  if (contradictions) {
    std::set<trace::block_id> one, other;
    for (auto& [trace, blocks] : {std::pair(expected, &one), std::pair(found, &other)})
      read_rows<trace::boundary_block_row>(*trace, [into = blocks](const trace::chunk_info& chunk, const auto& row) {
        if (chunk.min_time == INT64_MIN) into->insert(row.block);
      });
    EXPECT_TRUE(std::includes(one.begin(), one.end(), other.begin(), other.end()));
    EXPECT_GE(2 * other.size(), one.size());
    return;
  }
  expect_same("crossing blocks", get_rows<trace::boundary_block_row>(*expected),
              get_rows<trace::boundary_block_row>(*found));
  expect_same("uses", get_rows<trace::block_uses_row>(*expected), get_rows<trace::block_uses_row>(*found));
  expect_same("categories", get_categories(*expected), get_categories(*found));
  expect_same("open slices", get_rows<trace::open_slice_row>(*expected), get_rows<trace::open_slice_row>(*found));
  expect_same("chunks", get_rows<trace::chunk_reach_row>(*expected), get_rows<trace::chunk_reach_row>(*found));
  expect_same("steps", get_rows<trace::step_row>(*expected), get_rows<trace::step_row>(*found));
  expect_same("samples", get_rows<trace::last_sample_row>(*expected), get_rows<trace::last_sample_row>(*found));
  const index::recording_facts in_short = facts_of_version(summary::sections_version, *found);
  index::recording_facts full = facts_of_version(summary::full_sections_version, *found);
  expect_same("the whole", facts_in_words(facts_of_version(summary::full_sections_version, *expected)),
              facts_in_words(full));
  EXPECT_TRUE(in_short.not_tracked.empty() && in_short.segments.empty()) << "they grow with the recording";
  const auto store = section_reader::open(found, nullptr);
  ASSERT_TRUE(store) << store.error().to_string();
  EXPECT_EQ(facts_in_words(*(*store)->whole()), facts_in_words(in_short));
  EXPECT_EQ((*store)->whole_with_segments()->segments, full.segments);
  full.not_tracked.clear();
  full.segments.clear();
  EXPECT_EQ(facts_in_words(in_short), facts_in_words(full));
}

TEST(sweep_of_a_random_recording, finds_what_an_index_of_all_knows) {
  testing::for_each_seed(1, 200, [](std::uint64_t seed) {
    const bool hostile = seed % 4 == 0;
    random_recording of_all(seed, hostile), swept(seed, hostile);
    const auto begins = of_all.begins();
    save_of_all(of_all.recorded, begins);
    save_part_after_part(swept.recorded, begins);
    expect_same_parts(of_all.recorded, swept.recorded, hostile);
  });
}

/// The category of a block depends on the program's other events during the block's lifetime, in any section.
TEST(sweep_of_a_training, finds_what_an_index_of_all_knows) {
  testing::for_each_seed(1, 40, [](std::uint64_t seed) {
    const testing::training_options options{.named_threads = seed % 2 == 0,
                                            .linked_backward = seed % 3 == 0,
                                            .keep_gradients = seed % 5 == 0,
                                            .libraries = true};
    recording of_all(64), swept(64);
    testing::training(of_all, options).tell();
    testing::training reported(swept, options);
    reported.tell();
    std::mt19937_64 random(seed);
    std::set<time_ns> begins{0};
    for (std::uint64_t i = 0; i < 1 + 4 * seed; ++i)
      begins.insert(static_cast<time_ns>(random() % static_cast<std::uint64_t>(reported.now())));
    save_of_all(of_all, {begins.begin(), begins.end()});
    save_part_after_part(swept, {begins.begin(), begins.end()});
    expect_same_parts(of_all, swept);
  });
}

class sweep_of_a_program : public ::testing::TestWithParam<generate::generate_options> {};

TEST_P(sweep_of_a_program, finds_what_an_index_of_all_knows) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("sluice-sweep-{}.sluice", ::getpid())).string();
  ASSERT_TRUE(generate::generate(GetParam(), path));
  recording of_all(2048), swept(2048), with_little_memory(2048);
  {
    const auto file = trace::file::open(path).value();
    for (recording* each : {&of_all, &swept, &with_little_memory}) testing::copy_rows(*file->latest(), each->writer());
  }
  std::filesystem::remove(path);
  of_all.flush();
  const auto trace = of_all.open()->latest();
  std::mt19937_64 random(GetParam().seed);
  std::set<time_ns> begins{trace->begin()};
  for (int i = 0; i < 30; ++i)
    begins.insert(trace->begin() +
                  static_cast<time_ns>(random() % static_cast<std::uint64_t>(trace->end() - trace->begin())));
  save_of_all(of_all, {begins.begin(), begins.end()});
  save_part_after_part(swept, {begins.begin(), begins.end()});
  expect_same_parts(of_all, swept);
  save_part_after_part(with_little_memory, {begins.begin(), begins.end()}, {.several_cores = false, .max_kept = 4});
  expect_same_parts(of_all, with_little_memory);
}

INSTANTIATE_TEST_SUITE_P(
    programs, sweep_of_a_program,
    ::testing::Values(generate::generate_options{.events = 100'000, .seed = 1},
                      generate::generate_options{.events = 100'000, .seed = 2, .timeline = false, .processes = 2},
                      generate::generate_options{
                          .events = 100'000, .seed = 3, .pattern = generate::program_pattern::inference}));

}  // namespace
}  // namespace sluice::query
