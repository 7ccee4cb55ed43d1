// Stubs for the web page, which never connects to another process.
#include "core/query/elsewhere/queries.hpp"
#include "core/query/results/result_functions.hpp"

namespace sluice::query {

template <class Query>
std::vector<std::byte> encode_query(const Query& /*question*/) {
  return {};
}
template <class Query>
result<typename Query::result_type> decode_result(std::span<const std::byte> /*bytes*/) {
  return fail(error_code::unavailable, "a page in a browser connects to nothing");
}

std::vector<std::byte> encode_query(const sql_query& /*question*/) { return {}; }
sql_task::asker make_sql_asker(std::shared_ptr<answerer> /*by*/) { return {}; }
result<sql_rows> decode_sql_rows(std::span<const std::byte> /*bytes*/) {
  return fail(error_code::unavailable, "a page in a browser connects to nothing");
}

#define SLUICE_QUERY(Q)                                      \
  template std::vector<std::byte> encode_query<Q>(const Q&); \
  template result<Q::result_type> decode_result<Q>(std::span<const std::byte>);
SLUICE_FOR_EACH_QUERY(SLUICE_QUERY)
#undef SLUICE_QUERY

}  // namespace sluice::query
