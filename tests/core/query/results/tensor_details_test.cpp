#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/query/engine/engine.hpp"
#include "tests/core/metrics/training_recording.hpp"

namespace sluice::query {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::mib;
using testing::recording;
using ::testing::StartsWith;
using testing::training;
using testing::training_options;

/// The details of one block of a training.
struct asked {
  explicit asked(const training_options& options) : reported(recorded, options) {
    reported.tell();
    recorded.close();
    from = std::make_unique<engine>(recorded.open(), engine_options{.threads = 1, .wake = {}});
  }
  event_details block(std::uint64_t id) {
    details_query query;
    query.block = trace::block_id{id};
    return *from->ask_now(query).value();
  }
  static const detail* find(const event_details& in, std::string_view label) {
    for (const detail& each : in.details)
      if (each.label == label) return &each;
    return nullptr;
  }
  static std::string value(const event_details& in, std::string_view label) {
    const detail* found = find(in, label);
    return found == nullptr ? "(none)" : found->value;
  }

  recording recorded;
  training reported;
  std::unique_ptr<engine> from;
};

TEST(details_of_a_block, say_what_it_is_for_who_used_it_and_when) {
  asked subject({});
  const event_details weight = subject.block(subject.reported.weights()[0]);
  EXPECT_EQ(asked::value(weight, "Category"), "weight (inferred: allocated by code that builds or moves a model)");
  EXPECT_EQ(asked::value(weight, "Allocated at"), "me/train.py:48, main") << "the innermost line of the program's own";
  EXPECT_THAT(asked::value(weight, "First touch"),
              MatchesRegex("init_uniform, enqueued at .+, on the device at .+ for .+"));
  EXPECT_THAT(asked::value(weight, "Last touch"), MatchesRegex("axpy, enqueued at .+, on the device at .+ for .+"));
  EXPECT_THAT(asked::value(weight, "Steps"), StartsWith("before the first step to step 5"));
  ASSERT_FALSE(weight.stack.empty());
  EXPECT_THAT(symbols::to_text(weight.stack.front()), HasSubstr("_apply"));
  // Follows the link to the kernel.
  details_query kernel;
  kernel.event = asked::find(weight, "Last touch")->link;
  const event_details last = *subject.from->ask_now(kernel).value();
  EXPECT_EQ(last.title, "axpy");
  EXPECT_EQ(
      std::count_if(last.details.begin(), last.details.end(), [](const detail& d) { return d.label == "Touches"; }), 2)
      << "the kernel names its blocks";
}

TEST(details_of_a_block, say_enqueued_where_no_kernel_was_recorded) {
  asked subject({.kernels = false});
  const event_details weight = subject.block(subject.reported.weights()[0]);
  EXPECT_THAT(asked::value(weight, "First touch"), StartsWith("init_uniform, enqueued at "));
}

TEST(details_of_a_block, count_its_uses_by_kind) {
  asked subject({.steps = 4});
  const event_details weight = subject.block(subject.reported.weights()[1]);
  // One kernel initializes the weight; each step uses it in gemm, two kernels of the backward pass, adam and axpy.
  EXPECT_EQ(asked::value(weight, "Touched"), "17 times: 17 kernels");
}

TEST(details_of_a_block, say_that_nothing_is_known_to_use_it_only_where_touches_were_recorded) {
  asked without({.touches = false});
  EXPECT_EQ(asked::find(without.block(without.reported.weights()[0]), "Touched"), nullptr);
}

TEST(details_of_a_block, name_the_kernel_of_a_graph_that_used_it) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(10, 1, mib, trace::memory_kind::device, trace::layer::framework);
  auto node = recorded.event<trace::touch_event>(20);
  node.block = trace::block_id{1};
  node.graph = trace::graph_id{5};
  node.name = recorded.text("gemm_tn");
  recorded.writer().add(node);
  for (const trace::time_ns time : {100, 200, 300}) {
    auto launch = recorded.event<trace::graph_launch_event>(time);
    launch.graph = trace::graph_id{5};
    recorded.writer().add(launch);
  }
  recorded.close();
  engine source(recorded.open(), {.threads = 1, .wake = {}});
  details_query query;
  query.block = trace::block_id{1};
  const event_details found = *source.ask_now(query).value();
  EXPECT_EQ(asked::value(found, "First touch"), "gemm_tn of graph 5, launched at 0.100 µs");
  EXPECT_EQ(asked::value(found, "Last touch"), "gemm_tn of graph 5, launched at 0.300 µs");
  EXPECT_EQ(asked::value(found, "Touched"), "3 times: 3 graph replays");
}

