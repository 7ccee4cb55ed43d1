#include "core/metrics/comparison/diff.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <list>
#include <sstream>

#include "core/generate/generate.hpp"
#include "core/index/growing_index.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/whole_sections.hpp"

namespace sluice::metrics {
namespace {

using testing::mib;
using testing::ms;
using testing::recording;

/// How a program's blocks and copies are recorded: ids begin at `first`, and the requesting lines are `drift` lines
/// further down in their files.
struct program {
  std::uint64_t first = 1;
  std::uint64_t drift = 0;
  std::string folder = "/home/a/";
  std::uint64_t device = 1;
};

class telling {
 public:
  explicit telling(const program& subject) : of_(subject), made_() {
    made_.standard_tables();
    for (std::int64_t ordinal = 1; ordinal < 4; ++ordinal) {
      trace::device_row more;
      more.id = trace::device_id{static_cast<std::uint64_t>(ordinal) + 1};
      more.ordinal = ordinal;
      made_.writer().add(more);
    }
    main_ = frame("main", "train.py", 10);
  }

  std::uint64_t frame(const std::string& function, const std::string& file, std::uint64_t line) {
    trace::frame_row row;
    row.id = trace::frame_id{of_.first + frames_++};
    row.kind = trace::frame_kind::python;
    row.function = made_.text(function);
    row.file = made_.text(of_.folder + file);
    row.line = line + of_.drift;
    made_.writer().add(row);
    return raw(row.id);
  }
  trace::stack_id stack(const std::string& function, const std::string& file, std::uint64_t line) {
    const std::uint64_t inner = frame(function, file, line);
    const trace::stack_id outer{of_.first + stacks_++};
    made_.writer().add(trace::stack_row{outer, {}, trace::frame_id{main_}});
    const trace::stack_id id{of_.first + stacks_++};
    made_.writer().add(trace::stack_row{id, outer, trace::frame_id{inner}});
    return id;
  }
  void alloc(trace::time_ns time, std::uint64_t bytes, trace::stack_id stack) {
    auto row = made_.event<trace::alloc_event>(time);
    row.block = trace::block_id{of_.first + blocks_++};
    row.kind = trace::memory_kind::device;
    row.layer = trace::layer::framework;
    row.device = trace::device_id{of_.device};
    row.bytes = bytes;
    row.stack = stack;
    made_.writer().add(row);
    last_ = row.block;
  }
  void free_last(trace::time_ns time) {
    auto row = made_.event<trace::free_event>(time);
    row.block = last_;
    row.layer = trace::layer::framework;
    made_.writer().add(row);
  }
  void copy(trace::time_ns time, std::uint64_t bytes, trace::stack_id stack) {
    auto call = made_.event<trace::api_call_event>(time);
    call.end = time + 10;
    call.stack = stack;
    auto row = made_.event<trace::transfer_event>(time + 20);
    row.call = trace::event_id{made_.writer().add(call)};
    row.end = time + 1000;
    row.bytes = bytes;
    row.direction = trace::direction::h2d;
    row.device = trace::device_id{of_.device};
    made_.writer().add(row);
  }
  /// Sets the device of the events that are added after this call.
  void use(std::uint64_t device) { of_.device = device; }
  recording& made() { return made_; }

