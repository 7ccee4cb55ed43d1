#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "core/base/spelling.hpp"
#include "core/base/time/time_range.hpp"

/// The list of members of a metrics struct, which stands below the struct. One list serves the metrics stored in a file
/// (core/summary/stored/stored_metrics_format.hpp), the report's JSON (app/cli/output/json_values.hpp), SQL and Parquet
/// (core/query/sql/metric_tables.cpp), and the tables in app/cli/report_schema.md and query_schema.md. So a new member
/// is added in three places: its struct and list, its computation, and the generated texts (tests/README.md). The names
/// and their order are public: users write them in queries, and files store the values.
namespace sluice::metrics {

/// How to interpret a member if its type does not determine this.
enum class meaning : std::uint8_t {
  plain,
  moment,   ///< A time on the recording's clock, not a duration.
  rate,     ///< Bytes per second; 0 if unknown.
  address,  ///< An address, written in hexadecimal in JSON.
  side,     ///< The kind of memory on one side of a copy.
  inlined   ///< A struct whose members appear in place of the struct itself.
};

inline constexpr std::size_t as_listed = static_cast<std::size_t>(-1);

/// A member of a metrics struct, with its names.
template <auto Member>
struct member {
  static constexpr auto pointer = Member;
  /// The name in JSON. Empty if JSON shows the value elsewhere. SQL uses the name of the C++ member.
  std::string_view name = spelling::of_pointer<Member>();
  std::string_view about{};  ///< Describes the member in one line. If empty, SQL and the tables of documents lack it.
  meaning role = meaning::plain;
  std::uint32_t since = 0;  ///< The version of the stored metrics that added the member.
  /// The position in which a file stores the member, if that is not its position in the list. A new member is the last
  /// of the list, so it needs none.
  std::size_t place = as_listed;
};

/// The member list of a struct, as a tuple of `member`.
template <class Metrics>
constexpr auto get_members() = delete;

template <class Metrics>
concept has_members = requires {
  get_members<Metrics>();
};

#define SLUICE_MEMBERS(type, ...)      \
  template <>                          \
  constexpr auto get_members<type>() { \
    using row = type;                  \
    using enum meaning;                \
    return std::tuple{__VA_ARGS__};    \
  }

SLUICE_MEMBERS(time_range, member<&row::begin>{"begin_ns"}, member<&row::end>{"end_ns"})

}  // namespace sluice::metrics
