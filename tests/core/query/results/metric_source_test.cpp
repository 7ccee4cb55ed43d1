#include "core/query/results/metric_source.hpp"
#include "core/index/growing_index.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/query/results/query_operator.hpp"
#include "tests/core/metrics/training_recording.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/whole_sections.hpp"

/// Results from stored metrics equal those from the index.
namespace sluice::query {
namespace {

using testing::indexed;
using testing::recording;

class both_ways {
 public:
  explicit both_ways(const std::shared_ptr<trace::file>& file) : all_(file) {
    // The metrics are serialized, as if they were read back from a file.
    const std::string kept =
        summary::encode_stored_metrics(summary::make_stored_metrics(all_.index, *all_.snapshot)).value();
    stored_.facts = all_.index.tensors(*all_.snapshot);
    stored_.metrics = std::make_shared<const summary::stored_metrics>(summary::decode_stored_metrics(kept).value());
  }

  template <class Query>
  auto slow(const Query& query) {
    return result_to(query, with(all_.index, nullptr)).value();
  }
  template <class Query>
  std::optional<result<typename Query::result_type>> ask(const Query& query) {
    return result_from_metrics(query, with(nothing_, &stored_));
  }
  template <class Query>
  auto fast(const Query& query) {
    return ask(query).value().value();
  }

  [[nodiscard]] time_range whole() const { return stored_.metrics->span; }
  [[nodiscard]] const summary::stored_metrics& stored_metrics() const { return *stored_.metrics; }

 private:
  sources with(const index::event_store& index, const stored_sources* stored) {
    return {index, *all_.snapshot, never_, book_, symbols::frame_cache::lookup::at_once, stored, nullptr, provisional_};
  }

  indexed all_;
  const index::growing_index nothing_;
  stored_sources stored_;
  symbols::frame_cache book_;
  const std::atomic<bool> never_{false};
  bool provisional_ = false;
};

void expect_same(const metrics::stack_metrics& a, const metrics::stack_metrics& b) { EXPECT_EQ(a, b); }

void expect_same(const stack_view& a, const stack_view& b) {
  ASSERT_EQ(a.tree.nodes.size(), b.tree.nodes.size());
  for (std::size_t i = 0; i < a.tree.nodes.size(); ++i) {
    expect_same(a.tree.nodes[i].all, b.tree.nodes[i].all);
    expect_same(a.tree.nodes[i].own, b.tree.nodes[i].own);
    EXPECT_EQ(a.tree.nodes[i].depth, b.tree.nodes[i].depth);
    EXPECT_EQ(a.tree.nodes[i].line, b.tree.nodes[i].line);
  }
  EXPECT_EQ(a.lines, b.lines);
  EXPECT_EQ(a.ids, b.ids);
  expect_same(a.without, b.without);
  ASSERT_EQ(a.choices.size(), b.choices.size());
  for (std::size_t i = 0; i < a.choices.size(); ++i) {
    EXPECT_EQ(a.choices[i].label, b.choices[i].label);
    EXPECT_EQ(a.choices[i].peak, b.choices[i].peak);
    EXPECT_EQ(a.choices[i].has_stacks, b.choices[i].has_stacks);
  }
  EXPECT_EQ(a.choice, b.choice);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.recorded, b.recorded);
  EXPECT_EQ(a.kernels_known, b.kernels_known);
}

void expect_same_stacks(both_ways& asked) {
  stacks_query query;
  query.range = asked.whole();
  for (const auto measure : {stack_measure::peak, stack_measure::allocated, stack_measure::transferred}) {
    for (const bool fold : {false, true}) {
      query.measure = measure;
      query.fold = fold;
      expect_same(asked.slow(query), asked.fast(query));
    }
  }
  for (const memory_choice& choice : asked.slow(query).choices) {
    stacks_query subject;
    subject.range = asked.whole();
    subject.layer = choice.layer;
    subject.device = choice.device;
    subject.kind = choice.kind;
    expect_same(asked.slow(subject), asked.fast(subject));
  }
  for (const summary::copy_stacks& copies : asked.stored_metrics().copies) {
    query.device = copies.device;
    query.direction = copies.direction;
    expect_same(asked.slow(query), asked.fast(query));
  }
}

void expect_same_blocks(both_ways& asked, std::size_t rows, std::optional<trace::layer> layer = {}) {
  blocks_query query;
  query.range = asked.whole();
  query.rows = rows;
  query.layer = layer;
  query.with_uses = true;
  const block_table slow = asked.slow(query);
  const block_table fast = asked.fast(query);
  EXPECT_EQ(slow.count, fast.count);
  EXPECT_EQ(slow.total_bytes, fast.total_bytes);
  ASSERT_EQ(slow.rows.size(), fast.rows.size());
  for (std::size_t i = 0; i < slow.rows.size(); ++i) {
    const block_row& a = slow.rows[i];
    const block_row& b = fast.rows[i];
    EXPECT_EQ(std::tie(a.block, a.address, a.bytes, a.layer, a.kind, a.device, a.stream, a.pool, a.name, a.alloc,
                       a.born, a.died, a.category.kind, a.category.why, a.process, a.first_use, a.last_use, a.uses),
              std::tie(b.block, b.address, b.bytes, b.layer, b.kind, b.device, b.stream, b.pool, b.name, b.alloc,
                       b.born, b.died, b.category.kind, b.category.why, b.process, b.first_use, b.last_use, b.uses));
  }
  EXPECT_EQ(slow.steps, fast.steps);
  EXPECT_EQ(slow.uses_known, fast.uses_known);
}

void expect_same_messages(both_ways& asked) {
  const auto slow = asked.slow(messages_query{});
  const auto fast = asked.fast(messages_query{});
  ASSERT_EQ(slow.size(), fast.size());
  for (std::size_t i = 0; i < slow.size(); ++i) {
    EXPECT_EQ(slow[i].text, fast[i].text);
    EXPECT_EQ(slow[i].time, fast[i].time);
    EXPECT_EQ(slow[i].severity, fast[i].severity);
  }
}

TEST(stored_metrics_result, as_the_index_does_for_real_recordings) {
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/assets/recordings")) {
    if (entry.path().extension() != ".sluice") continue;
    SCOPED_TRACE(entry.path().string());
    both_ways asked(trace::file::open(entry.path().string()).value());
    expect_same_stacks(asked);
    expect_same_blocks(asked, 10);
    expect_same_blocks(asked, summary::stored_metrics::block_limit);
    for (std::size_t layer = 0; layer < trace::layer_count; ++layer)
      expect_same_blocks(asked, 10, static_cast<trace::layer>(layer));
    expect_same_messages(asked);
    const auto slow = asked.slow(report_query{});
    const auto fast = asked.fast(report_query{});
    ASSERT_EQ(slow.findings.size(), fast.findings.size());
    for (std::size_t i = 0; i < slow.findings.size(); ++i) EXPECT_EQ(slow.findings[i].text, fast.findings[i].text);
    EXPECT_EQ(slow.warnings, fast.warnings);
  }
}

