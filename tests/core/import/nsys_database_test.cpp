// Rows of an untrusted SQLite file are read in batches, in order, until the reader stops.
#include "core/import/nsys/database.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <new>

#include "tests/core/import/files.hpp"

namespace sluice::importing {
namespace {

constexpr nsys_column number_and_name[] = {{"number"}, {"name", nsys_column::type::text}, {"missing"}};

/// Fixture with a file that has one table of 1000 rows.
class thousand_rows : public ::testing::Test {
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

/// Opens a database, makes changes, and copies it and the files beside it while it is still open, as if the writer had
/// been killed. Returns the path of the copy.
std::string copy_of_open_database(const testing::own_folder& folder, const std::string& mode,
                                  const std::string& changes) {
  const std::string live = folder.file("live.sqlite"), copy = folder.file("copy.sqlite");
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(live.c_str(), &db), SQLITE_OK);
  const auto run = [&](const std::string& text) {
    EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  };
  run("PRAGMA journal_mode=" + mode + "; CREATE TABLE t(number INTEGER, name TEXT); INSERT INTO t VALUES(1,'a');");
  if (mode == "wal") run("PRAGMA wal_checkpoint(TRUNCATE)");
  run(changes);
  for (const char* ending : {"", "-wal", "-journal"}) {
    std::error_code missing;
    std::filesystem::copy_file(live + ending, copy + ending, missing);
  }
  sqlite3_close(db);
  return copy;
}

std::size_t rows_in(const nsys_database& database) {
  nsys_rows rows;
  std::size_t count = 0;
  EXPECT_TRUE(database.read(
      "t", number_and_name, {}, {}, 100, [&] { return &rows; },
      [&](const nsys_rows* batch) { return (count += batch->size()) != 0; }));
  return count;
}

std::vector<std::string> names_in(const testing::own_folder& folder) {
  std::vector<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator(folder.file("."))) {
    names.push_back(each.path().filename().string() + ' ' + std::to_string(each.file_size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(nsys_database, is_read_with_its_write_ahead_log_and_the_folder_stays_as_it_is) {
  const testing::own_folder folder;
  const std::string path = copy_of_open_database(folder, "wal", "INSERT INTO t VALUES(2,'b'),(3,'c')");
  ASSERT_GT(std::filesystem::file_size(path + "-wal"), 0U);
  const auto before = names_in(folder);
  {
    const auto opened = nsys_database::open(path);
    ASSERT_TRUE(opened) << opened.error().to_string();
    EXPECT_EQ(rows_in(*opened), 3U);
    EXPECT_FALSE(opened->half_written());
    EXPECT_EQ(names_in(folder), before);
  }
  EXPECT_EQ(names_in(folder), before);
}

TEST(nsys_database, says_that_its_last_transaction_did_not_end) {
  const testing::own_folder folder;
  // A cache of one page: changes reach the file before they are complete.
  const std::string path = copy_of_open_database(
      folder, "delete",
      "PRAGMA cache_size=1; BEGIN; WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<9999)"
      "INSERT INTO t SELECT x, 'name ' || x FROM c;");
  ASSERT_TRUE(std::filesystem::exists(path + "-journal"));
  const auto before = names_in(folder);
  const auto opened = nsys_database::open(path);
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_TRUE(opened->half_written());
  EXPECT_EQ(names_in(folder), before);
}

TEST(nsys_database, does_not_follow_a_link_in_the_place_of_its_log) {
  const testing::own_folder folder;
  const std::string path = copy_of_open_database(folder, "wal", "INSERT INTO t VALUES(2,'b')");
  std::filesystem::rename(path + "-wal", folder.file("elsewhere"));
  std::filesystem::create_symlink(folder.file("elsewhere"), path + "-wal");
  const auto opened = nsys_database::open(path);
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_EQ(rows_in(*opened), 1U);
}

TEST_F(thousand_rows, come_in_order_in_batches_of_at_most_as_many_as_are_asked_for) {
  for (const std::size_t most : {1U, 300U, 500U, 1000U, 1001U}) {
    std::int64_t next = 0;
    const auto read = database_.read(
        "t", number_and_name, {}, {}, most, [&] { return &rows_; },
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

TEST_F(thousand_rows, come_no_more_once_nobody_wants_them) {
  int taken = 0;
  EXPECT_TRUE(database_.read(
      "t", number_and_name, {}, {}, 100, [&] { return &rows_; }, [&](nsys_rows*) { return ++taken < 3; }));
  EXPECT_EQ(taken, 3);
  int rooms = 0;
  EXPECT_TRUE(database_.read(
      "t", number_and_name, {}, {}, 100, [&] { return ++rooms < 3 ? &rows_ : nullptr; },
      [&](nsys_rows*) { return ++taken != 0; }));
  EXPECT_EQ(taken, 5);
}

TEST_F(thousand_rows, what_is_thrown_on_the_way_reaches_who_reads) {
  const auto throwing = [&] {
    return database_.read(
        "t", number_and_name, {}, {}, 100, [&] { return &rows_; }, [](nsys_rows*) -> bool { throw std::bad_alloc(); });
  };
  EXPECT_THROW(static_cast<void>(throwing()), std::bad_alloc);
}

TEST_F(thousand_rows, of_a_condition_are_those_that_meet_it) {
  std::size_t met = 0;
  EXPECT_TRUE(database_.read(
      "t", number_and_name, "number >= 990", {}, 4, [&] { return &rows_; },
      [&](const nsys_rows* batch) {
        met += batch->size();
        return true;
      }));
  EXPECT_EQ(met, 10U);
}

}  // namespace
}  // namespace sluice::importing
