#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/query/sql/sql.hpp"
#include "core/query/sql/sql_text.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::query {

inline std::string fmt_number(double number) { return fmt::format("{}", number); }

/// Fixture with a recording and a database over it. Result rows are texts with vertical bars between the cells.
class sql_test : public ::testing::Test {
 protected:
  void open() {
    ASSERT_TRUE(made_.writer().close());
    file_ = trace::file::open(made_.path()).value();
    trace_ = file_->latest();
    auto opened = sql_database::open(trace_);
    ASSERT_TRUE(opened) << opened.error().to_string();
    sql_ = std::move(*opened);
  }

  static std::vector<std::string> ask_of(sql_database& database, const std::string& text) {
    auto rows = database.prepare(text);
    if (!rows) {
      ADD_FAILURE() << text << ": " << rows.error().to_string();
      return {};
    }
    std::vector<std::string> strings;
    for (;;) {
      const auto more = rows->step();
      if (!more) {
        ADD_FAILURE() << text << ": " << more.error().to_string();
        return strings;
      }
      if (!*more) return strings;
      std::string line;
      for (std::size_t i = 0; i < rows->columns().size(); ++i)
        line.append(i == 0 ? "" : "|").append(to_text(rows->at(i)));
      strings.push_back(std::move(line));
    }
  }
  std::vector<std::string> ask(const std::string& text) { return ask_of(*sql_, text); }

  /// The error of a query that should fail; empty if the query succeeds.
  std::string problem(const std::string& text) {
    auto rows = sql_->prepare(text);
    if (!rows) return rows.error().to_string();
    for (;;) {
      const auto more = rows->step();
      if (!more) return more.error().to_string();
      if (!*more) return {};
    }
  }

  testing::recording made_{64};
  std::shared_ptr<trace::file> file_;
  std::shared_ptr<const trace::snapshot> trace_;
  std::unique_ptr<sql_database> sql_;
};

}  // namespace sluice::query
