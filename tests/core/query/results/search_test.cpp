#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "core/index/growing_index.hpp"
#include "core/query/engine/asked_query.hpp"
#include "core/query/engine/engine.hpp"
#include "core/trace/file/visit.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::query {
namespace {

using testing::recording;

search_results search(const recording& in, std::string text) {
  engine asked(in.open());
  return *asked.ask_now(search_query{std::move(text)}).value();
}

TEST(search, finds_parts_of_names_in_any_case) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(100, 150, "ampere_sgemm_128x64");
  recorded.add_kernel(300, 400, "volta_SGEMM");
  recorded.add_kernel(200, 290, "softmax");
  const auto call = recorded.add_call(90, 95, "cublasSgemm");
  recorded.close();
  const search_results found = search(recorded, "sGemm");
  EXPECT_EQ(found.total, 3U);
  ASSERT_EQ(found.events.size(), 3U);
  EXPECT_EQ(found.events[0].event, call) << "the earliest first";
  EXPECT_EQ(found.events[2].end, 400);
  EXPECT_EQ(found.name_count, 3U);
}

TEST(search, adds_up_events_of_a_name) {
  recording recorded(3);
  recorded.standard_tables();
  for (int i = 0; i < 10; ++i) recorded.add_kernel(i * 100, i * 100 + 10 + i, i % 2 == 0 ? "even" : "odd");
  recorded.close();
  const search_results found = search(recorded, "even");
  ASSERT_EQ(found.names.size(), 1U);
  EXPECT_EQ(found.names[0].count, 5U);
  EXPECT_EQ(found.names[0].time, 10 + 12 + 14 + 16 + 18);
  EXPECT_EQ(found.names[0].kind, trace::row_type::kernel);
  EXPECT_EQ(found.names[0].first.begin, 0);
  EXPECT_EQ(found.names[0].longest.begin, 800);
}

TEST(search, finds_nothing_for_nothing) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(100, 150, "gemm");
  recorded.close();
  EXPECT_EQ(search(recorded, "").total, 0U);
  EXPECT_EQ(search(recorded, "absent").total, 0U);
}

/// A search for "gemm" that can be stopped after each chunk.
struct stepwise_search {
  explicit stepwise_search(const recording& in) : trace(in.open()->latest()) {}

  [[nodiscard]] result<bool> step() { return run->work({}); }
  [[nodiscard]] search_results so_far() { return *from_any<search_results>(run->any_so_far(provisional)).value(); }

  const std::shared_ptr<const trace::snapshot> trace;
  std::atomic<bool> withdrawn{false};
  const index::growing_index nothing;
  symbols::frame_cache frames;
  bool provisional = false;
  const unique_result run = erase_type(std::make_shared<const search_query>(search_query{"gemm"}))
                                ->start({nothing, *trace, withdrawn, frames, symbols::frame_cache::lookup::at_once,
                                         nullptr, nullptr, provisional});
};

TEST(search, says_what_it_has_found_so_far_after_every_chunk) {
  recording recorded(64);
  recorded.standard_tables();
  std::mt19937_64 random(3);
  for (int i = 0; i < 5000; ++i) recorded.add_kernel(i * 100, i * 100 + 50, random() % 3 == 0 ? "gemm" : "softmax");
  recorded.close();
  stepwise_search looking(recorded);
  EXPECT_EQ(looking.so_far().total, 0U);
  std::uint64_t before = 0;
  float progress = 0;
  int parts = 0;
  for (bool done = false; !done; ++parts) {
    done = looking.step().value();
    const search_results found = looking.so_far();
    ASSERT_GE(found.total, before);
    ASSERT_LE(found.total, before + 64) << "a chunk at a time";
    ASSERT_GE(looking.run->progress(), progress);
    ASSERT_EQ(looking.run->progress() == 1, done);
    ASSERT_EQ(found.events.size(), found.total);
    if (found.total > 0) {
      ASSERT_EQ(found.names.size(), 1U);
      ASSERT_EQ(found.names[0].count, found.total);
    }
    before = found.total;
    progress = looking.run->progress();
  }
  EXPECT_GT(parts, 50);
  EXPECT_EQ(before, search(recorded, "gemm").total);
}

