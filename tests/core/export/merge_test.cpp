#include "core/export/recording/merge.hpp"

#include <cmath>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "core/export/recording/trim.hpp"
#include "core/generate/generate.hpp"
#include "core/index/growing_index.hpp"
#include "core/metrics/statistics/range_statistics.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "core/trace/file/writer.hpp"
#include "tests/core/generate/replay.hpp"

namespace sluice::exports {
namespace {

using generate::testing::read;
using generate::testing::rows;
using generate::testing::temporary;
using trace::raw;

constexpr std::int64_t section = 1'700'000'000'000'000'000;

/// A rank's recording: its own device, a block, and collectives that end at given true times.
struct rank {
  std::int64_t number = 0;
  std::int64_t origin = section;  ///< CLOCK_REALTIME at the recording's time 0, according to the rank's machine.
  std::int64_t clock_error = 0;   ///< ns by which that machine's clock is ahead of true time.
  std::uint64_t uuid = 1;
  std::size_t collectives = 20;
  std::int64_t apart = 1'000'000;  ///< ns between collectives.
  double drift = 0;                ///< Additional ns that the clock gains per ns of true time.
  std::string host = "machine";
};

void record(const rank& subject, const std::string& path) {
  trace::writer_options options;
  options.realtime_origin = subject.origin;
  auto to = std::move(trace::file_writer::create(path, options).value());
  trace::host_row host;
  host.id = trace::host_id{1};
  host.name = to.intern(subject.host);
  to.add(host);
  trace::process_row process;
  process.id = trace::process_id{1};
  process.host = host.id;
  process.rank = subject.number;
  process.begin = 5;
  to.add(process);
  to.add(trace::thread_row{trace::thread_id{1}, process.id, 10, to.intern("main " + std::to_string(subject.number))});
  trace::device_row device;
  device.id = trace::device_id{1};
  device.uuid_low = subject.uuid;
  device.name = to.intern("GPU");
  to.add(device);
  trace::alloc_event alloc;
  alloc.process = process.id;
  alloc.thread = trace::thread_id{1};
  alloc.time = 1000;
  alloc.block = trace::block_id{1};
  alloc.device = device.id;
  alloc.kind = trace::memory_kind::device;
  alloc.bytes = 1000;
  alloc.name = to.intern("cuMemAlloc");
  to.add(alloc);
  for (std::size_t i = 0; i < subject.collectives; ++i) {
    trace::kernel_event kernel;
    kernel.process = process.id;
    kernel.device = device.id;
    // In true time, the collectives end at section + 1 s and later, give or take 100 ns.
    const std::int64_t since =
        1'000'000'000 + static_cast<std::int64_t>(i) * subject.apart + static_cast<std::int64_t>(i * 37 % 100);
    kernel.end = section + since + subject.clock_error + std::llround(subject.drift * static_cast<double>(since)) -
                 subject.origin;
    kernel.time = kernel.end - 5'000;
    kernel.name = to.intern(i % 2 == 0 ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL" : "ncclDevKernel_Broadcast_RING_LL");
    to.add(kernel);
  }
  ASSERT_TRUE(to.close());
}

TEST(merge, puts_ranks_on_one_clock_by_what_they_end_together) {
  const temporary a("merge-a"), b("merge-b"), whole("merge-whole");
  record({.number = 0, .origin = section, .clock_error = 0, .uuid = 1}, a.path());
  // A recording that began 300 ms later, on a machine whose clock is 2 ms ahead.
  record({.number = 1, .origin = section + 300'000'000, .clock_error = 2'000'000, .uuid = 2, .host = "other"},
         b.path());
  const auto output = merge({read(a.path()), read(b.path())}, whole.path());
  ASSERT_TRUE(output) << output.error().to_string();
  ASSERT_EQ(output->clocks.size(), 2U);
  EXPECT_EQ(output->clocks[1].from, clock_offset::basis::collectives);
  EXPECT_EQ(output->clocks[1].matched, 20U);
  EXPECT_EQ(output->clocks[1].offset, 298'000'000);
  EXPECT_EQ(output->clocks[1].corrected, -2'000'000);
  EXPECT_LT(output->clocks[1].error, 200);
  const auto now = read(whole.path());
  std::map<std::uint64_t, std::vector<trace::time_ns>> ends;
  for (const auto& row : rows<trace::kernel_event>(*now)) ends[raw(row.process)].push_back(row.end);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends.begin()->second, ends.rbegin()->second);
  EXPECT_EQ(now->tables().hosts.rows().size(), 2U);
  EXPECT_EQ(now->tables().devices.rows().size(), 2U);
  EXPECT_EQ(now->realtime_origin(), section);
  bool stated = false;
  for (const auto& row : rows<trace::message_event>(*now))
    stated = stated || now->tables().text(row.text).find("20 collectives") != std::string_view::npos;
  EXPECT_TRUE(stated);
  generate::testing::expect_own_ids(*now);
}

TEST(merge, follows_a_clock_that_drifts) {
  const temporary a("merge-drift-a"), b("merge-drift-b"), whole("merge-drift");
  record({.number = 0, .origin = section, .uuid = 1, .collectives = 400, .apart = 50'000'000}, a.path());
  // The drift is 80 us per second: 1.6 ms over the recording.
  record({.number = 1,
          .origin = section + 300'000'000,
          .clock_error = 2'000'000,
          .uuid = 2,
          .collectives = 400,
          .apart = 50'000'000,
          .drift = 80e-6},
         b.path());
  const auto output = merge({read(a.path()), read(b.path())}, whole.path());
  ASSERT_TRUE(output) << output.error().to_string();
  EXPECT_NEAR(output->clocks[1].drift, -80e-6, 1e-8);
  EXPECT_EQ(output->clocks[1].matched, 400U);
  EXPECT_LE(output->clocks[1].error, 2);
  EXPECT_NE(output->said[1].find("-79.99 us a second"), std::string::npos) << output->said[1];
  std::map<std::uint64_t, std::vector<trace::time_ns>> ends;
  for (const auto& row : rows<trace::kernel_event>(*read(whole.path()))) ends[raw(row.process)].push_back(row.end);
  ASSERT_EQ(ends.size(), 2U);
  for (std::size_t i = 0; i < 400; ++i) ASSERT_LE(std::abs(ends.begin()->second[i] - ends.rbegin()->second[i]), 3) << i;
}

/// However the clocks behave, merged times differ by no more than the ends of a collective themselves, and the reported
/// error is of that size.
TEST(merge, states_the_error_that_is_left) {
  std::minstd_rand chance(7);
  const auto below = [&](std::int64_t end) { return static_cast<std::int64_t>(chance()) % end; };
  for (int round = 0; round < 200; ++round) {
    const std::int64_t offset = below(200'000'000) - 100'000'000;
    const std::int64_t jitter = 1 + below(20'000);
    const double drift = round % 2 == 0 ? 0 : static_cast<double>(below(400) - 200) * 1e-6;
    const std::int64_t count = 8 + below(300);
    const std::int64_t apart = 1'000'000 + below(100'000'000);
    collective_ends first, other;
    std::vector<std::pair<trace::time_ns, trace::time_ns>> both;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name = i % 3 == 0 ? "a" : "b";
      const trace::time_ns world = 1'000'000'000 + i * apart + below(apart / 2);
      const trace::time_ns theirs =
          world - offset - std::llround(drift * static_cast<double>(world)) + below(2 * jitter) - jitter;
      first[{name}].push_back(world);
      other[{name}].push_back(theirs);
      both.emplace_back(world, theirs);
      // Some collectives did not end together: one rank was late.
      if (i % 25 == 24) other[{name}].back() += 3'000'000;
    }
    const clock_offset found = align(section, first, section, other);
    ASSERT_EQ(found.from, clock_offset::basis::collectives);
    std::vector<trace::time_ns> left;
    for (const auto& [world, theirs] : both) {
      left.push_back(std::abs(found.moved(theirs) - world));
      EXPECT_GE(found.moved(theirs + 3), found.moved(theirs));
    }
    std::sort(left.begin(), left.end());
    // Drift is not computed from fewer than 16 collectives.
    if (count >= 16 || drift == 0) {
      EXPECT_LE(left[left.size() * 8 / 10], 3 * jitter + 3) << "round " << round << ", drift " << drift;
      EXPECT_LE(found.error, 3 * jitter + 3) << "round " << round;
    }
    EXPECT_GE(found.error, left[left.size() * 8 / 10] / 3) << "round " << round;
    if (count >= 16 && std::abs(drift) * static_cast<double>(count * apart) > 20 * static_cast<double>(jitter)) {
      EXPECT_NEAR(found.drift, drift, 5e-6 + 4 * static_cast<double>(jitter) / static_cast<double>(count * apart));
    }
  }
}

/// Two ranks of a job share a data parallel group but belong to different tensor parallel groups. The tensor parallel
/// groups run collectives of the same name, one group always a little later than the other.
TEST(merge, goes_by_the_collectives_of_groups_that_both_ranks_are_in) {
  std::minstd_rand chance(3);
  const auto below = [&](std::int64_t end) { return static_cast<std::int64_t>(chance()) % end; };
  constexpr std::int64_t offset = 1'500'000;
  collective_ends first, other;
  trace::time_ns now = 1'000'000'000;
  for (int step = 0; step < 20; ++step) {
    for (int layer = 0; layer < 12; ++layer) {
      now += 2'000'000;
      first[{"reduce", 7}].push_back(now);
      other[{"reduce", 7}].push_back(now - offset + 300'000 + below(400'000));
    }
    now += 3'000'000;
    first[{"reduce", 13}].push_back(now);
    other[{"reduce", 9}].push_back(now - offset + below(4'000));
  }
  const clock_offset found = align(section, first, section, other);
  EXPECT_EQ(found.matched, 20U);
  EXPECT_NEAR(static_cast<double>(found.offset), static_cast<double>(offset), 4'000);
  EXPECT_LE(found.error, 4'000);
}

TEST(merge, matches_the_few_collectives_of_a_recording_that_began_late) {
  collective_ends first, other;
  for (int i = 0; i < 200; ++i) {
    const trace::time_ns end = 1'000'000'000 + i * 5'000'000;
    first[{"reduce", 7}].push_back(end);
    if (i >= 180) other[{"reduce", 9}].push_back(end - 700'000);
  }
  const clock_offset found = align(section, first, section, other);
  EXPECT_EQ(found.matched, 20U);
  EXPECT_EQ(found.offset, 700'000);
}

TEST(merge, goes_by_realtime_where_nothing_ends_together) {
  const temporary a("merge-clock-a"), b("merge-clock-b"), whole("merge-clock");
  record({.number = 0, .origin = section + 50'000, .collectives = 0}, a.path());
  record({.number = 1, .origin = section, .collectives = 3}, b.path());  // This recording began first.
  const auto output = merge({read(a.path()), read(b.path())}, whole.path());
  ASSERT_TRUE(output);
  EXPECT_EQ(output->clocks[0].offset, 50'000);
  EXPECT_EQ(output->clocks[0].from, clock_offset::basis::realtime);
  EXPECT_EQ(output->clocks[1].offset, 0);
  const auto now = read(whole.path());
  EXPECT_EQ(now->tables().devices.rows().size(), 1U) << "one UUID is one device";
  EXPECT_EQ(now->tables().hosts.rows().size(), 1U);
  ASSERT_EQ(now->tables().processes.rows().size(), 2U);
  EXPECT_EQ(now->tables().processes.rows()[0].begin, 50'005);
  EXPECT_EQ(now->tables().processes.rows()[0].rank, 0);
  EXPECT_EQ(now->tables().processes.rows()[1].rank, 1);
  const auto allocs = rows<trace::alloc_event>(*now);
  ASSERT_EQ(allocs.size(), 2U);
  EXPECT_NE(allocs[0].block, allocs[1].block);
  EXPECT_NE(allocs[0].process, allocs[1].process);
  EXPECT_NE(allocs[0].thread, allocs[1].thread);
  EXPECT_EQ(allocs[0].device, allocs[1].device);
  for (const auto& row : allocs) {
    EXPECT_EQ(now->tables().text(now->tables().threads.find(row.thread)->name),
              "main " + std::to_string(now->tables().processes.find(row.process)->rank));
  }
}

TEST(merge, says_so_where_no_clock_is_known) {
  const temporary a("merge-none-a"), b("merge-none-b"), whole("merge-none");
  record({.origin = 0, .collectives = 0}, a.path());
  record({.origin = 0, .collectives = 0}, b.path());
  const auto output = merge({read(a.path()), read(b.path())}, whole.path());
  ASSERT_TRUE(output);
  EXPECT_EQ(output->clocks[1].from, clock_offset::basis::none);
  EXPECT_NE(output->said[1].find("no common clock"), std::string::npos);
}

/// The metrics of each process are the same as in its own recording.
TEST(merge, keeps_every_event_and_what_it_names) {
  const temporary a("merge-events-a"), b("merge-events-b"), whole("merge-events");
  ASSERT_TRUE(generate::generate({.events = 30'000, .seed = 1}, a.path()));
  ASSERT_TRUE(
      generate::generate({.events = 30'000, .seed = 2, .pattern = generate::program_pattern::inference}, b.path()));
  const auto output = merge({read(a.path()), read(b.path())}, whole.path());
  ASSERT_TRUE(output) << output.error().to_string();
  const auto now = read(whole.path());
  const generate::testing::lives known(*now);
  known.expect_sound();
  generate::testing::expect_work_after_calls(*now);
  generate::testing::expect_touches_of_the_living(*now, known);
  generate::testing::expect_own_ids(*now);
  for (const auto& subject : {read(a.path()), read(b.path())}) {
    std::map<std::string, std::uint64_t> before;
    for (const auto& row : rows<trace::kernel_event>(*subject)) ++before[std::string(subject->tables().text(row.name))];
    std::map<std::string, std::uint64_t> after;
    for (const auto& row : rows<trace::kernel_event>(*now)) ++after[std::string(now->tables().text(row.name))];
    for (const auto& [name, count] : before) EXPECT_GE(after[name], count) << name;
  }
  EXPECT_EQ(rows<trace::kernel_event>(*now).size(),
            rows<trace::kernel_event>(*read(a.path())).size() + rows<trace::kernel_event>(*read(b.path())).size());
}

// Enough events to get a summary.
TEST(merge, of_many_ranks_says_of_each_what_its_own_recording_says) {
  constexpr std::int64_t ranks = 64;
  std::deque<temporary> files;
  std::vector<std::shared_ptr<const trace::snapshot>> parts;
  std::map<std::int64_t, std::uint64_t> peaks, kernels;
  std::map<std::int64_t, double> copied;  ///< Bytes copied to the device, by rank.
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    files.emplace_back("merge-rank-" + std::to_string(rank));
    ASSERT_TRUE(generate::generate({.events = 2'000, .seed = static_cast<std::uint64_t>(rank), .first_rank = rank},
                                   files.back().path()));
    parts.push_back(read(files.back().path()));
    index::growing_index own;
    own.absorb(*parts.back(), SIZE_MAX);
    const auto metrics = metrics::measure(own, parts.back()->tables(), index::recorded_range(*parts.back()));
    for (const auto& each : metrics.memory)
      if (each.layer == trace::layer::framework) peaks[rank] = std::max(peaks[rank], each.maximum);
    for (const auto& each : metrics.transfers)
      if (each.direction == trace::direction::h2d) copied[rank] += each.bytes;
    kernels[rank] = rows<trace::kernel_event>(*parts.back()).size();
  }
  const temporary whole("merge-ranks");
  const auto output = merge(parts, whole.path());
  ASSERT_TRUE(output) << output.error().to_string();
  const auto now = read(whole.path());
  const auto stored = summary::find_stored_metrics(*now);
  ASSERT_NE(stored, nullptr);
  ASSERT_EQ(stored->metrics.waste.ranks.size(), static_cast<std::size_t>(ranks));
  for (const metrics::rank_metrics& each : stored->metrics.waste.ranks) EXPECT_EQ(each.peak, peaks[each.rank]);
  ASSERT_EQ(stored->metrics.steps.size(), static_cast<std::size_t>(ranks));
  for (const metrics::step_summary& each : stored->metrics.steps) {
    double in_steps = 0;
    for (const metrics::step_metrics& step : each.steps) in_steps += step.h2d_bytes;
    const std::int64_t rank = now->tables().processes.find(each.process)->rank;
    EXPECT_GT(in_steps, 0);
    EXPECT_LE(in_steps, copied[rank] + static_cast<double>(each.steps.size())) << "rank " << rank;
  }
  std::map<std::int64_t, std::uint64_t> after;
  for (const auto& row : rows<trace::kernel_event>(*now)) ++after[now->tables().processes.find(row.process)->rank];
  EXPECT_EQ(after, kernels);
}

TEST(merge, keeps_blocks_that_only_a_checkpoint_knows) {
  const temporary a("merge-live-a"), b("merge-live-b"), cut("merge-live-cut"), whole("merge-live");
  record({.number = 0}, a.path());
  record({.number = 1, .uuid = 2}, b.path());
  ASSERT_TRUE(trim(*read(a.path()), {.range = {1'000'000'000, 1'010'000'000}, .redact = {}}, cut.path()));
  ASSERT_TRUE(merge({read(cut.path()), read(b.path())}, whole.path()));
  const auto now = read(whole.path());
  EXPECT_EQ(rows<trace::alloc_event>(*now).size(), 1U);
  const auto live = rows<trace::live_block_event>(*now);
  const auto checkpoints = rows<trace::checkpoint_event>(*now);
  ASSERT_EQ(live.size(), 1U);
  ASSERT_EQ(checkpoints.size(), 1U);
  EXPECT_EQ(live[0].checkpoint, checkpoints[0].id);
  EXPECT_EQ(live[0].born, 1000);
  index::growing_index index;
  while (!index.absorb(*now, 1 << 20)) {
  }
  std::uint64_t bytes = 0;
  for (const auto& block : index.memory().blocks()) bytes += block.allocated && !block.freed() ? block.bytes : 0;
  EXPECT_EQ(bytes, 2000U);
  generate::testing::expect_own_ids(*now);
}

/// One process lost a free, as its checkpoint shows; another process lost nothing.
TEST(merge, keeps_what_checkpoints_say_after_a_loss) {
  const temporary a("merge-loss-a"), b("merge-loss-b"), whole("merge-loss");
  const auto write = [](const std::string& path, bool loses) {
    auto to = std::move(trace::file_writer::create(path).value());
    trace::process_row process;
    process.id = trace::process_id{1};
    to.add(process);
    for (std::uint64_t block = 1; block <= 2; ++block) {
      trace::alloc_event row;
      row.process = process.id;
      row.time = static_cast<trace::time_ns>(100 * block);
      row.block = trace::block_id{block};
      row.bytes = 10 * block;
      to.add(row);
    }
    if (loses) {
      trace::loss_event loss;
      loss.process = process.id;
      loss.time = 300;
      loss.end = 310;
      loss.events = loss.memory_events = 1;
      to.add(loss);
    }
    trace::checkpoint_event checkpoint;
    checkpoint.process = process.id;
    checkpoint.time = 400;
    checkpoint.blocks = loses ? 1 : 2;
    const auto id = trace::event_id{to.add(checkpoint)};
    for (std::uint64_t block = loses ? 2 : 1; block <= 2; ++block) {
      trace::live_block_event row;
      row.process = process.id;
      row.time = 400;
      row.born = static_cast<trace::time_ns>(100 * block);
      row.block = trace::block_id{block};
      row.bytes = 10 * block;
      row.checkpoint = id;
      to.add(row);
    }
    trace::marker_event last;
    last.process = process.id;
    last.time = 900;
    to.add(last);
    EXPECT_TRUE(to.close());
  };
  write(a.path(), true);
  write(b.path(), false);
  ASSERT_TRUE(merge({read(a.path()), read(b.path())}, whole.path()));
  const auto now = read(whole.path());
  index::growing_index index;
  while (!index.absorb(*now, 1 << 20)) {
  }
  std::multiset<std::uint64_t> live, gone;
  for (const auto& block : index.memory().blocks()) (block.freed() ? gone : live).insert(block.bytes);
  EXPECT_EQ(live, (std::multiset<std::uint64_t>{10, 20, 20}));
  EXPECT_EQ(gone, (std::multiset<std::uint64_t>{10}));
}

TEST(merge, keeps_apart_what_no_table_has) {
  const temporary a("merge-strays-a"), b("merge-strays-b"), whole("merge-strays");
  for (const std::string& path : {a.path(), b.path()}) {
    auto to = *trace::file_writer::create(path);
    trace::process_row process;
    process.id = trace::process_id{1};
    to.add(process);
    trace::marker_event row;
    row.id = trace::event_id{5};
    row.process = process.id;
    row.thread = trace::thread_id{7};
    to.add(row);
    ASSERT_TRUE(to.close());
  }
  ASSERT_TRUE(merge({read(a.path()), read(b.path())}, whole.path()));
  const auto found = rows<trace::marker_event>(*read(whole.path()));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NE(found[0].thread, found[1].thread);
  EXPECT_NE(found[0].process, found[1].process);
  EXPECT_NE(found[0].id, found[1].id);
  for (const auto& said : rows<trace::message_event>(*read(whole.path())))
    for (const auto& row : found) EXPECT_NE(said.id, row.id);
}

TEST(merge, refuses_ids_that_it_cannot_renumber) {
  const temporary a("merge-large-a"), b("merge-large-b"), whole("merge-large");
  const auto write = [](const std::string& path, std::uint64_t event, std::uint64_t thread) {
    auto to = *trace::file_writer::create(path);
    trace::thread_row row;
    row.id = trace::thread_id{thread};
    to.add(row);
    trace::marker_event marker;
    marker.id = trace::event_id{event};
    to.add(marker);
    ASSERT_TRUE(to.close());
  };
  write(a.path(), 1, 1);
  for (const auto& [event, thread] : {std::pair(3UL << 60, 1UL), std::pair(1UL, 1UL << 62)}) {
    write(b.path(), event, thread);
    const auto output = merge({read(a.path()), read(b.path())}, whole.path());
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().code, error_code::invalid_argument);
    EXPECT_EQ(output.error().file, b.path());
  }
}

TEST(merge, refuses_what_makes_no_sense) {
  const temporary a("merge-refused");
  record({}, a.path());
  EXPECT_EQ(merge({read(a.path())}, "/nonexistent/x").error().code, error_code::invalid_argument);
  EXPECT_EQ(merge({read(a.path()), read(a.path())}, a.path()).error().code, error_code::invalid_argument);
  EXPECT_EQ(merge({read(a.path()), read(a.path())}, "/nonexistent/x").error().code, error_code::io);
}

}  // namespace
}  // namespace sluice::exports
