#include "core/generate/generate.hpp"

#include "core/generate/caching_allocator.hpp"
#include "core/generate/random.hpp"
#include "tests/core/generate/replay.hpp"

namespace sluice::generate {
namespace {

using namespace testing;

struct shape {
  const char* name;
  generate_options options;
};

class generated_trace : public ::testing::TestWithParam<shape> {};

TEST_P(generated_trace, could_have_been_recorded) {
  const temporary file(std::string("generated-") + GetParam().name);
  const auto output = generate(GetParam().options, file.path());
  ASSERT_TRUE(output) << output.error().to_string();
  EXPECT_GE(output->events, GetParam().options.events);
  EXPECT_LT(output->events, GetParam().options.events + 25'000 * GetParam().options.processes);
  const auto now = read(file.path());
  EXPECT_TRUE(now->complete());
  EXPECT_EQ(now->tables().processes.rows().size(), GetParam().options.processes);
  EXPECT_EQ(now->tables().devices.rows().size(), GetParam().options.processes);
  const lives known(*now);
  known.expect_sound();
  expect_true_checkpoints(*now, known);
  expect_work_after_calls(*now);
  expect_touches_of_the_living(*now, known);
  expect_own_ids(*now);
  std::uint64_t rows_seen = 0;
  for (const auto& chunk : now->chunks()) rows_seen += trace::is_event(chunk.type) ? chunk.rows : 0;
  EXPECT_EQ(rows_seen, output->events);
}

TEST_P(generated_trace, is_the_same_to_the_byte_for_a_seed) {
  const temporary a(std::string("generated-a-") + GetParam().name), b(std::string("generated-b-") + GetParam().name);
  generate_options options = GetParam().options;
  options.events = 20'000;
  ASSERT_TRUE(generate(options, a.path()));
  ASSERT_TRUE(generate(options, b.path()));
  EXPECT_EQ(a.bytes(), b.bytes());
  options.seed += 1;
  ASSERT_TRUE(generate(options, b.path()));
  EXPECT_NE(a.bytes(), b.bytes());
}

INSTANTIATE_TEST_SUITE_P(
    patterns, generated_trace,
    ::testing::Values(
        shape{"training", {.events = 150'000}}, shape{"memory", {.events = 100'000, .seed = 3, .timeline = false}},
        shape{"all-stacks", {.events = 50'000, .stacks = stack_choice::all}},
        shape{"no-stacks", {.events = 50'000, .stacks = stack_choice::none}},
        shape{"samples", {.events = 50'000, .host_samples = true}},
        shape{"samples-of-ranks",
              {.events = 50'000, .stacks = stack_choice::none, .host_samples = true, .processes = 2}},
        shape{"ranks", {.events = 150'000, .processes = 3}},
        shape{"kept", {.events = 150'000, .kept_blocks = 9'000, .kept_stacks = 4'000}},
        shape{"inference", {.events = 150'000, .pattern = program_pattern::inference}},
        shape{"inference-ranks",
              {.events = 150'000, .pattern = program_pattern::inference, .timeline = false, .processes = 2}}),
    [](const auto& instance) {
      std::string name = instance.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(generate, says_where_it_cannot_write) {
  const auto output = generate({.events = 1000}, "/nonexistent/folder/file.sluice");
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, error_code::io);
}

TEST(generate, stops_when_the_disk_is_full) {
  const auto output = generate({.events = 50'000'000}, "/dev/full");
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, error_code::no_space);
}

TEST(generate, refuses_too_many_processes) {
  const temporary file("many");
  EXPECT_FALSE(generate({.processes = 65}, file.path()));
  EXPECT_FALSE(generate({.processes = 0}, file.path()));
}

TEST(generate, keeps_blocks_from_as_many_call_stacks_as_wanted) {
  const temporary file("kept");
  ASSERT_TRUE(generate({.events = 60'000, .kept_blocks = 5'000, .kept_stacks = 1'234}, file.path()));
  const auto now = read(file.path());
  const lives known(*now);
  std::map<std::uint64_t, std::uint64_t> kept;  // by call stack
  for (const auto& [block, life] : known.blocks)
    if (life.died == INT64_MAX && life.born.layer == trace::layer::framework && life.born.bytes <= 16'384)
      ++kept[raw(life.born.stack)];
  const auto often = [](const auto& each) { return each.second >= 4; };
  EXPECT_GE(std::count_if(kept.begin(), kept.end(), often), 1'234);
  EXPECT_FALSE(generate({.kept_blocks = 1, .kept_stacks = 0}, file.path()));
}

TEST(generate, puts_a_collective_at_one_end_for_all_ranks) {
  const temporary file("collective");
  ASSERT_TRUE(generate({.events = 60'000, .processes = 2}, file.path()));
  const auto now = read(file.path());
  std::map<std::uint64_t, std::vector<trace::kernel_event>> by_process;
  for (const auto& row : rows<trace::kernel_event>(*now)) {
    if (now->tables().text(row.name).starts_with("nccl")) by_process[raw(row.process)].push_back(row);
  }
  ASSERT_EQ(by_process.size(), 2U);
  ASSERT_EQ(by_process[1].size(), by_process[2].size());
  ASSERT_GT(by_process[1].size(), 5U);
  for (std::size_t i = 0; i < by_process[1].size(); ++i)
    EXPECT_LT(std::abs(by_process[1][i].end - by_process[2][i].end), 1'000);
}

/// The times at which the collectives of one rank could begin and ended.
struct collectives {
  std::vector<trace::time_ns> begins, ends;
};
std::map<std::int64_t, collectives> list_collectives(const trace::snapshot& recording) {
  std::map<std::int64_t, collectives> table;
  for (const auto& row : rows<trace::kernel_event>(recording)) {
    if (!recording.tables().text(row.name).starts_with("nccl")) continue;
    collectives& mine = table[recording.tables().processes.find(row.process)->rank];
    mine.begins.push_back(row.time);
    mine.ends.push_back(row.end);
  }
  return table;
}

TEST(generate, lets_all_ranks_wait_for_a_slow_one) {
  const temporary file("slow");
  ASSERT_TRUE(generate({.events = 60'000, .processes = 3, .slow_rank = 1}, file.path()));
  const auto now = read(file.path());
  lives(*now).expect_sound();
  const auto collectives = list_collectives(*now);
  ASSERT_EQ(collectives.size(), 3U);
  for (const std::int64_t rank : {0, 2}) {
    ASSERT_EQ(collectives.at(rank).begins.size(), collectives.at(1).begins.size());
    // Setup before the first collective takes one rank longer than another.
    for (std::size_t i = 1; i < collectives.at(rank).begins.size(); ++i)
      EXPECT_GT(collectives.at(1).begins[i] - collectives.at(rank).begins[i], 1'000'000)
          << "collective " << i << " of rank " << rank;
  }
}

TEST(generate, lets_a_rank_wait_for_a_slow_one_that_is_recorded_elsewhere) {
  const temporary of_one("slow-one"), of_other("slow-other");
  ASSERT_TRUE(generate({.events = 20'000, .first_rank = 4, .slow_rank = 4}, of_one.path()));
  ASSERT_TRUE(generate({.events = 20'000, .first_rank = 7, .slow_rank = 4}, of_other.path()));
  const auto slow = list_collectives(*read(of_one.path())).at(4),
             other = list_collectives(*read(of_other.path())).at(7);
  const std::size_t count = std::min(slow.ends.size(), other.ends.size());
  ASSERT_GT(count, 5U);
  for (std::size_t i = 1; i < count; ++i) {
    EXPECT_LT(std::abs(slow.ends[i] - other.ends[i]), 1'000);
    EXPECT_GT(slow.begins[i] - other.begins[i], 1'000'000);
  }
  EXPECT_EQ(read(of_other.path())->tables().processes.rows().size(), 1U)
      << "the slow rank is slow in its own recording";
}

/// In real recordings, kernels are written tens of milliseconds after later calls.
TEST(generate, writes_device_work_late) {
  const temporary file("late");
  ASSERT_TRUE(generate({.events = 100'000}, file.path()));
  const auto now = read(file.path());
  std::map<std::uint64_t, trace::time_ns> in_order;
  for (const auto& row : rows<trace::api_call_event>(*now)) in_order[raw(row.id)] = row.time;
  std::vector<trace::time_ns> late;
  for (const auto& row : rows<trace::kernel_event>(*now)) {
    const auto before = in_order.lower_bound(raw(row.id));
    if (before != in_order.begin()) late.push_back(std::prev(before)->second - row.end);
  }
  std::sort(late.begin(), late.end());
  EXPECT_GT(late[late.size() / 2], 5'000'000);
  EXPECT_LT(late[late.size() / 2], 100'000'000);
}

TEST(generate, samples_host_threads_on_request) {
  const temporary file("samples");
  ASSERT_TRUE(generate({.events = 100'000, .host_samples = true}, file.path()));
  const auto now = read(file.path());
  const auto samples = rows<trace::host_sample_event>(*now);
  EXPECT_GT(samples.size(), 100U);
  EXPECT_LT(samples.size(), 2'000U) << "one row in fifty at most";
  std::set<trace::host_state> states;
  std::set<std::uint64_t> threads;
  time_ns until = 0;
  for (const trace::host_sample_event& each : samples) {
    EXPECT_GE(each.time, until) << "samples do not overlap";
    EXPECT_GT(each.length, 0);
    until = each.time + each.length;
    states.insert(each.state);
    threads.insert(raw(each.thread));
  }
  EXPECT_EQ(states, (std::set{trace::host_state::running, trace::host_state::blocked}));
  EXPECT_EQ(threads.size(), 2U) << "the main thread and the one of the backward pass";
  ASSERT_TRUE(generate({.events = 100'000, .timeline = false, .host_samples = true}, file.path()));
  EXPECT_TRUE(rows<trace::host_sample_event>(*read(file.path())).empty()) << "no kernels, so no idle time to explain";
}

/// Compares the bytes per event of real recordings with those of generated traces that resemble them.
TEST(generate, takes_about_as_many_bytes_an_event_as_a_recording) {
  const temporary file("bytes");
  const auto output = generate({.events = 340'000}, file.path());
  ASSERT_TRUE(output);
  const auto real = read(SLUICE_SOURCE_DIR "/assets/recordings/pytorch-training.sluice");
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t generated_bytes = 0;
  for (const auto& chunk : real->chunks()) {
    events += trace::is_event(chunk.type) ? chunk.rows : 0;
    bytes += chunk.stored_bytes;
  }
  const auto now = read(file.path());
  for (const auto& chunk : now->chunks()) generated_bytes += chunk.stored_bytes;
  const double recorded = static_cast<double>(bytes) / static_cast<double>(events);
  EXPECT_NEAR(static_cast<double>(generated_bytes) / static_cast<double>(output->events), recorded, recorded / 10);
}

/// The reference is a list of allocated ranges.
TEST(caching_allocator, never_gives_out_an_address_twice) {
  caching_allocator allocator(0x1000'0000);
  random chance(5);
  std::map<std::uint64_t, std::uint64_t> given;
  std::uint64_t total = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (given.size() < 300 && chance.below(5) < 3) {
      const auto place =
          allocator.allocate(chance.once_in(10) ? chance.between(1, 40'000'000) : chance.between(1, 200'000));
      const auto after = given.lower_bound(place.address);
      if (after != given.end()) {
        EXPECT_GE(after->first, place.address + place.bytes);
      }
      if (after != given.begin()) {
        EXPECT_LE(std::prev(after)->first + std::prev(after)->second, place.address);
      }
      EXPECT_GE(place.address, place.segment);
      EXPECT_LE(place.address + place.bytes, place.segment + place.segment_bytes);
      total += place.bytes;
      given.emplace(place.address, place.bytes);
    } else if (!given.empty()) {
      auto gone =
          given.lower_bound(given.begin()->first + chance.below(given.rbegin()->first - given.begin()->first + 1));
      if (gone == given.end()) --gone;
      total -= gone->second;
      allocator.release(gone->first);
      given.erase(gone);
    }
    EXPECT_LE(total, allocator.allocated());  // A remainder too small to split off stays with the block.
    EXPECT_GE(allocator.reserved(), allocator.allocated());
  }
  for (const auto& [address, bytes] : given) allocator.release(address);
  EXPECT_EQ(allocator.allocated(), 0U);
  allocator.trim();
  EXPECT_EQ(allocator.reserved(), 0U);
}

}  // namespace
}  // namespace sluice::generate
