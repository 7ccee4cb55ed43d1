#include "core/metrics/findings/ranks/ranks.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/core/metrics/findings/ranks/job_recording.hpp"
#include "tests/core/metrics/reports.hpp"

namespace sluice::metrics {
namespace {

using testing::add_rank;
using testing::all_reduce;
using testing::alloc;
using testing::kernel;
using testing::mib;
using testing::us;
using testing::wasteful_recording;

TEST(ranks, are_of_each_rank_alone) {
  wasteful_recording reported;
  add_rank(reported, 10, 1);
  add_rank(reported, 11, 0);
  const trace::stack_id model = reported.stack({testing::python("model", "/home/me/train.py", 3)});
  const trace::stack_id batch = reported.stack({testing::python("batch", "/home/me/train.py", 9)});
  alloc(reported, 10, 0, 1, 4 * mib, model);
  alloc(reported, 10, 20, 2, 2 * mib, batch);
  alloc(reported, 10, 30, 3, mib, batch);
  reported.free(50, 2);
  reported.free(51, 1);
  alloc(reported, 11, 40, 4, 5 * mib, model);
  reported.free(60, 4);
  alloc(reported, 11, 70, 5, 3 * mib, model);
  const auto ranks = reported.waste().ranks;
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].rank, 0);
  EXPECT_EQ(ranks[0].peak, 5 * mib);
  EXPECT_EQ(ranks[0].peak_time, 40 * us);
  EXPECT_EQ(ranks[1].rank, 1);
  EXPECT_EQ(ranks[1].peak, 7 * mib);
  EXPECT_EQ(ranks[1].peak_time, 30 * us);
  ASSERT_EQ(ranks[1].held.size(), 2U);
  EXPECT_EQ(ranks[1].held[0].stack, model);
  EXPECT_EQ(ranks[1].held[0].bytes, 4 * mib);
  EXPECT_EQ(ranks[1].held[1].stack, batch);
  EXPECT_EQ(ranks[1].held[1].bytes, 3 * mib);
}

TEST(ranks, are_of_the_highest_layer) {
  wasteful_recording reported;
  add_rank(reported, 10, 0);
  add_rank(reported, 11, 1);
  for (const std::uint64_t process : {10, 11}) {
    alloc(reported, process, 0, process, 8 * mib);
    alloc(reported, process, 1, process + 10, 2 * mib, {}, trace::layer::framework);
  }
  for (const rank_metrics& each : reported.waste().ranks) {
    EXPECT_EQ(each.layer, trace::layer::framework);
    EXPECT_EQ(each.peak, 2 * mib);
  }
}

TEST(ranks, need_several_ranks) {
  wasteful_recording reported;
  add_rank(reported, 10, 0);
  alloc(reported, 10, 0, 1, mib);
  EXPECT_TRUE(reported.waste().ranks.empty());
}

void categorise(wasteful_recording& reported, trace::event_id alloc, std::string_view category) {
  auto row = reported.recorded.event<trace::attribute_event>(0);
  row.target = alloc;
  row.key = reported.recorded.text("category");
  row.text = reported.recorded.text(category);
  reported.recorded.writer().add(row);
}

/// Two ranks with a block each. In each of `turns` turns of 100 us, rank 0 computes for `first` us, rank 1 for
/// `second`, and then both reduce until 90 us after the turn's start.
void unequal_work(wasteful_recording& reported, time_ns turns, time_ns first, time_ns second) {
  add_rank(reported, 10, 0);
  add_rank(reported, 11, 1);
  alloc(reported, 10, 0, 1, 64 * mib);
  alloc(reported, 11, 0, 2, 64 * mib);
  for (time_ns i = 0; i < turns; ++i) {
    const time_ns begin = 10 + i * 100;
    kernel(reported, 10, begin, begin + first, "gemm");
    kernel(reported, 11, begin, begin + second, i % 2 == 0 ? "gemm" : "sort");
    kernel(reported, 10, begin + first, begin + 90, all_reduce);
    kernel(reported, 11, begin + second, begin + 90, all_reduce);
  }
}

