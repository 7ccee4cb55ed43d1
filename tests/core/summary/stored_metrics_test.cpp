#include "core/summary/stored/stored_metrics.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "core/generate/generate.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/stored/stored_metrics_format.hpp"
#include "tests/core/recordings/eventful_recording.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/whole_sections.hpp"
#include "tests/core/trace/random_rows.hpp"

namespace sluice::summary {
namespace {

using testing::indexed;
using testing::recording;

const std::atomic<bool> wanted{false};

std::string get_bytes(const stored_metrics& subject) { return encode_stored_metrics(subject).value(); }

/// Serializes any stored struct, to compare values that cannot be compared member by member.
template <class T>
std::string kept(const T& value) {
  std::string bytes;
  value_writer(bytes).put(value);
  return bytes;
}

/// Expects that metrics read back from bytes equal those of the index.
void expect_exact(const indexed& loaded) {
  const stored_metrics output = make_stored_metrics(loaded.index, *loaded.snapshot);
  const std::string bytes = get_bytes(output);
  const auto read = decode_stored_metrics(bytes);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(get_bytes(*read), bytes);

  const time_range whole = index::recorded_range(*loaded.snapshot);
  EXPECT_EQ(read->span, whole);
  EXPECT_EQ(kept(read->metrics.whole), kept(metrics::measure(loaded.index, loaded.snapshot->tables(), whole)));
  for (const memory_stacks& memory : read->memory) {
    const metrics::block_filter filter = memory.memory.filter();
    const time_ns peak = metrics::peak_time(loaded.index.memory(), filter, whole, wanted);
    EXPECT_EQ(kept(memory.at_peak), kept(metrics::live_stacks(loaded.index.memory(), filter, peak, wanted)));
    EXPECT_EQ(kept(memory.allocated), kept(metrics::allocating_stacks(loaded.index.memory(), filter, whole, wanted)));
  }
  for (const copy_stacks& copies : read->copies) {
    const metrics::copy_filter filter{copies.device, copies.direction};
    EXPECT_EQ(kept(copies.use), kept(metrics::copying_stacks(loaded.index, filter, whole, wanted)));
  }
  EXPECT_EQ(kept(read->all_copies), kept(metrics::copying_stacks(loaded.index, {}, whole, wanted)));

  const auto facts = loaded.index.tensors(*loaded.snapshot);
  // The steps themselves are stored as separate rows.
  ASSERT_EQ(read->steps.size(), facts->steps->lists().size());
  for (const index::process_steps& process : read->steps) {
    EXPECT_EQ(process.steps.source, facts->steps->lists().at(process.process).source);
    EXPECT_TRUE(process.steps.steps.empty());
  }

  // The expected blocks, computed in a slow, simple way.
  std::vector<const index::block_record*> blocks;
  std::vector<block_sum> sums(trace::layer_count);
  for (const index::block_record& block : loaded.index.memory().blocks()) {
    if (!block.allocated || !block.live_in(whole)) continue;
    blocks.push_back(&block);
    ++sums[static_cast<std::size_t>(block.layer)].count;
    sums[static_cast<std::size_t>(block.layer)].bytes += block.bytes;
  }
  ASSERT_EQ(read->blocks.size(), sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_EQ(read->blocks[i].count, sums[i].count);
    EXPECT_EQ(read->blocks[i].bytes, sums[i].bytes);
  }
  EXPECT_EQ(read->uses_known, !loaded.index.touches().empty());
  std::stable_sort(blocks.begin(), blocks.end(), [](const index::block_record* a, const index::block_record* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->id < b->id;
  });
  std::vector<std::size_t> of_layer(trace::layer_count);
  std::erase_if(blocks, [&](const index::block_record* block) {
    return ++of_layer[static_cast<std::size_t>(block->layer)] > stored_metrics::block_limit;
  });
  ASSERT_EQ(read->largest.size(), blocks.size());
  for (std::size_t i = 0; i < read->largest.size(); ++i) {
    const metrics::listed_block& listed = read->largest[i];
    EXPECT_EQ(listed.block, blocks[i]->id);
    EXPECT_EQ(listed.bytes, blocks[i]->bytes);
    EXPECT_EQ(listed.died, blocks[i]->died);
    const index::block_touches uses =
        loaded.index.touches().empty() ? index::block_touches{} : loaded.index.touches().of(*blocks[i]);
    EXPECT_EQ(listed.uses, uses.count());
    EXPECT_EQ(listed.first_use, uses.first.time);
    EXPECT_EQ(listed.last_use, uses.last.time);
    const auto position = static_cast<std::size_t>(blocks[i] - loaded.index.memory().blocks().data());
    EXPECT_EQ(listed.category.kind, facts->categories[position].kind);
    EXPECT_EQ(listed.category.why, facts->categories[position].why);
  }
}

TEST(stored_metrics, says_what_the_index_says) {
  recording recorded(100);
  testing::tell_a_lot(recorded);
  recorded.close();
  const indexed loaded(recorded.open());
  expect_exact(loaded);
  const stored_metrics subject = make_stored_metrics(loaded.index, *loaded.snapshot);
  const metrics::report_metrics& metrics = subject.metrics;
  // Empty metrics would make the test meaningless.
  EXPECT_FALSE(metrics.watermarks.empty() || metrics.peaks.empty() || metrics.held.empty() || metrics.unfreed.empty() ||
               metrics.copied.empty() || metrics.failures.empty() || metrics.faults.empty() ||
               metrics.compositions.empty() || metrics.steps.empty() || metrics.unused.empty() ||
               metrics.duplicates.stacks.empty() || metrics.marks.empty() || metrics.messages.empty());
  EXPECT_FALSE(subject.memory.empty() || subject.copies.empty() || subject.steps.empty() || subject.losses.empty() ||
               subject.largest.empty());
}

TEST(stored_metrics, is_exact_for_real_recordings) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/assets/recordings")) {
    if (entry.path().extension() != ".sluice") continue;
    // The failure in this one is described from the section that it is in, not from the whole recording.
    if (entry.path().stem() == "out-of-memory") continue;
    SCOPED_TRACE(entry.path().string());
    expect_exact(indexed(trace::file::open(entry.path().string()).value()));
    ++read;
  }
  EXPECT_GT(read, 5);
}

