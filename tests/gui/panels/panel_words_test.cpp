// What panels list, without a display.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/gui/views/views.hpp"
#include "app/gui/views/what_if_replay.hpp"
#include "core/base/format.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/metrics/base/link_share.hpp"
#include "core/query/types/durations.hpp"
#include "core/query/types/idle_gaps.hpp"
#include "core/query/types/memory_groups.hpp"
#include "core/query/types/transfers.hpp"
#include "core/trace/model/names.hpp"
#include "tests/core/recordings/replayed_program.hpp"
#include "tests/gui/panel_fixture.hpp"

namespace sluice::test {
namespace {

using testing::mib;

class panel_words : public panel_test {
 protected:
  /// Kernels with gaps of 50 us, 100 us, ...; the host waits in each gap, and a copy ends the last gap.
  void record_gaps() {
    constexpr time_ns us = 1'000;
    record([](testing::recording& recorded) {
      recorded.standard_tables();
      time_ns at = 0;
      for (time_ns i = 0; i < 12; ++i) {
        recorded.add_kernel(at, at + 100 * us);
        recorded.add_call(at + 60 * us, at + 145 * us, "cuStreamSynchronize");
        at += 100 * us + (i + 1) * 50 * us;
      }
      recorded.add_copy(at, at + 10 * us, 1 << 20);
    });
  }
  static void expect(const std::string& words, const std::string& part) {
    EXPECT_NE(words.find(part), std::string::npos) << part << " in\n" << words;
  }
  static std::unique_ptr<gui::view> make_what_if() {
    return gui::make_what_if_view(std::make_shared<gui::what_if_replay>());
  }
};

TEST_F(panel_words, of_transfers_have_the_metrics_of_the_report) {
  const std::string words = read(gui::make_transfers_view());
  const auto report = engine().ask_now(query::report_query{}).value();
  ASSERT_EQ(report->whole.transfers.size(), 2U);
  for (const metrics::transfer_statistics& way : report->whole.transfers)
    for (const std::string& metric :
         {std::string(get_name(way.direction)), format_bytes(way.bytes), format_count(way.count), format_time(way.busy),
          format_rate(way.mean_bandwidth), format_share(*metrics::link_share(way.mean_bandwidth, way.link_peak))})
      expect(words, metric);
}

TEST_F(panel_words, of_transfers_name_the_lines_that_copy) {
  const std::string words = read(gui::make_transfers_view());
  const auto table = engine().ask_now(query::transfers_query{span()}).value();
  ASSERT_EQ(table->lines.size(), 2U);
  for (const metrics::copy_line& line : table->lines) {
    expect(words, to_text(line.place));
    expect(words, format_time(line.busy));
  }
  expect(words, "record with");  // A hint, since the contents were not compared.
}

TEST_F(panel_words, of_transfers_are_about_the_selected_range) {
  const time_range part{0, 10 * sample::chunk_ns};
  open();
  state.select_range(part);
  const std::string words = read(gui::make_transfers_view());
  const auto metrics = engine().ask_now(query::statistics_query{part}).value();
  for (const metrics::transfer_statistics& way : metrics->transfers) expect(words, format_bytes(way.bytes));
  expect(words, "Selected range");
}

TEST_F(panel_words, of_idle_gaps_have_the_metrics_of_the_report) {
  record_gaps();
  const std::string words = read(gui::make_idle_gaps_view());
  const auto report = engine().ask_now(query::report_query{}).value();
  ASSERT_EQ(report->whole.devices.size(), 1U);
  const metrics::device_activity& device = report->whole.devices[0];
  const time_ns working = device.last - device.first;
  expect(words, format_time(working - device.busy));
  expect(words, format_share(1 - static_cast<double>(device.busy) / static_cast<double>(working)));
  ASSERT_FALSE(report->waste.gaps.empty());
  for (const metrics::gap_group& each : report->waste.gaps) {
    expect(words, format_time(each.total));
    expect(words, std::string(metrics::get_words(each.cause)));
  }
}

TEST_F(panel_words, of_idle_gaps_rank_them_by_length) {
  record_gaps();
  const std::string words = read(gui::make_idle_gaps_view());
  const auto found = engine().ask_now(query::idle_gaps_query{span()}).value();
  ASSERT_EQ(found->gaps.size(), 12U);
  const std::size_t first = words.find(format_time(found->gaps[0].gap.span.length()));
  const std::size_t second = words.find(format_time(found->gaps[1].gap.span.length()), first);
  EXPECT_NE(first, std::string::npos) << words;
  EXPECT_NE(second, std::string::npos) << words;
  expect(words, "synchronization (cuStreamSynchronize)");
}

TEST_F(panel_words, of_what_if_list_the_peak_under_each_policy) {
  record([](testing::recording& recorded) {
    testing::replayed_program program(recorded);
    testing::grow_slowly(program, 30);
  });
  const std::string words = read(make_what_if());
  const auto found = engine().ask_now(query::what_if_query{}).value();
  ASSERT_EQ(found->allocators.size(), 1U);
  for (const query::replayed_policy& each : found->allocators[0].policies) {
    expect(words, gui::setting_name(each.policy));
    expect(words, format_bytes(each.metrics.peak_reserved));
  }
  expect(words, "The model of the current setting reproduces this peak");
}

TEST_F(panel_words, of_what_if_say_that_only_pytorch_can_be_replayed) {
  expect(read(make_what_if()), "No PyTorch allocations");
}

TEST_F(panel_words, of_messages_are_said_once_with_their_number_and_the_first_time) {
  record([](testing::recording& recorded) {
    recorded.standard_tables();
    for (const time_ns time : {1'000'000, 2'000'000, 3'000'000}) {
      auto row = recorded.event<trace::message_event>(time);
      row.severity = trace::severity::warning;
      row.text = recorded.text(time == 2'000'000 ? "2 events were dropped" : "a buffer was late");
      recorded.writer().add(row);
    }
  });
  const std::string words = read(gui::make_messages_view());
  for (const std::string once : {"A buffer was late", "2 events were dropped"}) {
    expect(words, once);
    EXPECT_EQ(words.find(once), words.rfind(once)) << words;
  }
  expect(words, "2 times, first at " + format_moment(1'000'000));
  expect(words, "at " + format_moment(2'000'000));
}

TEST_F(panel_words, of_statistics_name_each_of_a_few_devices) {
  record([](testing::recording& recorded) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      trace::device_row device;
      device.id = trace::device_id{i + 1};
      device.ordinal = static_cast<std::int64_t>(i);
      recorded.writer().add(device);
      auto row = recorded.event<trace::alloc_event>(1'000'000);
      row.block = trace::block_id{i + 1};
      row.bytes = (i + 1) * mib;
      row.kind = trace::memory_kind::device;
      row.device = device.id;
      recorded.writer().add(row);
    }
  });
  const std::string words = read(gui::make_statistics_view());
  expect(words, "GPU 0, CUDA allocations");
  expect(words, "GPU 1, CUDA allocations");
}