TEST(stored_metrics_result, messages_of_losses_too) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(10, 1, 100);
  auto lost = recorded.event<trace::loss_event>(20);
  lost.events = 5;
  lost.memory_events = 2;
  recorded.writer().add(lost);
  auto said = recorded.event<trace::message_event>(15);
  said.text = recorded.text("hello");
  recorded.writer().add(said);
  recorded.close();
  both_ways asked(recorded.open());
  expect_same_messages(asked);
  EXPECT_EQ(asked.fast(messages_query{}).size(), 2U);
}

TEST(stored_metrics_result, the_metrics_of_the_whole_alone) {
  recording recorded;
  testing::training(recorded).tell();
  recorded.close();
  both_ways asked(recorded.open());
  EXPECT_EQ(asked.fast(statistics_query{asked.whole()}).memory.size(),
            asked.slow(statistics_query{asked.whole()}).memory.size());
  time_range part = asked.whole();
  --part.end;
  EXPECT_FALSE(asked.ask(statistics_query{part}));
  EXPECT_FALSE(asked.ask(stacks_query{part}));
  blocks_query blocks;
  blocks.range = part;
  blocks.rows = 1;
  EXPECT_FALSE(asked.ask(blocks));
}

TEST(stored_metrics_result, nothing_that_it_does_not_know) {
  recording recorded;
  testing::training(recorded).tell();
  recorded.close();
  both_ways asked(recorded.open());
  stacks_query live{asked.whole(), stack_measure::live};
  EXPECT_FALSE(asked.ask(live));
  stacks_query one_way{asked.whole(), stack_measure::transferred};
  one_way.direction = trace::direction::h2d;
  EXPECT_FALSE(asked.ask(one_way)) << "for all devices";
  blocks_query blocks;
  blocks.range = asked.whole();
  blocks.rows = 5;
  EXPECT_TRUE(asked.ask(blocks));
  const auto refused = [&](auto&& change) {
    blocks_query other = blocks;
    change(other);
    return !asked.ask(other);
  };
  EXPECT_FALSE(refused([](blocks_query& q) { q.layer = trace::layer::framework; }));
  EXPECT_TRUE(refused([](blocks_query& q) { q.category = index::category::weight; }));
  EXPECT_TRUE(refused([](blocks_query& q) { q.min_bytes = 1; }));
  EXPECT_TRUE(refused([](blocks_query& q) { q.only_unused = true; }));
  EXPECT_TRUE(refused([](blocks_query& q) { q.only_unfreed = true; }));
  EXPECT_TRUE(refused([](blocks_query& q) { q.filter = "x"; }));
  EXPECT_TRUE(refused([](blocks_query& q) { q.sort = block_column::born; }));
  EXPECT_TRUE(refused([](blocks_query& q) { q.descending = false; }));
  EXPECT_FALSE(asked.ask(tracks_query{}));
  EXPECT_FALSE(asked.ask(details_query{}));
}

TEST(stored_metrics_result, more_blocks_than_it_lists_never) {
  recording recorded;
  recorded.standard_tables();
  for (std::uint64_t i = 1; i <= summary::stored_metrics::block_limit + 1; ++i)
    recorded.add_alloc(static_cast<time_ns>(i), i, 1 + i % 7);
  recorded.close();
  both_ways asked(recorded.open());
  expect_same_blocks(asked, summary::stored_metrics::block_limit);
  blocks_query query;
  query.range = asked.whole();
  EXPECT_FALSE(asked.ask(query)) << "as many as there are";
}

}  // namespace
}  // namespace sluice::query