TEST(stored_metrics, is_exact_for_generated_recordings) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("sluice-digest-" + std::to_string(::getpid()) + ".sluice")).string();
  for (const auto pattern : {generate::program_pattern::training, generate::program_pattern::inference}) {
    generate::generate_options options;
    options.events = 20'000;
    options.pattern = pattern;
    options.processes = 2;
    ASSERT_TRUE(generate::generate(options, path));
    expect_exact(indexed(trace::file::open(path).value()));
  }
  std::filesystem::remove(path);
}

TEST(stored_metrics, of_nothing_is_one_too) {
  recording recorded;
  recorded.close();
  expect_exact(indexed(recorded.open()));
}

/// Makes a row's signed numbers valid for storage.
template <class Row>
void tame(Row& row) {
  const auto one = [](auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, std::int64_t>) member %= std::int64_t{1} << 40;
  };
  trace::schema<Row>::apply([&](const auto&... column) { (one(row.*column.member), ...); });
}

template <class Row>
void add_random(recording& recorded, std::mt19937_64& random, bool tamed) {
  for (int i = 0; i < 40; ++i) {
    Row row = trace::testing::random_row<Row>(random);
    if (tamed) tame(row);
    if constexpr (trace::is_event_row<Row>) {
      const time_ns extremes[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
      if (!tamed && random() % 4 == 0) row.time = extremes[random() % 7];
      row.id = trace::event_id{1 + random() % 1000};
    }
    recorded.writer().add(row);
  }
}

TEST(stored_metrics, of_a_recording_that_lies_is_exact_or_none) {
  int kept_any = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    recording recorded(50);
#define SLUICE_ADD(row, kind) \
  if constexpr (!std::is_same_v<trace::row, trace::index_row>) add_random<trace::row>(recorded, random, seed % 4 != 0);
    SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
    recorded.close();
    const indexed loaded(recorded.open());
    if (!encode_stored_metrics(make_stored_metrics(loaded.index, *loaded.snapshot))) continue;
    ++kept_any;
    expect_exact(loaded);
  }
  EXPECT_GT(kept_any, 0);
}

