#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>

#include "app/cli/output/json_values.hpp"
#include "core/metrics/members.hpp"
#include "core/query/sql/sql.hpp"
#include "core/trace/model/tables.hpp"

// A list of members (core/metrics/base/member_list.hpp) is the only place that names a metric. What it declares is in
// JSON, in SQL and in the documents.
namespace sluice::cli {
namespace {

constexpr std::string_view report_schema = "/app/cli/report_schema.md", query_schema = "/app/cli/query_schema.md";

std::string read(std::string_view path) {
  std::ifstream in(SLUICE_SOURCE_DIR + std::string(path));
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Calls `visit` with each member of the list of a struct.
template <class Metrics, class Visit>
constexpr void for_each_member(Visit&& visit) {
  std::apply([&](const auto&... each) { (visit(each), ...); }, metrics::get_members<Metrics>());
}

/// A struct whose members have a table in SQL, and in the document of the report if JSON has them.
template <class Metrics>
struct described {
  std::string_view title;  ///< The place in JSON.
  std::string_view table;  ///< In SQL; empty if the struct has none.

  /// The row of a member in the report's document.
  template <auto Member>
  [[nodiscard]] std::string write_row(const metrics::member<Member>& each) const {
    const std::string column = table.empty() ? "" : fmt::format(" `{}` |", spelling::of_pointer<Member>());
    return fmt::format("| `{}` |{} {} |\n", each.name, column, each.about);
  }
  /// The table of all members in the report's document.
  [[nodiscard]] std::string write_table() const {
    std::string text = fmt::format("\n### {}\n\n| member |{} meaning |\n|---|{}---|\n", title,
                                   table.empty() ? "" : " column |", table.empty() ? "" : "---|");
    for_each_member<Metrics>([&](const auto& each) {
      if (!each.about.empty() && !each.name.empty()) text += write_row(each);
    });
    return text;
  }
};

constexpr std::tuple all_described{
    described<metrics::range_statistics>{"The report", ""},
    described<metrics::memory_statistics>{"memory[]", "memory_use"},
    described<metrics::pool_statistics>{"pools[]", "pool_use"},
    described<metrics::transfer_statistics>{"transfers[]", "transfer_use"},
    described<metrics::device_activity>{"devices[].activity", "device_use"},
    described<metrics::thread_statistics>{"threads[]", "thread_use"},
    described<metrics::rank_metrics>{"ranks[]", "rank_use"},
    described<metrics::failed_allocation>{"failed_allocations.first[]", "failed_allocation"},
    described<metrics::allocation_retry>{"allocation_retries.first[]", "allocation_retry"},
};

template <class Visit>
void for_each_described(Visit&& visit) {
  std::apply([&](const auto&... each) { (visit(each), ...); }, all_described);
}

TEST(report_document, describes_members_as_their_lists_do) {
  const std::string document = read(report_schema);
  const std::size_t begin = document.find("\n### ");
  ASSERT_NE(begin, std::string::npos);
  std::string tables;
  for_each_described([&](const auto& each) { tables += each.write_table(); });
  if (std::getenv("SLUICE_WRITE_GOLDEN") != nullptr)
    std::ofstream(SLUICE_SOURCE_DIR + std::string(report_schema)) << document.substr(0, begin) + tables;
  EXPECT_EQ(document.substr(begin), tables) << "SLUICE_WRITE_GOLDEN=1 rewrites it";
}

/// False if JSON shows all members of the struct in other ways.
template <class Metrics>
constexpr bool is_in_json() {
  bool named = false;
  for_each_member<Metrics>([&](const auto& each) { named = named || !each.name.empty(); });
  return named;
}

/// Expects that JSON has each member of a list that has a name.
template <class Metrics>
void expect_in_json() {
  if constexpr (is_in_json<Metrics>()) {
    const trace::tables none;
    const nlohmann::ordered_json object = to_json(Metrics{}, none);
    for_each_member<Metrics>([&]<auto Member>(const metrics::member<Member>& each) {
      if (each.name.empty()) return;
      if (each.role == metrics::meaning::inlined) {
        EXPECT_FALSE(object.contains(std::string(each.name))) << each.name;
      } else {
        EXPECT_TRUE(object.contains(std::string(each.name))) << each.name;
      }
    });
  }
}

TEST(member_lists, put_each_named_member_into_json) {
  []<class... Structs>(metrics::struct_list<Structs...>) {
    (expect_in_json<Structs>(), ...);
  }(metrics::listed_structs{});
}

TEST(member_lists, make_a_column_of_each_described_member_and_describe_it) {
  const auto schema = query::sql_schema();
  const std::string of_report = read(report_schema), of_query = read(query_schema);
  for_each_described([&]<class Metrics>(const described<Metrics>& one) {
    for_each_member<Metrics>([&]<auto Member>(const metrics::member<Member>& each) {
      if (each.about.empty()) return;
      SCOPED_TRACE(fmt::format("{}.{}", one.title, spelling::of_pointer<Member>()));
      if (!each.name.empty()) {
        EXPECT_NE(of_report.find(one.write_row(each)), std::string::npos);
      }
      if (one.table.empty()) return;
      bool found = false;
      for (const auto& table : schema)
        for (const auto& column : table.columns)
          found = found || (table.name == one.table && column.name == spelling::of_pointer<Member>() &&
                            column.about == each.about);
      EXPECT_TRUE(found) << "SQL has no such column";
      const std::size_t section = of_query.find(fmt::format("\n### {}\n", one.table));
      ASSERT_NE(section, std::string::npos);
      const std::string text = of_query.substr(section, of_query.find("\n### ", section + 1) - section);
      EXPECT_NE(text.find(fmt::format("| `{}` | {} |", spelling::of_pointer<Member>(), each.about)), std::string::npos);
    });
  });
}

TEST(member_lists, say_that_a_member_is_stored_since_a_version_that_exists) {
  EXPECT_GE(metrics::stored_version, metrics::base_version);
  EXPECT_EQ(metrics::find_newest<metrics::rank_metrics>(), 11U);
}

}  // namespace
}  // namespace sluice::cli