TEST(search, ends_where_it_is_when_withdrawn) {
  recording recorded(64);
  recorded.standard_tables();
  for (int i = 0; i < 500; ++i) recorded.add_kernel(i * 100, i * 100 + 50, "gemm");
  recorded.close();
  stepwise_search looking(recorded);
  ASSERT_FALSE(looking.step().value());
  looking.withdrawn = true;
  EXPECT_EQ(looking.step().error().code, error_code::cancelled);
}

TEST(search, of_a_view_is_for_what_was_typed_last) {
  recording recorded(256);
  recorded.standard_tables();
  for (int i = 0; i < 60'000; ++i) recorded.add_kernel(i * 100, i * 100 + 50, i % 3 == 0 ? "gemm" : "softmax");
  recorded.close();
  engine_options one_thread;
  one_thread.threads = 1;
  engine asked(recorded.open(), one_thread);
  slot<search_query> view;
  for (const std::string typed : {"s", "so", "g", "ge", "gem"}) {
    const auto result = view.ask(asked, {typed});
    EXPECT_TRUE(!result.complete || result->text == typed);
  }
  query_result<search_results> last = view.ask(asked, {"gemm"});
  std::uint64_t before = 0;
  for (; !last.complete; last = view.ask(asked, {"gemm"})) {
    ASSERT_FALSE(last.failure);
    ASSERT_LE(last.progress, 1);
    if (last && last->text == "gemm") {
      EXPECT_GE(last->total, before) << "what was found stays";
      before = last->total;
    }
    std::this_thread::yield();
  }
  EXPECT_EQ(last->text, "gemm");
  EXPECT_EQ(last->total, 20'000U);
  const auto again = view.ask(asked, {"gemm"});
  EXPECT_EQ(again.value, last.value) << "nothing is searched twice";
}

TEST(search, finds_what_going_through_all_rows_finds) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    recording recorded(1 + seed * 7);
    recorded.standard_tables();
    const auto name = [&] {
      std::string text;
      while (text.size() < 4) text += static_cast<char>('a' + random() % 3);
      return text;
    };
    for (int i = 0; i < 400; ++i) {
      const auto time = static_cast<time_ns>(random() % 10'000);
      if (random() % 2 == 0) {
        recorded.add_kernel(time, time + static_cast<time_ns>(random() % 90), name());
      } else {
        recorded.add_call(time, time + static_cast<time_ns>(random() % 90), name());
      }
    }
    recorded.close();
    const auto now = recorded.open()->latest();
    for (const std::string wanted : {"a", "ab", "abc", "cba", "bb"}) {
      std::map<std::pair<std::string, trace::row_type>, std::uint64_t> expected;
      std::uint64_t total = 0;
      const auto visit = [&](const auto& row) {
        if constexpr (requires { row.name; }) {
          const std::string text(now->tables().text(row.name));
          if (text.find(wanted) == std::string::npos) return;
          ++expected[{text, trace::type_of_row<std::remove_cvref_t<decltype(row)>>}];
          ++total;
        }
      };
      for (std::size_t i = 0; i < now->chunks().size(); ++i) ASSERT_TRUE(trace::visit_events(*now, i, visit));
      const search_results found = search(recorded, wanted);
      EXPECT_EQ(found.total, total);
      ASSERT_EQ(found.names.size(), expected.size());
      for (const found_name& each : found.names) {
        const std::pair key{std::string(now->tables().text(each.name)), each.kind};
        EXPECT_EQ(each.count, expected[key]) << key.first;
      }
      EXPECT_TRUE(std::is_sorted(found.events.begin(), found.events.end(),
                                 [](const auto& a, const auto& b) { return a.begin < b.begin; }));
    }
  }
}

}  // namespace
}  // namespace sluice::query
