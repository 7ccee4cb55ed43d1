// Queries that another process answers: their results equal the local results, and failures on the way are handled.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>

#include "core/query/elsewhere/queries.hpp"
#include "core/query/results/result_functions.hpp"
#include "core/query/sql/sql_task.hpp"
#include "tests/core/query/elsewhere/desk_answerer.hpp"
#include "tests/core/recordings/eventful_recording.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::query {
namespace {

bool becomes(const std::function<bool()>& true_) {
  for (int i = 0; i < 1'000; ++i) {
    if (true_()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// The complete result of `from`, as the bytes that a desk would send. Equal results have equal bytes.
template <class Query>
std::vector<std::byte> bytes_from(engine& source, const Query& query) {
  question_desk desk(source);
  const auto opened = desk.ask(1, encode_query(query));
  EXPECT_TRUE(opened) << opened.error().to_string();
  std::vector<std::byte> bytes;
  EXPECT_TRUE(becomes([&] {
    const auto next = desk.next();
    if (!next || !next->last) return false;
    EXPECT_FALSE(next->failure);
    bytes = next->bytes;
    return true;
  }));
  return bytes;
}

blocks_query blocks_in(time_range range, bool with_uses = false) {
  blocks_query output;
  output.range = range;
  output.with_uses = with_uses;
  return output;
}

class elsewhere : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::tell_a_lot(made_);
    made_.close();
    here_ = std::make_unique<engine>(made_.open());
    there_ = std::make_shared<desk_answerer>(made_.open());
    const auto seen = made_.open()->latest();
    const auto outline = decode_outline(encode_outline(seen->about()), "ssh://host/a.sluice");
    ASSERT_TRUE(outline);
    file_ = trace::file::without_rows(*outline);
    asks_ = std::make_unique<engine>(file_, engine_options{.wake = {}, .elsewhere = there_});
    whole_ = {seen->begin(), seen->end() + 1};
  }
  /// Calls `each` with a query of every type that another process can answer.
  template <class Each>
  void for_each_query(const Each& each) {
    const auto tracks = here_->ask_now(tracks_query{}).value();
    const auto block = here_->ask_now(blocks_in(whole_)).value()->rows.at(0);
    each(tracks_query{});
    for (const track& which : tracks->tracks) {
      if (here_->ask_now(series_query{which.id, whole_, 300, true})) each(series_query{which.id, whole_, 300, true});
      if (here_->ask_now(slices_query{which.id, whole_, 300})) each(slices_query{which.id, whole_, 300});
    }
    each(blocks_in(whole_, true));
    each(statistics_query{whole_});
    each(report_query{});
    each(details_query{.event = block.alloc});
    each(details_query{.block = block.block});
    each(stacks_query{.range = whole_});
    each(messages_query{});
    each(search_query{"gemm"});
    each(memory_map_query{.time = block.born, .width = 200, .lone = true, .marks = {block.block}});
    each(memory_step_query{.time = block.born});
    each(what_if_query{});
    each(transfers_query{whole_});
    each(idle_gaps_query{whole_});
    each(host_stacks_query{.filter = {.range = whole_}});
    each(idle_lanes_query{whole_, 300});
    each(gap_stacks_query{0, trace::stack_id{1}, trace::stack_id{2}});
    each(ranks_query{{{trace::process_id{1}, {}}}, whole_, 50});
    each(memory_groups_query{.range = whole_, .width = 100, .device = block.device, .kind = block.kind});
    each(compared_side_query{whole_});
    each(generations_query{.marks = {block.born}, .at = whole_.end});
    each(holes_query{.range = whole_, .samples = 10});
    each(durations_query{.range = whole_});
    each(step_statistics_query{});
  }

  testing::recording made_;
  std::unique_ptr<engine> here_;
  std::shared_ptr<desk_answerer> there_;
  std::shared_ptr<trace::file> file_;
  std::unique_ptr<engine> asks_;
  time_range whole_;
};

TEST_F(elsewhere, an_outline_says_all_that_is_not_in_rows) {
  const auto here = made_.open()->latest();
  const auto there = file_->latest();
  EXPECT_EQ(there->path(), "ssh://host/a.sluice");
  EXPECT_EQ(there->begin(), here->begin());
  EXPECT_EQ(there->end(), here->end());
  EXPECT_EQ(there->file_bytes(), here->file_bytes());
  EXPECT_EQ(there->complete(), here->complete());
  EXPECT_EQ(there->tables().devices.rows().size(), here->tables().devices.rows().size());
  EXPECT_EQ(there->tables().strings.rows().size(), here->tables().strings.rows().size());
  EXPECT_TRUE(there->chunks().empty());
  EXPECT_FALSE(there->local().any());
  EXPECT_FALSE(file_->refresh().value());
}

TEST_F(elsewhere, every_result_is_the_one_that_is_given_there) {
  int types = 0;
  for_each_query([&](const auto& query) {
    ++types;
    EXPECT_EQ(bytes_from(*asks_, query), bytes_from(*here_, query)) << typeid(query).name();
  });
  EXPECT_GE(types, 22);
}

TEST_F(elsewhere, damaged_results_are_refused_or_harmless) {
  std::mt19937_64 random(7);
  for_each_query([&](const auto& query) {
    const auto good = bytes_from(*here_, query);
    ASSERT_TRUE(decode_result<std::remove_cvref_t<decltype(query)>>(good));
    for (int i = 0; i < 300; ++i) {
      auto bad = good;
      for (auto changes = 1 + random() % 3; changes > 0; --changes)
        bad[random() % bad.size()] ^= static_cast<std::byte>(1U << (random() % 8));
      if (random() % 4 == 0) bad.resize(random() % bad.size());
      static_cast<void>(decode_result<std::remove_cvref_t<decltype(query)>>(bad));
    }
  });
}

TEST_F(elsewhere, waiting_works_as_well) {
  EXPECT_EQ(asks_->ask_now(report_query{}).value()->peaks.size(), here_->ask_now(report_query{}).value()->peaks.size());
  EXPECT_FALSE(asks_->ask_now(details_query{.event = trace::event_id{1'000'000}}));
}

TEST_F(elsewhere, a_new_query_goes_out_at_once_and_those_in_between_are_withdrawn) {
  slot<statistics_query> view;
  there_->pause();
  const auto part = [&](int i) { return statistics_query{{whole_.begin, whole_.begin + i * testing::ms}}; };
  for (int i = 1; i <= 10; ++i) static_cast<void>(view.ask(*asks_, part(i)));
  EXPECT_EQ(there_->asked(), 10);
  EXPECT_EQ(there_->withdrawn(), 8) << "the first may still be shown, and the last is wanted";
  there_->go_on();
  EXPECT_TRUE(becomes([&] { return view.ask(*asks_, part(10)).complete; }));
  EXPECT_EQ(view.ask(*asks_, part(10))->range, part(10).range);
  EXPECT_EQ(there_->asked(), 10) << "what is answered is not asked again";
}

TEST_F(elsewhere, what_came_stays_when_the_connection_breaks) {
  slot<messages_query> shown;
  slot<report_query> late;
  EXPECT_TRUE(becomes([&] { return shown.ask(*asks_, {}).complete; }));
  there_->pause();
  static_cast<void>(late.ask(*asks_, {}));
  there_->die();
  const auto kept = shown.ask(*asks_, {});
  EXPECT_TRUE(kept);
  EXPECT_TRUE(kept.complete);
  EXPECT_FALSE(kept.failure);
  EXPECT_TRUE(late.ask(*asks_, {}).failure);
  EXPECT_TRUE(becomes([&] { return !asks_->busy(); }));
  EXPECT_FALSE(asks_->ask_now(report_query{}));
}

TEST_F(elsewhere, a_view_that_goes_withdraws_its_query) {
  there_->pause();
  {
    slot<report_query> view;
    static_cast<void>(view.ask(*asks_, {}));
    EXPECT_TRUE(asks_->busy());
  }
  EXPECT_EQ(there_->withdrawn(), 1);
  EXPECT_TRUE(becomes([&] { return !asks_->busy(); }));
}

TEST_F(elsewhere, a_newer_state_is_asked_about_anew) {
  slot<messages_query> view;
  EXPECT_TRUE(becomes([&] { return view.ask(*asks_, {}).complete; }));
  const int before = there_->asked();
  trace::outline newer = file_->latest()->about();
  newer.end += 1'000;
  there_->put_newer(trace::file::without_rows(newer));
  asks_->refresh();
  EXPECT_TRUE(becomes([&] { return asks_->snapshot()->end() == newer.end; }));
  EXPECT_TRUE(becomes([&] { return view.ask(*asks_, {}).complete; }));
  EXPECT_GT(there_->asked(), before);
}

TEST_F(elsewhere, a_desk_refuses_what_is_no_query_or_asks_for_too_much) {
  question_desk desk(*here_);
  EXPECT_FALSE(desk.ask(1, {}));
  EXPECT_FALSE(desk.ask(1, std::vector<std::byte>(2, std::byte{0xff})));
  EXPECT_FALSE(desk.ask(1, encode_query(series_query{1, whole_, 4'000'000'000})));
  blocks_query too_many = blocks_in(whole_);
  too_many.rows = std::size_t{1} << 40;
  EXPECT_FALSE(desk.ask(1, encode_query(too_many)));
  auto longer = encode_query(report_query{});
  longer.push_back({});
  EXPECT_FALSE(desk.ask(1, longer));
  EXPECT_TRUE(desk.ask(1, encode_query(report_query{})));
  EXPECT_FALSE(desk.ask(1, encode_query(report_query{}))) << "the number is taken";
  for (std::uint64_t i = 2; i <= question_desk::max_open; ++i) ASSERT_TRUE(desk.ask(i, encode_query(messages_query{})));
  EXPECT_FALSE(desk.ask(100'000, encode_query(messages_query{})));
}

/// Waits for the result, and returns it.
std::shared_ptr<const sql_result> done(const sql_task& task) {
  EXPECT_TRUE(becomes([&] { return task.done(); }));
  return task.found();
}

TEST_F(elsewhere, sql_runs_there) {
  const std::string text =
      "SELECT id, block, bytes, layer, 1.5 AS half, NULL AS none, -9223372036854775807 AS least FROM alloc, (SELECT 1 "
      "UNION SELECT 2) ORDER BY id";
  const sql_task here(made_.open()->latest(), text);
  const sql_task there(text, make_sql_asker(there_));
  const auto expected = done(here);
  const auto came = done(there);
  ASSERT_FALSE(came->failure) << came->failure->to_string();
  ASSERT_GT(came->rows, sql_result::block_rows) << "more than one block";
  ASSERT_EQ(came->rows, expected->rows);
  ASSERT_EQ(came->columns.size(), expected->columns.size());
  for (std::size_t column = 0; column < came->columns.size(); ++column) {
    EXPECT_EQ(came->columns[column].name, expected->columns[column].name);
    EXPECT_EQ(came->columns[column].id, expected->columns[column].id);
    for (std::uint64_t row = 0; row < came->rows; ++row) {
      ASSERT_EQ(came->text(row, column), expected->text(row, column)) << row;
      ASSERT_EQ(came->is_number(row, column), expected->is_number(row, column));
      ASSERT_EQ(came->id(row, column), expected->id(row, column));
    }
  }
}

TEST_F(elsewhere, sql_that_is_wrong_is_said_to_be) {
  const sql_task there("SELECT nonsense FROM alloc", make_sql_asker(there_));
  const auto came = done(there);
  ASSERT_TRUE(came->failure);
  EXPECT_NE(came->failure->message.find("nonsense"), std::string::npos) << came->failure->to_string();
}

TEST_F(elsewhere, sql_sends_the_first_rows_of_many) {
  const sql_task there(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n",
      make_sql_asker(there_));
  const auto came = done(there);
  ASSERT_FALSE(came->failure);
  EXPECT_TRUE(came->cut);
  EXPECT_EQ(came->rows, sql_query::max_rows);
  EXPECT_EQ(came->text(came->rows - 1, 0), "10000");
}

TEST_F(elsewhere, sql_is_stopped_without_waiting) {
  sql_task there("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
                 make_sql_asker(there_));
  there.cancel();
  EXPECT_TRUE(there.done());
  EXPECT_EQ(there.found()->failure->code, error_code::cancelled);
  EXPECT_EQ(there_->withdrawn(), 1);
}

TEST_F(elsewhere, sql_says_that_the_connection_has_ended) {
  there_->pause();
  const sql_task there("SELECT 1", make_sql_asker(there_));
  there_->die();
  EXPECT_TRUE(done(there)->failure);
}

TEST(sql_rows, that_do_not_fit_their_columns_are_refused) {
  EXPECT_FALSE(decode_sql_rows({}));
  const std::vector<std::byte> noise(64, std::byte{7});
  EXPECT_FALSE(decode_sql_rows(noise));
}

/// The peak memory of this process since the previous call, in KiB.
long peak_memory() {
  std::ifstream status("/proc/self/status");
  const std::string text(std::istreambuf_iterator<char>(status), {});
  std::ofstream("/proc/self/clear_refs") << '5';
  const std::size_t at = text.find("VmHWM:");
  return at == std::string::npos ? 0 : std::atol(text.c_str() + at + 6);
}

TEST(sql_rows, of_a_size_that_is_only_said_take_no_memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "skipped: a sanitizer takes memory of its own";
#endif
  // A size of 256 MiB, and the header of a zstd frame with the same size: a single segment whose size has four bytes.
  const std::uint8_t claim[] = {0, 0, 0, 0x10, 0, 0, 0, 0, 0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x10};
  static_cast<void>(peak_memory());
  const long before = peak_memory();
  EXPECT_FALSE(decode_sql_rows(std::as_bytes(std::span(claim))));
  EXPECT_LT(peak_memory() - before, 100L * 1024);
}

}  // namespace
}  // namespace sluice::query
