// Rows as tables with named columns.
#include "core/query/sql/columns.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/trace/model/schema.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::query {
namespace {

TEST(columns, every_kind_of_row_is_a_table) {
  std::set<trace::row_type> seen;
  for (const table& each : tables()) seen.insert(each.type);
  seen.insert(trace::row_type::string);  // Strings have no table: they appear where rows refer to them.
#define SLUICE_SEEN(row, kind) EXPECT_TRUE(seen.contains(trace::row_type::kind)) << #kind;
  SLUICE_FOR_EACH_ROW(SLUICE_SEEN)
#undef SLUICE_SEEN
}

TEST(columns, every_table_and_every_column_says_what_it_is) {
  for (const table& each : tables()) {
    EXPECT_FALSE(each.about.empty()) << each.name << " needs a description in columns_about.cpp";
    for (const column& one : each.columns)
      EXPECT_FALSE(one.about.empty()) << each.name << "." << one.name << " needs a description in columns_about.cpp";
  }
}

TEST(columns, names_are_those_of_the_members_and_need_no_quotes_in_sql) {
  const table* links = find_table("link");
  ASSERT_NE(links, nullptr);
  EXPECT_LT(links->find("from_event"), links->columns.size());
  EXPECT_EQ(links->find("from"), links->columns.size());
  const table* transfers = find_table("transfer");
  ASSERT_NE(transfers, nullptr);
  EXPECT_EQ(transfers->columns[0].name, "id");
  EXPECT_EQ(transfers->columns[transfers->find("bytes")].type, column_type::size);
  EXPECT_EQ(transfers->columns[transfers->find("end")].type, column_type::time);
  EXPECT_EQ(transfers->columns[transfers->find("source_block")].id, id_kind::block);
  for (const table& each : tables()) {
    std::set<std::string_view> names;
    for (const column& one : each.columns) EXPECT_TRUE(names.insert(one.name).second) << each.name << "." << one.name;
  }
}

TEST(columns, cells_show_texts_words_and_what_is_not_known) {
  testing::recording recorded;
  recorded.standard_tables();
  recorded.add_copy(5, trace::unknown_time, 100);
  ASSERT_TRUE(recorded.writer().close());
  const auto file = trace::file::open(recorded.path());
  ASSERT_TRUE(file);
  const auto now = (*file)->latest();
  const table& transfers = *find_table("transfer");
  std::size_t chunk = 0;
  while (now->chunks()[chunk].type != trace::row_type::transfer) ++chunk;
  const auto rows = transfers.read(*now, chunk);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->count, 1U);
  const auto at = [&](std::string_view name) {
    return transfers.columns[transfers.find(name)].read((*rows)[0], now->tables());
  };
  EXPECT_EQ(at("bytes").integer, 100);
  EXPECT_EQ(at("direction").text, "h2d");
  EXPECT_EQ(at("source_kind").text, "pinned");
  EXPECT_EQ(at("end").type, cell::kind::null);
  EXPECT_EQ(at("call").type, cell::kind::null);
  EXPECT_EQ(at("asynchronous").integer, 0);
  const table& processes = *find_table("process");
  const auto process = processes.read(*now, 0);
  ASSERT_TRUE(process);
  EXPECT_EQ(processes.columns[processes.find("command")].read((*process)[0], now->tables()).text,
            "/usr/bin/python train.py");
  EXPECT_EQ(processes.columns[processes.find("rank")].read((*process)[0], now->tables()).type, cell::kind::null);
}

}  // namespace
}  // namespace sluice::query