TEST(ranks, wait_in_collectives_for_the_rank_that_needs_least_time_in_them) {
  wasteful_recording reported;
  unequal_work(reported, 3, 20, 80);
  const auto ranks = reported.waste().ranks;
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].collectives, 3U);
  EXPECT_EQ(ranks[0].reductions, 3U);
  EXPECT_EQ(ranks[0].gathers, 0U);
  EXPECT_EQ(ranks[0].collective_time, 3 * 70 * us);
  EXPECT_EQ(ranks[0].waiting, 3 * 60 * us);
  EXPECT_EQ(ranks[0].computing, 3 * 20 * us);
  EXPECT_EQ(ranks[1].collective_time, 3 * 10 * us);
  EXPECT_EQ(ranks[1].waiting, 0);
  ASSERT_EQ(ranks[1].kernels.size(), 2U);
  EXPECT_EQ(ranks[1].kernels[0].total, 2 * 80 * us);
}

TEST(ranks, match_collectives_of_one_name_that_overlap) {
  wasteful_recording reported;
  for (const std::uint64_t process : {10, 11, 12}) {
    add_rank(reported, process, static_cast<std::int64_t>(process) - 10);
    alloc(reported, process, 0, process, mib);
  }
  // A collective of three ranks; then one of ranks 0 and 1, while rank 2 is in another.
  kernel(reported, 10, 10, 100, all_reduce);
  kernel(reported, 11, 40, 100, all_reduce);
  kernel(reported, 12, 70, 100, all_reduce);
  kernel(reported, 10, 200, 260, all_reduce);
  kernel(reported, 11, 250, 260, all_reduce);
  kernel(reported, 12, 200, 290, "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE");
  // No other rank runs a collective at this time, so this one does not wait.
  kernel(reported, 10, 300, 400, all_reduce);
  const auto ranks = reported.waste().ranks;
  ASSERT_EQ(ranks.size(), 3U);
  EXPECT_EQ(ranks[0].waiting, (60 + 50) * us);
  EXPECT_EQ(ranks[1].waiting, 30 * us);
  EXPECT_EQ(ranks[2].waiting, 0);
  EXPECT_EQ(ranks[2].gathers, 1U) << "mangled NCCL names count, too";
  EXPECT_EQ(ranks[0].collectives, 3U);
}

TEST(ranks, wait_as_long_where_a_section_ends_while_they_wait) {
  wasteful_recording reported;
  unequal_work(reported, 3, 20, 80);
  reported.recorded.close();
  const testing::indexed loaded(reported.recorded.open());
  const time_range whole = index::recorded_range(*loaded.snapshot);
  const metrics_scope scope{loaded.snapshot.get(), whole};
  ranks_builder builder(scope);
  // Rank 0 starts to wait at 30 us of each turn of 100 us, rank 1 arrives at 90 us.
  const time_range sections[] = {
      {whole.begin, 70 * us}, {70 * us, 150 * us}, {150 * us, 170 * us}, {170 * us, whole.end}};
  for (const time_range& each : sections) builder.add(loaded.index, each);
  builder.find_peaks();
  const auto ranks = builder.metrics({}, {});
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].waiting, 3 * 60 * us);
  EXPECT_EQ(ranks[1].waiting, 0);
}

TEST(ranks, make_the_waits_of_the_others) {
  wasteful_recording reported;
  unequal_work(reported, 6, 20, 80);
  kernel(reported, 10, 2000, 9000, all_reduce);  // Rank 1 connects in its first collective.
  kernel(reported, 11, 8990, 9000, all_reduce);
  const auto ranks = reported.waste().ranks;
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].awaited, 0);
  EXPECT_EQ(ranks[1].awaited, 6 * 60 * us) << "without the rare wait";
  EXPECT_EQ(ranks[1].awaited_host, 0) << "its kernels take longer";
}