TEST_F(panel_words, of_durations_say_how_long_kernels_take) {
  const std::string words = read(gui::make_statistics_view(), {{"statistics.durations", {}}});
  const auto histogram = engine().ask_now(query::durations_query{span(), trace::row_type::kernel, {}, {}, {}}).value();
  ASSERT_GT(histogram->count, 0U);
  expect(words, format_some(histogram->count, "kernel"));
  expect(words, "median " + format_time(histogram->median));
  expect(words, "99 % within " + format_time(histogram->percentile99));
  expect(words, "longest " + format_time(histogram->longest));
}

TEST_F(panel_words, of_durations_are_about_events_like_the_selected_one) {
  open();
  const auto copies = engine().ask_now(query::durations_query{span(), trace::row_type::transfer, {}, {}, {}}).value();
  ASSERT_FALSE(copies->bars.empty());
  const trace::event_id one = copies->bars.back().longest;
  state.select({state.active()->id, gui::selection_kind::event, trace::raw(one)});
  const std::string words = read(gui::make_statistics_view(), {{"statistics.durations", {}}});
  const auto alike = engine().ask_now(query::durations_query{span(), trace::row_type::kernel, {}, one, {}}).value();
  expect(words, format_count(alike->count) + " copies");
  expect(words, "median " + format_time(alike->median));
}

TEST_F(panel_words, of_statistics_offer_no_steps_where_there_are_none) {
  record([](testing::recording& recorded) {
    recorded.standard_tables();
    recorded.add_kernel(0, 100, "x");
  });
  const std::string words = read(gui::make_statistics_view());
  EXPECT_EQ(words.find("per step"), std::string::npos) << words;
}

TEST_F(panel_words, of_memory_over_time_have_the_peak_of_the_report_and_who_held_it) {
  const std::string words = read(gui::make_memory_over_time_view(std::make_shared<gui::what_if_replay>()),
                                 {{"memory_over_time.by", std::string("by line")}});
  const auto report = engine().ask_now(query::report_query{}).value();
  const auto inner = std::find_if(report->peaks.rbegin(), report->peaks.rend(), [](const auto& each) {
    return each.device != trace::device_id::none && each.layer == trace::layer::pool;
  });
  ASSERT_NE(inner, report->peaks.rend());
  const auto groups = engine()
                          .ask_now(query::memory_groups_query{span(), 400, query::memory_grouping::line, inner->layer,
                                                              inner->device, inner->kind})
                          .value();
  EXPECT_EQ(groups->peak, inner->bytes);
  expect(words, "Peak " + format_bytes(inner->bytes));
  expect(words, format_bytes(groups->peak) + ", the highest shown");
  ASSERT_FALSE(groups->groups.empty());
  for (const query::memory_group& each : groups->groups) {
    expect(words, each.label);
    expect(words, format_bytes(each.at_peak));
  }
}

TEST_F(panel_words, of_memory_over_time_say_what_an_allocator_would_have_reserved) {
  record([](testing::recording& recorded) {
    testing::replayed_program program(recorded);
    testing::grow_slowly(program, 30);
  });
  open();
  const auto curves = engine().ask_now(query::what_if_query{}).value();
  ASSERT_EQ(curves->allocators.size(), 1U);
  const auto& policies = curves->allocators[0].policies;
  const auto policy = std::find_if(policies.begin(), policies.end(),
                                   [](const auto& each) { return each.policy == "expandable_segments:True"; });
  ASSERT_NE(policy, policies.end());
  state.set_moment(curves->span.begin + curves->span.length() / 2);
  const auto make = [] { return gui::make_memory_over_time_view(std::make_shared<gui::what_if_replay>()); };
  const std::string by_layer = "by layer";
  EXPECT_EQ(read(make(), {{"memory_over_time.by", by_layer}}).find("Reserved with"), std::string::npos);
  const std::string words =
      read(make(), {{"memory_over_time.by", by_layer}, {"memory_over_time.what_if", policy->policy}});
  expect(words, "Reserved with");
  expect(words, "expandable_segments:True");
  expect(words, format_bytes(policy->reserved.at(query::what_if_curves::parts / 2)));
}

}  // namespace
}  // namespace sluice::test
