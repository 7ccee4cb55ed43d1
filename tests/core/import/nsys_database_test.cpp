// How rows of a stranger's SQLite file come: in batches, in order, as far as somebody wants them.
#include "core/import/nsys_database.hpp"

#include <sqlite3.h>

#include <new>

#include "tests/core/import/files.hpp"

namespace sluice::importing {
namespace {

constexpr nsys_column number_and_name[] = {{"number"}, {"name", nsys_column::type::text}, {"missing"}};

/// A file with one table, of so many rows.
class ThousandRows : public ::testing::Test {
 protected:
  static constexpr std::int64_t count = 1'000;

  void SetUp() override {
    const std::string path = folder_.file("in.sqlite");
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db,
                           "CREATE TABLE t(number INTEGER, name TEXT);"
                           "WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x+1 FROM c WHERE x<999)"
                           "INSERT INTO t SELECT nullif(x,7), 'name ' || x FROM c;",
                           nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(db);
    auto opened = nsys_database::open(path);
    ASSERT_TRUE(opened) << opened.error().to_string();
    database_ = std::move(*opened);
  }

  testing::own_folder folder_;
  nsys_database database_;
  nsys_rows rows_;
};

TEST_F(ThousandRows, ComeInOrderInBatchesOfAtMostAsManyAsAreAskedFor) {
  for (const std::size_t most : {1U, 300U, 500U, 1000U, 1001U}) {
    std::int64_t next = 0;
    const auto read = database_.read(
        "t", number_and_name, {}, most, [&] { return &rows_; },
        [&](const nsys_rows* batch) {
          EXPECT_LE(batch->size(), most);
          for (std::size_t i = 0; i < batch->size(); ++i, ++next) {
            EXPECT_EQ(batch->row(i)[0], next == 7 ? nsys_rows::null : next);
            EXPECT_EQ(batch->text(batch->row(i)[1]), "name " + std::to_string(next));
            EXPECT_EQ(batch->row(i)[2], nsys_rows::null);
          }
          return true;
        });
    EXPECT_TRUE(read);
    EXPECT_EQ(next, count) << most;
  }
}

TEST_F(ThousandRows, ComeNoMoreOnceNobodyWantsThem) {
  int taken = 0;
  EXPECT_TRUE(database_.read(
      "t", number_and_name, {}, 100, [&] { return &rows_; }, [&](nsys_rows*) { return ++taken < 3; }));
  EXPECT_EQ(taken, 3);
  int rooms = 0;
  EXPECT_TRUE(database_.read(
      "t", number_and_name, {}, 100, [&] { return ++rooms < 3 ? &rows_ : nullptr; },
      [&](nsys_rows*) { return ++taken != 0; }));
  EXPECT_EQ(taken, 5);
}

TEST_F(ThousandRows, WhatIsThrownOnTheWayReachesWhoReads) {
  const auto throwing = [&] {
    return database_.read(
        "t", number_and_name, {}, 100, [&] { return &rows_; }, [](nsys_rows*) -> bool { throw std::bad_alloc(); });
  };
  EXPECT_THROW(static_cast<void>(throwing()), std::bad_alloc);
}

TEST_F(ThousandRows, OfAConditionAreThoseThatMeetIt) {
  std::size_t met = 0;
  EXPECT_TRUE(database_.read(
      "t", number_and_name, "number >= 990", 4, [&] { return &rows_; },
      [&](const nsys_rows* batch) {
        met += batch->size();
        return true;
      }));
  EXPECT_EQ(met, 10U);
}

}  // namespace
}  // namespace sluice::importing