TEST(stored_metrics, that_was_cut_anywhere_is_an_error) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1, 1, 100);
  recorded.add_copy(5, 9, 10);
  recorded.close();
  const indexed loaded(recorded.open());
  const std::string bytes = get_bytes(make_stored_metrics(loaded.index, *loaded.snapshot));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto read = decode_stored_metrics(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().code, error_code::corrupt);
    EXPECT_LE(read.error().offset, size);
  }
  EXPECT_FALSE(decode_stored_metrics(bytes + '\0')) << "trailing bytes are refused";
}

TEST(stored_metrics, that_contradicts_itself_is_an_error) {
  recording recorded;
  testing::tell_a_lot(recorded);
  recorded.close();
  const indexed loaded(recorded.open());
  const stored_metrics good = make_stored_metrics(loaded.index, *loaded.snapshot);
  const auto refused = [&](auto&& spoil) {
    stored_metrics bad = good;
    spoil(bad);
    return !decode_stored_metrics(get_bytes(bad));
  };
  EXPECT_FALSE(refused([](stored_metrics&) {}));
  EXPECT_TRUE(refused([](stored_metrics& d) { d.metrics.failures.clear(); }));
  EXPECT_TRUE(refused([](stored_metrics& d) { d.metrics.held.emplace_back(); }));
  EXPECT_TRUE(refused([](stored_metrics& d) { d.metrics.copied.emplace_back(); }));
  EXPECT_TRUE(refused([](stored_metrics& d) { d.metrics.whole.memory.clear(); })) << "peaks refer to it";
  EXPECT_TRUE(refused([](stored_metrics& d) { d.metrics.unfreed.front().largest.clear(); }));
  EXPECT_TRUE(
      refused([](stored_metrics& d) { d.metrics.steps.front().highest = d.metrics.steps.front().steps.size(); }));
  EXPECT_TRUE(refused([](stored_metrics& d) { std::swap(d.span.begin, d.span.end); }));
  EXPECT_TRUE(refused([](stored_metrics& d) { d.metrics.whole.range.end += 1; }));
  EXPECT_TRUE(refused([](stored_metrics& d) {
    d.steps.front().steps.steps = {{{10, 20}, 1, {}}};
  })) << "which are rows of the file";
}

TEST(stored_metrics, is_found_in_the_file_that_has_one) {
  recording recorded;
  testing::tell_a_lot(recorded);
  recorded.flush();
  const auto file = recorded.open();
  const indexed growing(file);
  EXPECT_EQ(find_stored_metrics(*growing.snapshot), nullptr);
  const stored_metrics subject = make_stored_metrics(growing.index, *growing.snapshot);
  auto of_other_version = saved_stored_metrics(subject).value();
  of_other_version.version = stored_metrics_version + 1;
  auto of_other_name = saved_stored_metrics(subject).value();
  of_other_name.name = "something else";
  auto damaged = saved_stored_metrics(subject).value();
  damaged.bytes.pop_back();
  const std::vector<trace::saved_row> rows{of_other_version, of_other_name, damaged,
                                           saved_stored_metrics(subject).value()};
  recorded.writer().add_summary(std::span<const trace::saved_row>(rows));
  recorded.close();
  const auto found = find_stored_metrics(*recorded.open()->latest());
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(get_bytes(*found), get_bytes(subject));
}