 private:
  program of_;
  recording made_;
  std::uint64_t main_ = 0, frames_ = 0, stacks_ = 0, blocks_ = 0;
  trace::block_id last_{};
};

/// An indexed recording.
struct taken {
  explicit taken(telling& reported) {
    EXPECT_TRUE(reported.made().writer().close());
    file = trace::file::open(reported.made().path()).value();
    snapshot = file->latest();
    while (!from.absorb(*snapshot, 1 << 20)) {
    }
  }
  [[nodiscard]] diff_side whole() { return range(index::recorded_range(*snapshot)); }
  [[nodiscard]] diff_side range(time_range span) {
    const trace::tables& tables = snapshot->tables();
    return {metrics.emplace_back(metrics_to_compare(from, *snapshot, span)), tables};
  }
  std::shared_ptr<trace::file> file;
  std::shared_ptr<const trace::snapshot> snapshot;
  index::growing_index from;
  std::list<compared_metrics> metrics;
};

difference between(const diff_side& before, const diff_side& after) {
  symbols::frame_cache a, b;
  return compare(before, a, after, b);
}

void tell_training(telling& reported, std::uint64_t batch) {
  const auto weights = reported.stack("build", "model.py", 40);
  const auto forward = reported.stack("forward", "model.py", 70);
  const auto load = reported.stack("load", "data.py", 5);
  reported.alloc(10 * ms, 100 * mib, weights);
  reported.alloc(20 * ms, batch * mib, forward);
  reported.copy(30 * ms, batch * mib, load);
}

TEST(diff, finds_nothing_between_runs_that_differ_in_ids_lines_and_folders_only) {
  telling before({}), after({.first = 5000, .drift = 3, .folder = "/srv/other/"});
  tell_training(before, 8);
  tell_training(after, 8);
  taken a(before), b(after);
  const difference found = between(a.whole(), b.whole());
  ASSERT_EQ(found.memory.size(), 1U);
  EXPECT_EQ(found.memory[0].before.maximum, found.memory[0].after.maximum);
  ASSERT_EQ(found.memory[0].at_peak.size(), 2U);
  for (const auto& change : found.memory[0].at_peak)
    EXPECT_EQ(change.before, change.after) << symbols::to_text(change.line);
  for (const auto& change : found.memory[0].allocated) EXPECT_EQ(change.before, change.after);
  ASSERT_EQ(found.transfers.size(), 1U);
  ASSERT_EQ(found.transfers[0].sites.size(), 1U);
  EXPECT_EQ(found.transfers[0].sites[0].before, found.transfers[0].sites[0].after);
}

TEST(diff, says_who_holds_and_copies_more) {
  telling before({}), after({.first = 900});
  tell_training(before, 8);
  tell_training(after, 20);
  taken a(before), b(after);
  const difference found = between(a.whole(), b.whole());
  ASSERT_EQ(found.memory.size(), 1U);
  EXPECT_EQ(found.memory[0].device, (matched_device{0, 0}));
  EXPECT_EQ(found.memory[0].before.maximum, 108 * mib);
  EXPECT_EQ(found.memory[0].after.maximum, 120 * mib);
  const auto& most = found.memory[0].at_peak[0];
  EXPECT_EQ(most.line.function, "forward") << "the largest difference comes first";
  EXPECT_EQ(most.before.bytes, 8 * mib);
  EXPECT_EQ(most.after.bytes, 20 * mib);
  ASSERT_EQ(most.stack.size(), 2U);
  EXPECT_EQ(most.stack[1].function, "main");
  EXPECT_EQ(found.transfers[0].sites[0].line.function, "load");
  EXPECT_EQ(found.transfers[0].sites[0].after.bytes - found.transfers[0].sites[0].before.bytes, 12 * mib);
  EXPECT_EQ(found.transfers[0].after.count, 1U);
}

TEST(diff, tells_lines_of_one_function_apart_though_they_moved) {
  for (const std::uint64_t moved : {0, 7}) {
    telling before({}), after({.drift = moved});
    before.alloc(10 * ms, 64 * mib, before.stack("forward", "model.py", 128));
    before.alloc(20 * ms, 96 * mib, before.stack("forward", "model.py", 131));
    before.alloc(30 * ms, 2 * mib, before.stack("forward", "model.py", 140));
    after.alloc(5 * ms, 192 * mib, after.stack("forward", "model.py", 127));
    after.alloc(10 * ms, 64 * mib, after.stack("forward", "model.py", 128));
    after.alloc(20 * ms, 96 * mib, after.stack("forward", "model.py", 131));
    taken a(before), b(after);
    const difference found = between(a.whole(), b.whole());
    ASSERT_EQ(found.memory.size(), 1U);
    const auto& changes = found.memory[0].at_peak;
    ASSERT_EQ(changes.size(), 4U) << moved;
    EXPECT_EQ(changes[0].line.line, 127 + moved);
    EXPECT_TRUE(changes[0].appeared());
    EXPECT_EQ(changes[0].after.bytes, 192 * mib);
    EXPECT_EQ(changes[1].line.line, 140U);
    EXPECT_EQ(changes[1].line_after, 140 + moved) << "its expected new line";
    EXPECT_TRUE(changes[1].vanished());
    for (std::size_t same : {2, 3}) EXPECT_EQ(changes[same].before, changes[same].after);
  }
}

TEST(diff, names_sites_that_came_and_went) {
  telling before({}), after({});
  tell_training(before, 8);
  before.alloc(40 * ms, 3 * mib, before.stack("old", "model.py", 90));
  tell_training(after, 8);
  const auto fresh = after.stack("fresh", "model.py", 90);
  after.alloc(40 * ms, 5 * mib, fresh);
  after.alloc(50 * ms, 4 * mib, {});
  taken a(before), b(after);
  const difference found = between(a.whole(), b.whole());
  std::string appeared;
  std::string vanished;
  for (const auto& change : found.memory[0].allocated) {
    if (change.appeared()) appeared += change.stack.empty() ? "none " : change.line.function + " ";
    if (change.vanished()) vanished += change.line.function + " ";
  }
  EXPECT_EQ(appeared, "fresh none ");
  EXPECT_EQ(vanished, "old ");
}

TEST(diff, compares_two_ranges_of_one_recording) {
  telling reported({});
  const auto site = reported.stack("forward", "model.py", 70);
  reported.alloc(10 * ms, 4 * mib, site);
  reported.free_last(50 * ms);
  reported.alloc(110 * ms, 9 * mib, site);
  taken whole(reported);
  const difference found = between(whole.range({0, 100 * ms}), whole.range({100 * ms, 200 * ms}));
  ASSERT_EQ(found.memory.size(), 1U);
  EXPECT_EQ(found.memory[0].before.maximum, 4 * mib);
  EXPECT_EQ(found.memory[0].after.maximum, 9 * mib);
  ASSERT_EQ(found.memory[0].allocated.size(), 1U);
  EXPECT_EQ(found.memory[0].allocated[0].before.count, 1U);
  EXPECT_EQ(found.memory[0].allocated[0].after.bytes, 9 * mib);
}

TEST(diff, knows_memory_that_one_side_has_none_of) {
  telling before({}), after({});
  tell_training(after, 8);
  taken a(before), b(after);
  const difference found = between(a.whole(), b.whole());
  ASSERT_EQ(found.memory.size(), 1U);
  EXPECT_EQ(found.memory[0].before.maximum, 0U);
  for (const auto& change : found.memory[0].at_peak) EXPECT_TRUE(change.appeared());
}

TEST(diff, matches_the_only_gpu_of_each_side) {
  telling before({.device = 4}), after({.first = 900, .device = 2});
  tell_training(before, 8);
  tell_training(after, 20);
  taken a(before), b(after);
  const difference found = between(a.whole(), b.whole());
  ASSERT_EQ(found.memory.size(), 1U);
  EXPECT_EQ(found.memory[0].device, (matched_device{3, 1}));
  EXPECT_EQ(found.memory[0].before.maximum, 108 * mib);
  EXPECT_EQ(found.memory[0].after.maximum, 120 * mib);
  ASSERT_EQ(found.transfers.size(), 1U);
  EXPECT_EQ(found.transfers[0].device, (matched_device{3, 1}));
  EXPECT_EQ(found.transfers[0].before.bytes, 8 * mib);
  EXPECT_EQ(found.transfers[0].after.bytes, 20 * mib);
}

/// One block of `bytes` on each of `devices`.
void tell_blocks(telling& reported, std::initializer_list<std::uint64_t> devices, std::uint64_t bytes) {
  for (const std::uint64_t device : devices) {
    reported.use(device);
    reported.alloc(static_cast<trace::time_ns>(device) * ms, bytes * device, {});
  }
}

std::vector<matched_device> matched(std::initializer_list<std::uint64_t> before,
                                    std::initializer_list<std::uint64_t> after,
                                    device_match match = device_match::by_role) {
  telling first({}), second({.first = 900});
  tell_blocks(first, before, mib);
  tell_blocks(second, after, mib);
  const taken a(first), b(second);
  symbols::frame_cache names_a, names_b;
  std::vector<matched_device> devices;
  const auto whole = [](const taken& subject, std::list<compared_metrics>& metrics) {
    const trace::tables& tables = subject.snapshot->tables();
    return diff_side{metrics.emplace_back(
                         metrics_to_compare(subject.from, *subject.snapshot, index::recorded_range(*subject.snapshot))),
                     tables};
  };
  std::list<compared_metrics> metrics;
  for (const memory_change& each : compare(whole(a, metrics), names_a, whole(b, metrics), names_b, match).memory)
    devices.push_back(each.device);
  return devices;
}

TEST(diff, matches_as_many_gpus_in_order) {
  using pairs = std::vector<matched_device>;
  EXPECT_EQ(matched({1, 2}, {3, 4}), (pairs{{0, 2}, {1, 3}}));
  EXPECT_EQ(matched({1, 2}, {1, 2}), (pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(matched({2, 3}, {1, 3}), (pairs{{1, 0}, {2, 2}}));
}

TEST(diff, matches_more_or_fewer_gpus_by_their_numbers) {
  using pairs = std::vector<matched_device>;
  EXPECT_EQ(matched({1, 2}, {2}), (pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(matched({4}, {2}, device_match::by_ordinal), (pairs{{1, 1}, {3, 3}})) << "two ranges of one recording";
}

TEST(diff, has_no_percentage_of_next_to_nothing) {
  EXPECT_EQ(percent_of_change(200, 150), " (-25 %)");
  EXPECT_EQ(percent_of_change(200, 2000), " (+900 %)");
  EXPECT_EQ(percent_of_change(0, 2000), "");
  EXPECT_EQ(percent_of_change(1, 8e9), "");
  EXPECT_EQ(percent_of_change(200, 0), " (-100 %)");
}

/// All texts of a difference.
std::string to_text(const difference& found) {
  std::ostringstream out;
  const auto say = [&](const memory_statistics& m) {
    out << raw(m.device) << ' ' << int(m.layer) << ' ' << int(m.kind) << ' ' << m.at_begin << ' ' << m.at_end << ' '
        << m.minimum << ' ' << m.maximum << ' ' << m.maximum_time << ' ' << m.mean << ' ' << m.allocations << ' '
        << m.allocated_bytes << ' ' << m.frees << ' ' << m.freed_bytes << '\n';
  };
  const auto say_transfers = [&](const transfer_statistics& t) {
    out << raw(t.device) << ' ' << int(t.direction) << ' ' << t.count << ' ' << t.bytes << ' ' << t.busy << ' '
        << t.mean_bandwidth << '\n';
  };
  const auto say_stacks = [&](const std::vector<stack_change>& changes) {
    for (const stack_change& change : changes) {
      for (const stack_metrics& f : {change.before, change.after})
        out << f.bytes << ' ' << f.count << ' ' << f.busy << ' ' << f.alone << ", ";
      out << symbols::to_text(change.line) << ' ' << change.stack.size() << '\n';
    }
  };
  for (const memory_change& m : found.memory) {
    out << m.device.before << ' ' << m.device.after << ' ' << int(m.layer) << ' ' << int(m.kind) << '\n';
    say(m.before), say(m.after);
    say_stacks(m.at_peak), say_stacks(m.allocated);
  }
  for (const transfer_change& t : found.transfers) {
    out << t.device.before << ' ' << t.device.after << ' ' << int(t.direction) << '\n';
    say_transfers(t.before), say_transfers(t.after);
    say_stacks(t.sites);
  }
  for (const idle_change& idle : found.idle) {
    out << idle.device.before << ' ' << idle.device.after << ' ' << describe_idle_change(idle) << '\n';
    for (const idle_cause_change& each : idle.causes)
      out << describe_cause_and_line(each) << ' ' << each.before << ' ' << each.after << '\n';
  }
  return out.str();
}

struct from_file {
  explicit from_file(const std::string& path) : file(trace::file::open(path).value()), snapshot(file->latest()) {
    while (!all.absorb(*snapshot, 1 << 20)) {
    }
    by_index = metrics_to_compare(all, *snapshot, index::recorded_range(*snapshot));
    auto kept = metrics_to_compare(summary::make_stored_metrics(all, *snapshot));
    EXPECT_TRUE(kept) << path;
    if (kept) by_stored_metrics = std::move(*kept);
  }
  std::shared_ptr<trace::file> file;
  std::shared_ptr<const trace::snapshot> snapshot;
  index::growing_index all;
  compared_metrics by_index, by_stored_metrics;
};

void expect_same_by_stored_metrics(const from_file& a, const from_file& b) {
  const auto& before = a.snapshot->tables();
  const auto& after = b.snapshot->tables();
  const std::string known = to_text(between({a.by_index, before}, {b.by_index, after}));
  EXPECT_GT(known.size(), 100U);
  EXPECT_EQ(to_text(between({a.by_stored_metrics, before}, {b.by_stored_metrics, after})), known);
  // One side may have stored metrics and the other side only an index.
  EXPECT_EQ(to_text(between({a.by_index, before}, {b.by_stored_metrics, after})), known);
}

TEST(diff, says_the_same_from_digests_as_from_all_events) {
  const std::string folder = SLUICE_SOURCE_DIR "/assets/recordings/";
  const from_file training(folder + "pytorch-training.sluice"), leak(folder + "leak.sluice"),
      managed(folder + "managed-migration.sluice");
  expect_same_by_stored_metrics(training, leak);
  expect_same_by_stored_metrics(leak, managed);
  std::list<from_file> files;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const std::string path = ::testing::TempDir() + "diff-" + std::to_string(seed) + ".sluice";
    generate::generate_options options{
        .events = 30'000, .seed = seed, .stacks = generate::stack_choice::all, .host_samples = seed > 2};
    if (seed % 2 == 0) options.pattern = generate::program_pattern::inference;
    ASSERT_TRUE(generate::generate(options, path));
    files.emplace_back(path);
    std::filesystem::remove(path);
  }
  for (const from_file& a : files)
    for (const from_file& b : files) expect_same_by_stored_metrics(a, b);
}

TEST(diff, knows_what_no_stored_metrics_keeps) {
  telling reported({});
  reported.alloc(10 * ms, 0, reported.stack("nothing", "model.py", 1));
  const taken whole(reported);
  EXPECT_FALSE(metrics_to_compare(summary::make_stored_metrics(whole.from, *whole.snapshot)));
}

}  // namespace
}  // namespace sluice::metrics
