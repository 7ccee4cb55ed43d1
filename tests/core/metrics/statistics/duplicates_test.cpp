#include "core/metrics/statistics/duplicates.hpp"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <map>
#include <random>

#include "core/metrics/report/report.hpp"
#include "tests/core/metrics/reports.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/stacks.hpp"

namespace sluice::metrics {
namespace {

using testing::build_report;
using testing::mib;
using testing::ms;
using testing::recording;
using trace::content_check;

/// One copy of a recording under construction; members that are not set equal those of the previous copy.
struct made_copy {
  time_ns begin = 0;
  time_ns length = 1 * ms;
  std::uint64_t bytes = 2 * mib;
  std::uint64_t hash = 1;
  content_check check = content_check::exact;
  std::uint64_t source = 0x1000;
  std::uint64_t destination = 0x9000;
  std::uint64_t block = 1;
  std::uint64_t process = 1;
  std::uint64_t device = 1;
  trace::memory_kind from = trace::memory_kind::pinned;
  bool asynchronous = false;
  time_ns queued = 0;
  trace::event_id call{};
  bool to_host = false;
  std::uint64_t read = 0;  ///< If 0, all bytes of an exact hash or the samples of a sampled one.
};

trace::event_id add(recording& to, const made_copy& copy) {
  auto row = to.event<trace::transfer_event>(copy.begin);
  row.process = trace::process_id{copy.process};
  row.end = copy.begin + copy.length;
  row.direction = copy.to_host ? trace::direction::d2h : trace::direction::h2d;
  row.source_kind = copy.from;
  row.destination_kind = trace::memory_kind::device;
  row.bytes = copy.bytes;
  row.source_address = copy.source;
  row.destination_address = copy.destination;
  row.destination_block = trace::block_id{copy.block};
  row.device = trace::device_id{copy.device};
  row.stream = trace::stream_id{1};
  row.enqueued = copy.begin - copy.queued;
  row.asynchronous = copy.asynchronous;
  row.call = copy.call;
  row.content = copy.check;
  row.content_hash = copy.hash;
  row.content_bytes = copy.read != 0 ? copy.read : copy.check == content_check::exact ? copy.bytes : 16384;
  return trace::event_id{to.writer().add(row)};
}

/// A copy from the device into host memory.
void add_write(recording& to, time_ns begin, time_ns length, std::uint64_t address, std::uint64_t bytes,
               std::uint64_t process = 1) {
  auto row = to.event<trace::transfer_event>(begin);
  row.process = trace::process_id{process};
  row.end = begin + length;
  row.direction = trace::direction::d2h;
  row.bytes = bytes;
  row.destination_address = address;
  row.device = trace::device_id{1};
  to.writer().add(row);
}

const finding* find_hint(const report& whole_report) {
  return testing::find(whole_report, finding_kind::repeated_copies);
}

TEST(duplicates, are_copies_of_the_same_content_to_the_same_device) {
  recording recorded;
  recorded.standard_tables();
  add(recorded, {.begin = 10 * ms});
  add(recorded, {.begin = 20 * ms});                    // A repeat.
  add(recorded, {.begin = 30 * ms, .hash = 2});         // Other content.
  add(recorded, {.begin = 40 * ms, .bytes = 1 * mib});  // Another length.
  add(recorded,
      {.begin = 50 * ms, .check = content_check::sampled});  // A sample does not prove that all bytes are equal.
  add(recorded, {.begin = 60 * ms, .process = 2});           // Another process.
  add(recorded, {.begin = 70 * ms, .device = 2});            // Another device.
  add(recorded, {.begin = 80 * ms, .source = 0x5000, .destination = 0x7000});  // A repeat between other addresses.
  const report whole_report = build_report(recorded);
  const duplicate_copies& found = whole_report.duplicates;
  EXPECT_EQ(found.repeated.all, (copy_metrics{2, 4 * mib, 2 * ms}));
  EXPECT_EQ(found.repeated.same_source, (copy_metrics{1, 2 * mib, 1 * ms}));
  EXPECT_EQ(found.repeated.same_destination, (copy_metrics{1, 2 * mib, 1 * ms}));
  EXPECT_EQ(found.repeated.exact, found.repeated.all);
  EXPECT_EQ(found.exact.copies, 7U);
  EXPECT_EQ(found.sampled.copies, 1U);
}

TEST(duplicates, count_against_all_earlier_ones_not_only_the_last) {
  recording recorded;
  recorded.standard_tables();
  // Two buffers take turns, with two contents: A in both, B in the first, A in the first again.
  add(recorded, {.begin = 1 * ms, .hash = 1, .source = 0x1000});
  add(recorded, {.begin = 2 * ms, .hash = 1, .source = 0x2000});
  add(recorded, {.begin = 3 * ms, .hash = 2, .source = 0x1000});
  add(recorded, {.begin = 4 * ms, .hash = 1, .source = 0x1000});
  const report whole_report = build_report(recorded);
  EXPECT_EQ(whole_report.duplicates.repeated.all.copies, 2U);
  EXPECT_EQ(whole_report.duplicates.repeated.same_source.copies, 1U);
}

TEST(duplicates, in_a_block_that_was_freed_and_made_anew_are_not_in_the_same_place) {
  recording recorded;
  recorded.standard_tables();
  add(recorded, {.begin = 1 * ms, .block = 1});
  add(recorded, {.begin = 2 * ms, .block = 2});
  EXPECT_EQ(build_report(recorded).duplicates.repeated.same_destination.copies, 0U);
}

TEST(duplicates, are_ordered_by_when_they_were_asked_for) {
  recording recorded;
  recorded.standard_tables();
  // The second call's copy ran first, on another stream.
  add(recorded, {.begin = 50 * ms, .queued = 45 * ms});
  add(recorded, {.begin = 20 * ms, .queued = 10 * ms});
  const report early = build_report(recorded, time_range{0, 30 * ms});
  EXPECT_EQ(early.duplicates.repeated.all.copies, 1U) << "the repeated copy may start outside the range";
}

TEST(duplicates, of_a_range_are_those_that_begin_in_it) {
  recording recorded;
  recorded.standard_tables();
  for (int i = 0; i < 10; ++i) add(recorded, {.begin = i * 10 * ms});
  const report whole_report = build_report(recorded, time_range{35 * ms, 65 * ms});
  EXPECT_EQ(whole_report.duplicates.exact.copies, 3U);
  EXPECT_EQ(whole_report.duplicates.repeated.all.copies, 3U);
}

TEST(duplicates, what_could_not_be_hashed_is_counted_and_compared_with_nothing) {
  recording recorded;
  recorded.standard_tables();
  for (int i = 0; i < 3; ++i) {
    add(recorded, {.begin = i * 10 * ms, .hash = 0, .check = content_check::over_budget});
    add(recorded, {.begin = i * 10 * ms + 5 * ms, .hash = 0, .check = content_check::unreadable});
  }
  const report whole_report = build_report(recorded);
  EXPECT_EQ(whole_report.duplicates.over_budget.copies, 3U);
  EXPECT_EQ(whole_report.duplicates.unreadable.copies, 3U);
  EXPECT_EQ(whole_report.duplicates.repeated.all.copies, 0U);
  EXPECT_TRUE(whole_report.duplicates.looked());
  EXPECT_EQ(find_hint(whole_report), nullptr);
}

TEST(duplicates, where_nobody_looked_there_is_nothing_to_say) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_copy(1 * ms, 2 * ms, 4 * mib);
  recorded.add_copy(3 * ms, 4 * ms, 4 * mib);
  const report whole_report = build_report(recorded);
  EXPECT_FALSE(whole_report.duplicates.looked());
  EXPECT_EQ(find_hint(whole_report), nullptr);
}

// The hash covers the source when the copy was requested. If the device wrote to the source before the copy ran, the
// copy moved other data.
TEST(duplicates, are_not_copies_whose_source_the_device_wrote_meanwhile) {
  const auto repeated_after = [](const made_copy& second, const std::function<void(recording&)>& write) {
    recording recorded;
    recorded.standard_tables();
    add(recorded, {.begin = 10 * ms});
    write(recorded);
    add(recorded, second);
    const report whole_report = build_report(recorded);
    EXPECT_EQ(whole_report.duplicates.repeated.all.copies + whole_report.duplicates.overtaken.copies, 1U);
    return whole_report.duplicates.repeated.all.copies == 1;
  };
  const made_copy queued{.begin = 100 * ms, .asynchronous = true, .queued = 50 * ms};
  const auto write = [](time_ns begin, std::uint64_t address, std::uint64_t process = 1) {
    return [=](recording& to) { add_write(to, begin, 2 * ms, address, 4096, process); };
  };
  EXPECT_FALSE(repeated_after(queued, write(70 * ms, 0x1000)));
  EXPECT_FALSE(repeated_after(queued, write(70 * ms, 0x1000 + mib))) << "into its middle";
  EXPECT_FALSE(repeated_after(queued, write(70 * ms, 0x1000 - 100))) << "across its start";
  EXPECT_FALSE(repeated_after(queued, write(49 * ms, 0x1000)))
      << "the write was still running when the source was hashed";
  EXPECT_TRUE(repeated_after(queued, write(40 * ms, 0x1000))) << "before it was hashed";
  EXPECT_TRUE(repeated_after(queued, write(110 * ms, 0x1000))) << "after the copy";
  EXPECT_TRUE(repeated_after(queued, write(70 * ms, 0x1000 + 2 * mib))) << "after its end";
  EXPECT_TRUE(repeated_after(queued, write(70 * ms, 0x1000, 2))) << "another process has other memory there";
  made_copy waited = queued;
  waited.asynchronous = false;
  EXPECT_TRUE(repeated_after(waited, write(70 * ms, 0x1000)));
  made_copy pageable = queued;
  pageable.from = trace::memory_kind::host;
  EXPECT_TRUE(repeated_after(pageable, write(70 * ms, 0x1000))) << "it had been read when the call returned";
}

std::uint64_t hash_of_zeros(std::size_t bytes) {
  const std::vector<char> zeros(bytes);
  return XXH3_64bits(zeros.data(), zeros.size());
}

TEST(duplicates, that_came_from_the_device_are_round_trips) {
  recording recorded;
  recorded.standard_tables();
  add(recorded, {.begin = 10 * ms, .hash = 1});
  add(recorded, {.begin = 20 * ms, .length = 3 * ms, .hash = 1, .to_host = true});
  add(recorded, {.begin = 30 * ms, .hash = 1});                   // Copied back.
  add(recorded, {.begin = 40 * ms, .hash = 1});                   // Copied to the device once more: a repeat.
  add(recorded, {.begin = 50 * ms, .hash = 2, .to_host = true});  // Never comes back.
  add(recorded, {.begin = 60 * ms, .hash = 3});                   // Goes to the device before it comes back.
  add(recorded, {.begin = 70 * ms, .hash = 3, .to_host = true});
  add(recorded, {.begin = 80 * ms, .hash = 4, .device = 2, .to_host = true});
  add(recorded, {.begin = 90 * ms, .hash = 4, .device = 1});  // To another device.
  add(recorded, {.begin = 100 * ms, .bytes = 8, .hash = 5, .to_host = true});
  add(recorded, {.begin = 110 * ms, .bytes = 8, .hash = 5});  // Eight bytes, which are equal by chance.
  add(recorded, {.begin = 120 * ms, .hash = 0, .check = content_check::none, .to_host = true});
  add(recorded, {.begin = 130 * ms, .hash = 0, .check = content_check::over_budget, .to_host = true});
  const report whole_report = build_report(recorded);
  const round_trip_metrics trips = get_sum(whole_report.duplicates.round_trips);
  EXPECT_EQ(trips.to_device, (copy_metrics{1, 2 * mib, 1 * ms}));
  EXPECT_EQ(trips.to_host, (copy_metrics{1, 2 * mib, 3 * ms}));
  EXPECT_EQ(trips.exact, 1U);
  EXPECT_EQ(whole_report.duplicates.repeated.all.copies, 1U);
  EXPECT_EQ(whole_report.duplicates.results.copies, 5U);
  EXPECT_EQ(whole_report.duplicates.unseen_results.copies, 2U);
}

TEST(duplicates, of_zeros_are_counted_as_zeros) {
  recording recorded;
  recorded.standard_tables();
  const std::uint64_t sampled = hash_of_zeros(16384);
  add(recorded, {.begin = 10 * ms, .bytes = 1000, .hash = hash_of_zeros(1000)});
  add(recorded, {.begin = 20 * ms, .bytes = 1000, .hash = hash_of_zeros(999)});
  add(recorded,
      {.begin = 30 * ms, .hash = sampled, .check = content_check::sampled, .read = 2 * mib});  // All bytes read.
  add(recorded, {.begin = 40 * ms, .hash = sampled, .check = content_check::sampled});
  // Only the samples of these were read: they may be sparse.
  add(recorded, {.begin = 50 * ms, .bytes = 3 * mib, .hash = sampled, .check = content_check::sampled});
  add(recorded,
      {.begin = 60 * ms, .bytes = 9 * mib, .hash = sampled, .check = content_check::sampled, .read = 4 * mib});
  add(recorded,
      {.begin = 70 * ms, .bytes = 9 * mib, .hash = sampled, .check = content_check::sampled, .to_host = true});
  add(recorded, {.begin = 80 * ms, .bytes = 9 * mib, .hash = sampled, .check = content_check::sampled});
  const report whole_report = build_report(recorded);
  const zero_metrics zeros = get_sum(whole_report.duplicates.zeros);
  EXPECT_EQ(zeros.all, (copy_metrics{5, 1000 + 22 * mib, 5 * ms}));
  EXPECT_EQ(zeros.exact, 1U);
  EXPECT_TRUE(whole_report.duplicates.round_trips.empty()) << "zeros that come back are zeros";
  EXPECT_EQ(whole_report.duplicates.repeated.all.copies, 0U);
  const finding* hint = testing::find(whole_report, finding_kind::zero_uploads);
  ASSERT_NE(hint, nullptr);
  EXPECT_NE(hint->text.find("Zeros were copied to the GPU 5 times (22.0 MiB, 5.0"), std::string::npos) << hint->text;
  EXPECT_NE(hint->text.find("For 4 of them, only a sample of the bytes was checked."), std::string::npos) << hint->text;
  EXPECT_EQ(hint->saves.time, 5 * ms);
}

TEST(duplicates, of_a_round_trip_are_named_by_both_lines) {
  recording recorded;
  recorded.standard_tables();
  testing::stack_maker stack{recorded};
  const auto call_at = [&](std::uint64_t line, time_ns at) {
    auto row = recorded.event<trace::api_call_event>(at);
    row.end = at + 1;
    row.stack = stack({testing::python("filter", "train.py", line)});
    return trace::event_id{recorded.writer().add(row)};
  };
  for (std::uint64_t i = 0; i < 4; ++i) {
    const time_ns at = static_cast<time_ns>(i) * 100 * ms;
    add(recorded, {.begin = at, .length = 5 * ms, .hash = 10 + i, .call = call_at(118, at), .to_host = true});
    add(recorded, {.begin = at + 50 * ms, .hash = 10 + i, .call = call_at(119, at + 50 * ms)});
  }
  const report whole_report = build_report(recorded);
  const finding* hint = testing::find(whole_report, finding_kind::round_trips);
  ASSERT_NE(hint, nullptr);
  EXPECT_NE(hint->text.find("to the host and back to the GPU unchanged 4 times (8.00 MiB each way, 24.0 ms"),
            std::string::npos)
      << hint->text;
  EXPECT_NE(hint->text.find("to the host at train.py:118 (filter) and back at train.py:119 (filter)."),
            std::string::npos)
      << hint->text;
  EXPECT_EQ(hint->where.line.line, 119U);
  EXPECT_EQ(hint->saves.time, 24 * ms);
  EXPECT_EQ(find_hint(whole_report), nullptr) << "nothing else is repeated";
}

TEST(duplicates, are_named_by_the_lines_that_asked_for_them) {
  recording recorded;
  recorded.standard_tables();
  testing::stack_maker stacks{recorded};
  const auto stack_at = [&](std::uint64_t line) { return stacks({testing::python("load", "train.py", line)}); };
  const auto call_from = [&](trace::stack_id stack, time_ns at) {
    auto row = recorded.event<trace::api_call_event>(at);
    row.end = at + 1;
    row.stack = stack;
    return trace::event_id{recorded.writer().add(row)};
  };
  const trace::stack_id mask = stack_at(57), table = stack_at(60);
  for (int i = 0; i < 5; ++i) add(recorded, {.begin = i * 10 * ms, .hash = 1, .call = call_from(mask, i * 10 * ms)});
  for (int i = 5; i < 7; ++i) {
    add(recorded, {.begin = i * 10 * ms,
                   .bytes = 3 * mib,
                   .hash = 2,
                   .check = content_check::sampled,
                   .call = call_from(table, i * 10 * ms)});
  }
  add(recorded, {.begin = 80 * ms, .hash = 1});  // The caller is unknown.
  const report whole_report = build_report(recorded);
  const duplicate_copies& found = whole_report.duplicates;
  ASSERT_EQ(found.lines.size(), 2U);
  EXPECT_EQ(found.lines[0].line.line, 57U);
  EXPECT_EQ(found.lines[0].metrics.all, (copy_metrics{4, 8 * mib, 4 * ms}));
  EXPECT_EQ(found.lines[1].line.line, 60U);
  EXPECT_EQ(found.lines[1].metrics.all.copies, 1U);
  EXPECT_EQ(found.lines[1].metrics.exact.copies, 0U);
  EXPECT_EQ(found.without_stack.all.copies, 1U);
  const finding* hint = find_hint(whole_report);
  ASSERT_NE(hint, nullptr);
  EXPECT_NE(hint->text.find("copied to the GPU again 6 times (13.0 MiB, "), std::string::npos) << hint->text;
  EXPECT_NE(hint->text.find("train.py:57"), std::string::npos) << hint->text;
  EXPECT_NE(hint->text.find("For 1 of them, only a sample"), std::string::npos) << hint->text;
  EXPECT_NE(hint->event, trace::event_id::none);
}

TEST(duplicates, say_that_copies_in_graphs_were_left_out) {
  recording recorded;
  recorded.standard_tables();
  const auto node = [&](std::uint64_t graph, std::string_view name) {
    auto row = recorded.event<trace::touch_event>(1 * ms);
    row.block = trace::block_id{1};
    row.graph = trace::graph_id{graph};
    row.name = recorded.text(name);
    recorded.writer().add(row);
  };
  node(1, "add_one");
  node(1, "cuMemcpyHtoDAsync");
  node(2, "cuMemsetD8Async");
  for (const std::uint64_t graph : {1, 1, 2, 3}) {
    auto launch = recorded.event<trace::graph_launch_event>(2 * ms);
    launch.graph = trace::graph_id{graph};
    recorded.writer().add(launch);
  }
  add(recorded, {.begin = 10 * ms});
  add(recorded, {.begin = 20 * ms});
  const report whole_report = build_report(recorded);
  EXPECT_EQ(whole_report.duplicates.graph_launches, 2U);
  const finding* hint = find_hint(whole_report);
  ASSERT_NE(hint, nullptr);
  EXPECT_NE(hint->text.find("Copies in graphs (launched 2 times) were not compared."), std::string::npos) << hint->text;
}

TEST(duplicates, of_a_copy_are_known_from_its_row) {
  recording recorded(4);  // Chunks of four rows, so that equal contents are in different chunks.
  recorded.standard_tables();
  std::vector<trace::event_id> ids;
  for (int i = 0; i < 9; ++i) {
    ids.push_back(
        add(recorded, {.begin = i * 10 * ms, .hash = static_cast<std::uint64_t>(i % 3), .source = 0x1000U + i % 2}));
  }
  recorded.close();
  const testing::indexed indexed(recorded.open());
  std::map<trace::event_id, index::content_repeats> repeats;
  ASSERT_TRUE(indexed.snapshot->for_each<trace::transfer_event>(
      [&](const trace::transfer_event& row) { repeats[row.id] = indexed.index.contents().get_repeats(row); }));
  const index::content_repeats& middle = repeats[ids[4]];  // The content that copies 1, 4 and 7 have in common.
  EXPECT_EQ(middle.before, 1U);
  EXPECT_EQ(middle.after, 1U);
  EXPECT_EQ(middle.first, ids[1]);
  EXPECT_EQ(middle.next, ids[7]);
  EXPECT_FALSE(middle.same_source);
  EXPECT_TRUE(repeats[ids[7]].same_source) << "as in 1, though not as in 4";
  EXPECT_EQ(repeats[ids[0]].before, 0U);
}

// The reference compares each copy with all earlier copies.
TEST(duplicates, agree_with_comparing_each_copy_with_all_before) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    recording recorded(16);
    recorded.standard_tables();
    std::vector<made_copy> copies;
    for (int i = 0; i < 120; ++i) {
      made_copy copy{.begin = static_cast<time_ns>(random() % 1000) * ms + i, .bytes = (1 + random() % 2) * mib};
      copy.hash = random() % 6;
      copy.source = 0x1000 * (1 + random() % 3);
      copy.destination = 0x9000 * (1 + random() % 2);
      copy.device = 1 + random() % 2;
      copy.check = random() % 3 == 0 ? content_check::sampled : content_check::exact;
      if (random() % 8 == 0) copy.check = content_check::over_budget;
      add(recorded, copy);
      copies.push_back(copy);
    }
    std::sort(copies.begin(), copies.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    repeat_metrics expected;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      bool again = false, same_source = false, same_destination = false;
      for (std::size_t j = 0; j < i; ++j) {
        const made_copy &a = copies[j], &b = copies[i];
        if (a.check == content_check::over_budget || a.check != b.check || a.hash != b.hash || a.bytes != b.bytes ||
            a.device != b.device) {
          continue;
        }
        again = true;
        same_source = same_source || a.source == b.source;
        same_destination = same_destination || a.destination == b.destination;
      }
      const copy_metrics one{1, copies[i].bytes, copies[i].length};
      if (again) expected.all.add(one);
      if (same_source) expected.same_source.add(one);
      if (same_destination) expected.same_destination.add(one);
      if (again && copies[i].check == content_check::exact) expected.exact.add(one);
    }
    const report whole_report = build_report(recorded);
    EXPECT_EQ(whole_report.duplicates.repeated.all, expected.all);
    EXPECT_EQ(whole_report.duplicates.repeated.same_source, expected.same_source);
    EXPECT_EQ(whole_report.duplicates.repeated.same_destination, expected.same_destination);
    EXPECT_EQ(whole_report.duplicates.repeated.exact, expected.exact);
  }
}

}  // namespace
}  // namespace sluice::metrics