TEST(stored_metrics, of_version_8_are_read_as_well) {
  stored_metrics subject;
  subject.blocks.resize(trace::layer_count);
  metrics::rank_metrics rank;
  std::tie(rank.waiting, rank.waiting_rarely, rank.gathers) = std::tuple(64, 0, 3);
  subject.metrics.waste.ranks = {rank};
  std::string bytes = get_bytes(subject);
  // Version 8 did not have the three zeros between a rank's wait, 64 in zigzag encoding, and its counts of collectives,
  // nor the numbers of products and of devices with idle times, two of the zeros before the sums of blocks: a count, and
  // two zeros for each layer.
  const std::size_t rare = bytes.find(std::string("\x80\x01\0\0\0\0\x03", 7));
  ASSERT_NE(rare, std::string::npos);
  bytes.erase(bytes.size() - 1 - 2 * trace::layer_count - 2, 2);
  bytes.erase(rare + 2, 3);
  const auto read = decode_stored_metrics(bytes, 8);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->metrics.waste.ranks.size(), 1U);
  EXPECT_EQ(read->metrics.waste.ranks[0].waiting, 64);
  EXPECT_EQ(read->metrics.waste.ranks[0].gathers, 3U);
  EXPECT_FALSE(decode_stored_metrics(bytes, 9));
}

TEST(stored_metrics, keep_the_causes_of_idle_time_since_version_11) {
  stored_metrics subject;
  subject.blocks.resize(trace::layer_count);
  const std::string without = get_bytes(subject);
  metrics::device_idle idle;
  idle.device = trace::device_id{1};
  idle.span = {10, 1000};
  idle.busy = 400;
  idle.collectives_alone = 50;
  idle.causes = {{metrics::gap_cause::launch, 7, 500, 90}, {metrics::gap_cause::queued, 2, 90, 60}};
  idle.launches = {8, 500, 300, 1, 77};
  subject.metrics.waste.idle_times = {idle};
  const std::string bytes = get_bytes(subject);
  const auto read = decode_stored_metrics(bytes, 11);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->metrics.waste.idle_times.size(), 1U);
  EXPECT_EQ(get_bytes(*read), bytes);
  EXPECT_EQ(read->metrics.waste.idle_times[0].idle(), 590);
  EXPECT_EQ(read->metrics.waste.idle_times[0].causes[1].cause, metrics::gap_cause::queued);
  EXPECT_EQ(read->metrics.waste.idle_times[0].launches.saved, 77);
  EXPECT_FALSE(decode_stored_metrics(bytes, 10));
  EXPECT_GT(bytes.size(), without.size());
}

TEST(stored_metrics, of_another_version_is_left_alone) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1, 1, 100);
  recorded.flush();
  const indexed growing(recorded.open());
  const auto row = saved_stored_metrics(make_stored_metrics(growing.index, *growing.snapshot)).value();
  std::vector<trace::saved_row> rows{row, row};
  rows[0].version = stored_metrics_version + 1;
  rows[1].version = oldest_stored_metrics - 1;
  recorded.writer().add_summary(std::span<const trace::saved_row>(rows));
  recorded.close();
  EXPECT_EQ(find_stored_metrics(*recorded.open()->latest()), nullptr);
}