TEST(ranks, make_waits_by_their_hosts_section_by_section_as_in_all) {
  testing::simulated_job job(3);
  for (int turn = 0; turn < 24; ++turn) {
    job.pause(1, 4'000);
    job.compute(2, 1'500);
    for (const std::size_t rank : {0, 1, 2}) job.compute(rank, 1'000);
    job.meet({0, 1, 2}, 500, 1);
  }
  job.recording().recorded.close();
  const testing::indexed loaded(job.recording().recorded.open());
  const time_range whole = index::recorded_range(*loaded.snapshot);
  const metrics_scope scope{loaded.snapshot.get(), whole};
  for (const time_ns part : {whole.length(), 3'300 * us}) {
    ranks_builder builder(scope);
    for (time_ns begin = whole.begin; begin < whole.end; begin += part)
      builder.add(loaded.index, {begin, std::min(begin + part, whole.end)});
    builder.find_peaks();
    const auto ranks = builder.metrics({}, {});
    ASSERT_EQ(ranks.size(), 3U);
    EXPECT_EQ(ranks[1].awaited, 24 * (4'000 + 2'500) * us) << "of ranks 0 and 2";
    // The very first collective of a rank has none before it, so its idle time is unknown there.
    EXPECT_EQ(ranks[1].awaited_host, 23 * (4'000 + 2'500) * us);
    EXPECT_EQ(ranks[0].awaited + ranks[2].awaited, 0);
  }
}

TEST(ranks, wait_rarely_for_what_happens_a_few_times) {
  wasteful_recording reported;
  unequal_work(reported, 6, 20, 80);
  kernel(reported, 10, 2000, 9000, all_reduce);  // Rank 1 connects in its first collective.
  kernel(reported, 11, 8990, 9000, all_reduce);
  const auto ranks = reported.waste().ranks;
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].waiting, (6 * 60 + 6990) * us);
  EXPECT_EQ(ranks[0].waiting_rarely, 6990 * us);
  EXPECT_EQ(ranks[1].waiting_rarely, 0);
}

TEST(ranks, have_a_composition_and_what_is_reserved_for_it) {
  wasteful_recording reported;
  add_rank(reported, 10, 0);
  add_rank(reported, 11, 1);
  for (const std::uint64_t process : {10, 11}) {
    alloc(reported, process, 0, process, 20 * mib);
    auto row = reported.recorded.event<trace::alloc_event>(us);
    row.process = trace::process_id{process};
    row.block = trace::block_id{process + 10};
    row.parent = trace::block_id{process};
    row.bytes = process == 10 ? 12 * mib : 6 * mib;
    row.layer = trace::layer::framework;
    row.kind = trace::memory_kind::device;
    row.device = trace::device_id{1};
    categorise(reported, trace::event_id{reported.recorded.writer().add(row)}, "activation");
  }
  const auto ranks = reported.waste().ranks;
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].reserved, 20 * mib) << "its own segment, not the other rank's";
  ASSERT_EQ(ranks[0].shares.size(), 1U);
  EXPECT_EQ(ranks[0].shares[0].category, index::category::activation);
  EXPECT_EQ(ranks[0].shares[0].bytes, 12 * mib);
  EXPECT_EQ(ranks[1].shares[0].bytes, 6 * mib);
  ASSERT_EQ(ranks[1].held.size(), 1U);
  EXPECT_EQ(ranks[1].held[0].category, index::category::activation);
}

TEST(ranks, have_the_median_length_of_their_steps) {
  wasteful_recording reported;
  add_rank(reported, 10, 0);
  add_rank(reported, 11, 1);
  alloc(reported, 10, 0, 1, mib);
  alloc(reported, 11, 0, 2, mib);
  for (time_ns i = 0; i < 6; ++i)
    for (const std::uint64_t process : {10, 11}) {
      auto row = reported.recorded.event<trace::marker_event>((10 + i * (process == 10 ? 100 : 150)) * us);
      row.process = trace::process_id{process};
      row.step = i;
      row.name = reported.recorded.text("step");
      reported.recorded.writer().add(row);
    }
  const auto ranks = reported.waste().ranks;
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].median_step, 100 * us);
  EXPECT_EQ(ranks[1].median_step, 150 * us);
}

/// The findings about two ranks whose steps take turns at these lengths in us.
std::string words_about_steps(const std::array<std::vector<time_ns>, 2>& lengths) {
  wasteful_recording reported;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    add_rank(reported, 10 + rank, static_cast<std::int64_t>(rank));
    alloc(reported, 10 + rank, 0, 1 + rank, mib);
    time_ns now = 10;
    for (time_ns i = 0; i < 20; ++i) {
      auto row = reported.recorded.event<trace::marker_event>(now * us);
      row.process = trace::process_id{10 + rank};
      row.step = i;
      row.name = reported.recorded.text("step");
      reported.recorded.writer().add(row);
      kernel(reported, 10 + rank, now, now + 80, "gemm");
      now += lengths[rank][static_cast<std::size_t>(i) % lengths[rank].size()];
    }
  }
  const report whole_report = testing::build_report(reported.recorded);
  const finding* found = testing::find(whole_report, finding_kind::rank_imbalance);
  return found == nullptr ? "" : found->text;
}