// --- the other results -----------------------------------------------------------------------------------------------

track find_track(asked& subject, track_kind kind) {
  const auto list = subject.from->ask_now(tracks_query{}).value();
  for (const track& each : list->tracks)
    if (each.kind == kind) return each;
  ADD_FAILURE() << "no such track";
  return {};
}

TEST(memory_by_category, splits_the_layer_without_changing_its_sum) {
  asked subject({});
  const track memory = find_track(subject, track_kind::memory);
  series_query query;
  query.track = memory.id;
  query.range = {0, subject.reported.now()};
  query.width = 300;
  const auto whole = subject.from->ask_now(query).value();
  query.by_category = true;
  const auto parts = subject.from->ask_now(query).value();
  ASSERT_EQ(whole->bands.size(), 1U);
  EXPECT_FALSE(whole->bands[0].by_category);
  EXPECT_EQ(parts->bands.size(), 6U) << "one for each category there is";
  EXPECT_EQ(parts->maximum, whole->maximum) << "the axis stays";
  EXPECT_EQ(parts->bands[0].category, index::category::weight) << "the longest-lived is at the bottom";
  for (std::size_t i = 0; i < 300; ++i) {
    double sum = 0;
    for (const band& each : parts->bands) sum += each.bins[i].mean;
    EXPECT_NEAR(sum, whole->bands[0].bins[i].mean, 1.0);
  }
}

TEST(memory_by_category, adds_up_to_what_was_in_use_at_the_highest_moment_of_each_pixel) {
  asked subject({});
  const track memory = find_track(subject, track_kind::memory);
  for (const std::uint32_t width : {1U, 3U, 7U, 40U, 300U}) {
    const series_query query{memory.id, {0, subject.reported.now()}, width, false};
    const auto whole = subject.from->ask_now(query).value();
    const auto parts = subject.from->ask_now(series_query{memory.id, query.range, width, true}).value();
    double sum_of_maxima = 0, sum_of_peaks = 0;
    for (std::size_t i = 0; i < width; ++i) {
      double sum = 0;
      for (const band& each : parts->bands) {
        sum += each.bins[i].at_peak;
        sum_of_maxima += each.bins[i].maximum;
      }
      EXPECT_EQ(sum, whole->bands[0].bins[i].maximum) << "bin " << i << " of " << width;
      sum_of_peaks += sum;
    }
    if (width < 40) {
      EXPECT_GT(sum_of_maxima, sum_of_peaks) << "memory moves between categories within these pixels";
    }
  }
}

TEST(steps_track, is_there_where_steps_are_and_has_a_slice_for_each) {
  asked subject({});
  const track steps = find_track(subject, track_kind::steps);
  EXPECT_EQ(steps.label, "Steps");
  slices_query query;
  query.track = steps.id;
  query.range = {0, subject.reported.now()};
  query.width = 2000;
  const auto found = subject.from->ask_now(query).value();
  ASSERT_EQ(found->slices.size(), 6U);
  EXPECT_EQ(found->slices[3].step, 3);
  EXPECT_EQ(found->slices[3].kind, slice_kind::step);
  EXPECT_EQ(found->slices[3].begin, subject.reported.step_begins()[3]);
  EXPECT_NE(found->slices[3].event, trace::event_id::none) << "its mark";

  asked without({.steps = 2, .marks = training_options::marking::none});
  const auto list = without.from->ask_now(tracks_query{}).value();
  for (const track& each : list->tracks) EXPECT_NE(each.kind, track_kind::steps);
  asked guessed({.steps = 12, .marks = training_options::marking::none});
  EXPECT_EQ(find_track(guessed, track_kind::steps).label, "Steps (inferred)");
}