/// A change to the stored members requires a new version, since files of the old version exist. Members that a list has
/// added since then have their own version.
TEST(stored_metrics, keeps_in_version_13_what_it_kept_when_that_was_settled) {
  describer subject(metrics::base_version);
  subject.put(stored_metrics{});
  EXPECT_EQ(metrics::base_version, 13U);
  EXPECT_EQ(
      subject.text(),
      "{{i8i8}{u8u8[{ei8}]{{i8i8}{i8i8}[{ee4e9u8u8u8u8i8du8u8u8u8}][{eu8u8u8u8du8u8}][{eu8u8i8u8u8i8u8d}][{ee6u8u8di8"
      "i8dddedd[{e9u8di8dd}]}][{eu8i8i8i8i8i8i8i8i8u8i8u8}][{eu8i8i8e}][{eu8i8i8e}][{eu8i8i8e}][{eeu8i8i8u8di8}]u8u8u"
      "8u8}[{ee4e9u8i8u8[{eeu8u8eu8}]u8}][{[{e{u8u8i8i8}}]i8u1}][{eu1u1e4e9u8u8[{eeeeu8u8i8}]}][{eee4e9u8u8u1}][{[{e{"
      "u8u8i8i8}}]i8u1}][{ei8eee4e9eu8i8}][{ei8eei8ee[{i8ee}]u8}][{ee4i8u8u8u8u8d}][{ee4e9u8i8u8[{e7u8u8u8}]}][{ee5ee"
      "4e9u8[{i8{i8i8}eu8i8u8u8u8u8dd}]i8u8du1}][{ee4e9i8u8[{eee7u1u8u8u8di8e}]u8u8}]{{{u8u8i8}{u8u8i8}{u8u8i8}{u8u8i"
      "8}{u8u8i8}u8{u8u8i8}{u8u8i8}[{ee{u8u8i8}{u8u8i8}u8eu8}][{e{u8u8i8}u8eu8}]{{u8u8i8}{u8u8i8}{u8u8i8}{u8u8i8}}e}["
      "{e{{u8u8i8}{u8u8i8}{u8u8i8}{u8u8i8}}eu8}]}[{i8eeei8[{{ee4e9}u8u8u8}][{ed}][{eu8u8}]}][s][{e3i8ee}]{u8i8u8[{eei"
      "8i8eee4e9eu8}]}{[{ee4e9i8u8u8u8[{e7ee4e9eee7u8u8u8eu8{i8i8}u8i8i8u8u8u8u8u8u8}][{e7e7u8}]}][{ee4e9eeeu8u8i8i8e}]"
      "[{ee4ee5"
      "u8u8{i8i8}eu8}][{ee14eeu1u8i8i8{i8i8}i8u8i8e}][{eee9u1eu8i8i8i8}][{ee6e9eu8u8i8i8i8u8u8i8u8i8i8u8eu8}][{eeu8i8"
      "u8u8u8u8}][{ei8ee4e9u8i8u8u8u8i8i8u8i8i8i8i8i8u8u8[{e7u8u8u8}][{eu8e7u8}][{ei8}]}][{eu8u8[{su8u8u8}]u8u8}][{ee"
      "4e9i8u8eeu8u8u8eu8}][{eu8u8u8{eeeu8i8i8eu8u8u8u8u8ee}}][{eee3u8i8i8i8ei8i8i8}][{e{i8i8}i8i8[{e14u8i8i8}]{u8i8i"
      "8u8i8}[{{e61su8}i8u8i8{i8i8}i8i8u8u1e}]{u1u1u1u1u1u1u1u1u1u1}}]}[{ei8eee4e9eeu8u8e3u8u8u8u1u8u8u8u8u8u8u8t[{ee"
      "7u8u8u8eu8t}]u1[{ee7u8u8u8eu8t}]t[{ee7u8u8u8eu8t}][{ee7u8u8u8eu8t}][{e5e2[{ee7u8u8u8eu8t}]u8u8}]u1u8}]}[{{{ee4e9"
      "}u8u1}{[{e{u8u8i8i8}}]i8u1}{[{e{u8u8i8i8}}]i8u1}}][{ee6{[{e{u8u8i8i8}}]i8u1}}]{[{e{u8u8i8i8}}]i8u1}[{e{e5[{{i8"
      "i8}i8e}]}}][{i8tu8u8}]u1[{eeeeeeei8tu8u8e4e9{e7e18}ettu8}][{u8u8}]}");
}

}  // namespace
}  // namespace sluice::summary