TEST(rank_imbalance, names_the_rank_whose_steps_take_longer) {
  const std::string words = words_about_steps({{{100}, {150}}});
  EXPECT_NE(words.find("A step of rank 1 takes"), std::string::npos) << words;
}

/// As in a job of four ranks whose hosts take turns at being late: the median step lengths differed by an eighth, but
/// the totals were equal.
TEST(rank_imbalance, is_none_of_ranks_whose_steps_take_equally_long_in_all) {
  EXPECT_EQ(words_about_steps({{{100, 100, 150}, {120, 120, 110}}}), "");
}

/// In each of 40 turns, both ranks compute and meet; a step is found in every turn on rank 0, and in every other turn
/// on rank 1.
TEST(rank_imbalance, does_not_compare_steps_of_ranks_that_meet_in_each) {
  wasteful_recording reported;
  unequal_work(reported, 40, 60, 60);
  for (time_ns i = 0; i < 40; ++i)
    for (const std::uint64_t process : {10, 11}) {
      if (process == 11 && i % 2 == 1) continue;
      auto row = reported.recorded.event<trace::marker_event>((10 + i * 100) * us);
      row.process = trace::process_id{process};
      row.step = i;
      row.name = reported.recorded.text("step");
      reported.recorded.writer().add(row);
    }
  const report whole_report = testing::build_report(reported.recorded);
  ASSERT_EQ(whole_report.waste.ranks.size(), 2U);
  EXPECT_EQ(whole_report.waste.ranks[0].median_step * 2, whole_report.waste.ranks[1].median_step);
  EXPECT_EQ(testing::find(whole_report, finding_kind::rank_imbalance), nullptr);
}