/// Writes two ranks with a GPU each and two marked steps. The file lists the second rank and its GPU first.
void tell_two_ranks(recording& recorded) {
  for (const std::uint64_t rank : {1, 0}) {
    trace::process_row process;
    process.id = trace::process_id{10 + rank};
    process.pid = 100 + rank;
    process.rank = static_cast<std::int64_t>(rank);
    recorded.writer().add(process);
    trace::device_row device;
    device.id = trace::device_id{20 + (1 - rank)};
    device.ordinal = static_cast<std::int64_t>(rank);
    recorded.writer().add(device);
    trace::context_row context;
    context.id = trace::context_id{30 + rank};
    context.process = process.id;
    context.device = device.id;
    recorded.writer().add(context);
    auto block = recorded.event<trace::alloc_event>(10);
    block.process = process.id;
    block.block = trace::block_id{40 + rank};
    block.bytes = mib;
    block.kind = trace::memory_kind::device;
    block.device = device.id;
    recorded.writer().add(block);
  }
  for (const std::uint64_t process : {11, 10})
    for (std::int64_t step = 0; step < 2; ++step) {
      auto mark = recorded.event<trace::marker_event>(100 + step * 100);
      mark.process = trace::process_id{process};
      mark.step = step;
      mark.name = recorded.text("step");
      recorded.writer().add(mark);
    }
}

TEST(track_list, has_devices_in_order_of_their_ranks_and_says_whose_steps_they_are) {
  recording recorded;
  tell_two_ranks(recorded);
  recorded.close();
  engine source(recorded.open(), {.threads = 1, .wake = {}});
  std::vector<std::string> memory, steps;
  const auto list = source.ask_now(tracks_query{}).value();
  for (const track& each : list->tracks) {
    if (each.kind == track_kind::memory) memory.push_back(each.detail);
    if (each.kind == track_kind::steps) steps.push_back(each.label);
  }
  EXPECT_THAT(memory, ::testing::ElementsAre(HasSubstr("GPU 0"), HasSubstr("GPU 1")));
  EXPECT_THAT(steps, ::testing::ElementsAre("Steps, rank 0", "Steps, rank 1"));
}

TEST(track_list, tells_what_was_lost_and_what_is_not_complete) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(0, 10);
  for (int i = 0; i < 1000; ++i) {
    auto loss = recorded.event<trace::loss_event>(i * 100);
    loss.end = loss.time + 10;
    loss.events = 2;
    recorded.writer().add(loss);
  }
  auto mark = recorded.event<trace::watermark_event>(5);
  mark.complete_until = 77;
  recorded.writer().add(mark);
  recorded.close();
  engine source(recorded.open(), {.threads = 1, .wake = {}});
  const auto list = source.ask_now(tracks_query{}).value();
  EXPECT_EQ(list->complete_until, 77);
  EXPECT_LE(list->lost.size(), track_list::lost_limit);
  std::uint64_t events = 0;
  for (const lost_span& each : list->lost) events += each.events;
  EXPECT_EQ(events, 2000U) << "none is missing";
  EXPECT_EQ(list->lost.back().span.end, 99'910);
}

TEST(table_of_blocks, sorts_by_category) {
  asked subject({});
  blocks_query query;
  query.range = {0, subject.reported.now()};
  query.sort = block_column::category;
  query.descending = false;
  const auto table = subject.from->ask_now(query).value();
  ASSERT_FALSE(table->rows.empty());
  EXPECT_EQ(table->rows.front().category.kind, index::category::weight);
  EXPECT_TRUE(std::is_sorted(table->rows.begin(), table->rows.end(),
                             [](const block_row& a, const block_row& b) { return a.category.kind < b.category.kind; }));
}

}  // namespace
}  // namespace sluice::query
