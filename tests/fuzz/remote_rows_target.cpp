// Reads the rows of SQL queries that another machine sends.
#include "core/query/remote/sql_rows.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::remote_rows {
namespace {

void run(std::span<const std::uint8_t> input) {
  const auto came = query::decode_rows(std::as_bytes(input));
  if (!came) return;
  for (std::uint64_t row = 0; row < came->rows; ++row)
    for (std::size_t column = 0; column < came->columns.size(); ++column) {
      static_cast<void>(came->text(row, column));
      static_cast<void>(came->id(row, column));
    }
}

std::vector<bytes> seeds() {
  query::sql_result made;
  made.columns = {{"id", query::id_kind::block}, {"label", query::id_kind::none}};
  made.rows = 1;
  made.blocks = {std::make_shared<const query::sql_block>(query::sql_block{{"7", "x"}, {7, 0}, {true, false}})};
  const std::vector<std::byte> encoded = query::encode_rows(made);
  const auto* first = reinterpret_cast<const std::uint8_t*>(encoded.data());
  return {bytes(first, first + encoded.size())};
}

}  // namespace
}  // namespace sluice::fuzz::remote_rows

sluice::fuzz::target sluice::fuzz::remote_rows_target() {
  return {"remote_rows", remote_rows::run, remote_rows::seeds};
}