/// The finding about two ranks that train for 30 steps of 410 ms, of which the host of rank 0 begins every fourth 40 ms
/// late; empty if there is none. `late`: how late that of rank 1 begins other steps, in us.
std::string words_of_late_host(time_ns late) {
  testing::simulated_job job(2);
  job.add_threads();
  for (int step = 0; step < 30; ++step) {
    const std::array<time_ns, 2> pauses{step % 4 == 3 ? 40'000 : 0, step % 4 == 1 ? late : 0};
    for (const std::size_t rank : {0, 1}) {
      job.pause(rank, pauses[rank]);
      job.compute(rank, 400'000);
    }
    job.meet({0, 1}, 10'000, 1);
    for (const std::size_t rank : {0, 1}) job.wait_on_host(rank, 380'000 + pauses[1 - rank]);
  }
  const report whole_report = testing::build_report(job.recording().recorded);
  const finding* found = testing::find(whole_report, finding_kind::rank_imbalance);
  return found == nullptr ? std::string() : found->text;
}

TEST(rank_imbalance, names_the_rank_whose_host_is_late_now_and_then) {
  const std::string words = words_of_late_host(0);
  EXPECT_NE(words.find("The other ranks wait for rank 0: 280 ms"), std::string::npos) << words;
  EXPECT_NE(words.find("Before waits of 280 ms in total, its GPU had no work: its host was late."), std::string::npos)
      << words;
}

TEST(rank_imbalance, names_no_rank_if_both_hosts_are_late_as_often) { EXPECT_EQ(words_of_late_host(40'000), ""); }

TEST(rank_imbalance, says_which_rank_makes_which_wait_by_turns) {
  testing::simulated_job job(2);
  for (int turn = 0; turn < 40; ++turn) {
    job.pause(static_cast<std::size_t>(turn) % 2, 3'000);
    for (const std::size_t rank : {0, 1}) job.compute(rank, 5'000);
    job.meet({0, 1}, 1'000, 1);
  }
  const report whole_report = testing::build_report(job.recording().recorded);
  const finding* found = testing::find(whole_report, finding_kind::rank_imbalance);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->text.find("60.0 ms for rank 0, 60.0 ms for rank 1"), std::string::npos) << found->text;
  EXPECT_NE(found->text.find("none of them is slower"), std::string::npos) << found->text;
  EXPECT_NE(found->text.find("its host was late"), std::string::npos) << found->text;
  EXPECT_EQ(found->severity, trace::severity::info);
}

TEST(rank_imbalance, names_the_rank_that_the_others_wait_for_and_what_it_has_more_of) {
  wasteful_recording reported;
  unequal_work(reported, 40, 20, 80);
  const report whole_report = testing::build_report(reported.recorded);
  const finding* found = testing::find(whole_report, finding_kind::rank_imbalance);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->text.find("wait for rank 1"), std::string::npos) << found->text;
  EXPECT_NE(found->text.find("is sort"), std::string::npos) << "the kernel that only rank 1 runs: " << found->text;
  EXPECT_EQ(found->saves.time, 40 * 60 * us / 2) << "shared by both ranks, the rest takes half as long";
}

/// As many ranks as `computing` has values. In each of 40 turns of 100 us, a rank computes for that many us, and then
/// all reduce until 90 us after the turn's start.
report make_job_report(const std::vector<time_ns>& computing) {
  wasteful_recording reported;
  for (std::size_t rank = 0; rank < computing.size(); ++rank) {
    add_rank(reported, 10 + rank, static_cast<std::int64_t>(rank));
    alloc(reported, 10 + rank, 0, 1 + rank, 64 * mib);
  }
  for (time_ns begin = 10; begin < 4'000; begin += 100)
    for (std::size_t rank = 0; rank < computing.size(); ++rank) {
      kernel(reported, 10 + rank, begin, begin + computing[rank], "gemm");
      kernel(reported, 10 + rank, begin + computing[rank], begin + 90, all_reduce);
    }
  return testing::build_report(reported.recorded);
}

TEST(rank_imbalance, names_all_of_a_few_ranks_that_the_others_wait_for) {
  const auto to_text = [](const std::vector<time_ns>& computing) {
    const report whole_report = make_job_report(computing);
    const finding* found = testing::find(whole_report, finding_kind::rank_imbalance);
    return found == nullptr ? std::string() : found->text;
  };
  const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  const std::string one = to_text({20, 20, 80, 20, 20, 20, 20});
  EXPECT_TRUE(has(one, "wait for rank 2")) << one;
  EXPECT_FALSE(has(one, "as little")) << one;
  const std::string two = to_text({20, 20, 80, 70, 20, 20, 20});
  EXPECT_TRUE(has(two, "wait for rank 2")) << two;
  EXPECT_TRUE(has(two, "Rank 3 waits about as little.")) << two;
  std::vector<time_ns> machine(16, 20);
  for (std::size_t rank = 8; rank < 13; ++rank) machine[rank] = 75;
  machine[13] = 80;
  const std::string six = to_text(machine);
  EXPECT_TRUE(has(six, "wait for rank 13")) << six;
  EXPECT_TRUE(has(six, "Ranks 8, 9, 10 and 2 more wait about as little.")) << six;
}

/// The finding about rank 1, which is slow, if both ranks connect once: from `first` and `second` us until 9000 us.
/// Empty if there is no finding.
std::string words_when_connecting(time_ns first, time_ns second) {
  wasteful_recording reported;
  unequal_work(reported, 40, 20, 80);
  kernel(reported, 10, first, 9000, all_reduce);
  kernel(reported, 11, second, 9000, all_reduce);
  const report whole_report = testing::build_report(reported.recorded);
  const finding* found = testing::find(whole_report, finding_kind::rank_imbalance);
  return found == nullptr ? std::string() : found->text;
}

TEST(rank_imbalance, names_the_rank_although_it_waits_long_at_its_start) {
  const std::string words = words_when_connecting(8990, 5000);
  EXPECT_NE(words.find("wait for rank 1"), std::string::npos) << words;
}

TEST(rank_imbalance, leaves_a_rare_wait_out_of_the_time_in_collectives_too) {
  const std::string words = words_when_connecting(5000, 8990);
  EXPECT_NE(words.find("2.40 ms of the 2.81 ms"), std::string::npos) << words;
}

/// All findings about imbalances of a job of four ranks: three that train, and an evaluator that holds 500 MiB and
/// takes part in `met` collectives at the start. Of those that train, rank 1 computes for `second` us in each turn of
/// 100 us.
std::vector<std::string> words_with_evaluator(int met, time_ns second) {
  testing::simulated_job job(4);
  alloc(job.recording(), job.process(3), 1, 99, 500 * mib);
  for (int i = 0; i < met; ++i) job.meet({0, 1, 2, 3}, 10, 1);
  for (int turn = 0; turn < 40; ++turn) {
    for (const std::size_t rank : {0, 1, 2}) job.compute(rank, rank == 1 ? second : 20);
    job.meet({0, 1, 2}, 10, 1);
    job.compute(3, 60, "evaluate");
  }
  const report whole_report = testing::build_report(job.recording().recorded);
  std::vector<std::string> words;
  for (const finding& each : whole_report.findings)
    if (each.kind == finding_kind::rank_imbalance) words.push_back(each.text);
  return words;
}

TEST(rank_imbalance, leaves_out_ranks_that_do_not_train_with_the_others) {
  for (const int met : {0, 1}) {
    EXPECT_EQ(words_with_evaluator(met, 20), std::vector<std::string>());
    const std::vector<std::string> words = words_with_evaluator(met, 80);
    ASSERT_EQ(words.size(), 1U);
    EXPECT_NE(words[0].find("wait for rank 1"), std::string::npos) << words[0];
  }
}

TEST(rank_imbalance, names_others_that_need_about_as_much_memory) {
  testing::simulated_job job(8);
  for (const std::size_t rank : {0, 1, 4}) alloc(job.recording(), job.process(rank), 1, 50 + rank, (100 + rank) * mib);
  alloc(job.recording(), job.process(6), 1, 60, 8 * mib);
  const report whole_report = testing::build_report(job.recording().recorded);
  const finding* found = testing::find(whole_report, finding_kind::rank_imbalance);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->text.find("Rank 4 uses 168 MiB at its peak, 104 MiB more than the other ranks (64.0 MiB). Ranks 0 "
                             "and 1 use about as much."),
            std::string::npos)
      << found->text;
}

TEST(rank_imbalance, says_nothing_of_ranks_that_work_alike) {
  wasteful_recording reported;
  unequal_work(reported, 40, 60, 61);
  EXPECT_EQ(testing::find(testing::build_report(reported.recorded), finding_kind::rank_imbalance), nullptr);
}

/// In each turn, the host of rank 1 launches its kernel 50 us later than that of rank 0, which waits for its device
/// from `waits` us on.
report late_host(time_ns waits) {
  wasteful_recording reported;
  add_rank(reported, 10, 0);
  add_rank(reported, 11, 1);
  alloc(reported, 10, 0, 1, mib);
  alloc(reported, 11, 0, 2, mib);
  trace::thread_row row;
  row.id = trace::thread_id{10};
  row.process = trace::process_id{10};
  reported.recorded.writer().add(row);
  for (time_ns i = 0; i < 20; ++i) {
    const time_ns begin = 10 + i * 100;
    kernel(reported, 10, begin, begin + 20, "gemm");
    kernel(reported, 11, begin + 50, begin + 70, "gemm");
    kernel(reported, 10, begin + 20, begin + 80, all_reduce);
    kernel(reported, 11, begin + 70, begin + 80, all_reduce);
    auto wait = reported.recorded.event<trace::sync_event>((begin + waits) * us);
    wait.end = (begin + 80) * us;
    wait.process = trace::process_id{10};
    wait.thread = trace::thread_id{10};
    reported.recorded.writer().add(wait);
  }
  return testing::build_report(reported.recorded);
}

TEST(rank_imbalance, looks_at_the_host_if_the_kernels_take_no_longer) {
  const report whole_report = late_host(25);
  const finding* found = testing::find(whole_report, finding_kind::rank_imbalance);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->text.find("what its host does"), std::string::npos) << found->text;
  EXPECT_EQ(found->saves.time, 20 * 50 * us / 2);
}

TEST(rank_imbalance, is_none_where_the_hosts_of_all_are_the_limit) {
  // The host of rank 0 is almost fully busy: a device that waits for the other host gets no work from it sooner.
  EXPECT_EQ(testing::find(late_host(77), finding_kind::rank_imbalance), nullptr);
}

/// Ranks that train: weights and optimizer state of the same sizes, of 48 MiB each, and 16 MiB of activations. Rank r
/// has `weights[r]` MiB of weights.
void replicas_with(wasteful_recording& reported, std::string_view collective,
                   const std::vector<std::uint64_t>& weights) {
  std::uint64_t block = 0;
  for (std::uint64_t rank = 0; rank < weights.size(); ++rank) {
    const std::uint64_t process = 10 + rank;
    add_rank(reported, process, static_cast<std::int64_t>(rank));
    const auto add = [&](std::uint64_t bytes, std::string_view subject) {
      auto row = reported.recorded.event<trace::alloc_event>((1 + static_cast<time_ns>(block)) * us);
      row.process = trace::process_id{process};
      row.block = trace::block_id{++block};
      row.bytes = bytes;
      row.layer = trace::layer::framework;
      row.kind = trace::memory_kind::device;
      row.device = trace::device_id{1};
      categorise(reported, trace::event_id{reported.recorded.writer().add(row)}, subject);
    };
    add(weights[rank] * mib, "weight");
    add(32 * mib, "optimizer state");
    add(16 * mib, "activation");
    kernel(reported, process, 20, 40, collective);
  }
}

void replicas(wasteful_recording& reported, std::string_view collective) {
  replicas_with(reported, collective, {16, 16});
}

TEST(replicated_state, is_noted_if_all_ranks_hold_the_same_and_only_reduce) {
  wasteful_recording reported;
  replicas(reported, all_reduce);
  const report whole_report = testing::build_report(reported.recorded);
  const finding* found = testing::find(whole_report, finding_kind::replicated_state);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, trace::severity::info);
  EXPECT_EQ(found->saves.peak_bytes, 24 * mib) << "half of 48 MiB";
  EXPECT_NE(found->text.find("16.0 MiB of weights and 32.0 MiB of optimizer state"), std::string::npos) << found->text;
}

TEST(replicated_state, is_noted_although_ranks_gather_once_at_their_start) {
  wasteful_recording reported;
  replicas(reported,
           "ncclDevKernel_AllGather_RING_LL");  // DistributedDataParallel compares the shapes of its parameters.
  for (time_ns i = 0; i < 10; ++i)
    for (const std::uint64_t process : {10, 11}) kernel(reported, process, 100 + i * 100, 120 + i * 100, all_reduce);
  EXPECT_NE(testing::find(testing::build_report(reported.recorded), finding_kind::replicated_state), nullptr);
}

TEST(replicated_state, is_none_if_ranks_gather_again_and_again) {
  wasteful_recording reported;
  replicas(reported, "ncclDevKernel_AllGather_RING_LL");
  for (time_ns i = 0; i < 9; ++i)
    for (const std::uint64_t process : {10, 11}) kernel(reported, process, 100 + i * 100, 120 + i * 100, all_reduce);
  EXPECT_EQ(testing::find(testing::build_report(reported.recorded), finding_kind::replicated_state), nullptr);
}

TEST(replicated_state, is_none_of_shards) {
  wasteful_recording reported;
  replicas(reported, "ncclDevKernel_AllGather_RING_LL");
  EXPECT_EQ(testing::find(testing::build_report(reported.recorded), finding_kind::replicated_state), nullptr);
}

TEST(replicated_state, is_none_if_ranks_hold_different_layers) {
  wasteful_recording reported;
  replicas_with(reported, all_reduce, {16, 20});
  EXPECT_EQ(testing::find(testing::build_report(reported.recorded), finding_kind::replicated_state), nullptr);
}

TEST(replicated_state, is_noted_although_one_rank_holds_something_else) {
  wasteful_recording reported;
  replicas_with(reported, all_reduce, {20, 16, 16, 16});  // The first also averages weights.
  const report whole_report = testing::build_report(reported.recorded);
  const finding* found = testing::find(whole_report, finding_kind::replicated_state);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->text.find("Each of 3 of the 4 ranks holds the same 16.0 MiB"), std::string::npos) << found->text;
  EXPECT_EQ(found->saves.peak_bytes, 32 * mib) << "two thirds of 48 MiB";
}

TEST(replicated_state, is_noted_although_one_rank_does_not_train) {
  wasteful_recording reported;
  replicas(reported, all_reduce);
  add_rank(reported, 20, 2);
  alloc(reported, 20, 1, 99, 64 * mib);
  EXPECT_NE(testing::find(testing::build_report(reported.recorded), finding_kind::replicated_state), nullptr);
}

TEST(replicated_state, is_none_of_a_pipeline_whose_first_and_last_stages_differ) {
  wasteful_recording reported;
  replicas_with(reported, all_reduce, {20, 16, 16, 16, 16, 16, 16, 18});
  EXPECT_EQ(testing::find(testing::build_report(reported.recorded), finding_kind::replicated_state), nullptr);
}

}  // namespace
}  // namespace sluice::metrics
