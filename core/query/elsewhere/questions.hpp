#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/query/elsewhere/answerer.hpp"
#include "core/query/sql/sql_task.hpp"
#include "core/trace/file/reader.hpp"

/// Questions, answers and outlines as compressed bytes (wire.hpp). What is decoded comes from elsewhere and is not
/// trusted: lengths, enumerators, and indices from one list into another are checked.
namespace sluice::query {

/// Names the layout of all questions and answers. Two programs understand each other if it is the same.
[[nodiscard]] std::uint64_t layout_of_questions();

/// The bytes of a question, which name its type. For all types of `SLUICE_FOR_EACH_QUESTION` but comparison_question,
/// which needs nothing of a recording.
template <class Question>
[[nodiscard]] std::vector<std::byte> encode_question(const Question& question);

/// The answer in `bytes`. Errors: corrupt.
template <class Question>
[[nodiscard]] result<typename Question::answer_type> decode_answer(std::span<const std::byte> bytes);

/// A query in SQL. It is no question of an engine: see `sql_asked_of`.
struct sql_question {
  static constexpr std::uint64_t most_rows = 10'000;  ///< Of an answer.
  static constexpr std::size_t most_bytes = std::size_t{16} << 20;
  static constexpr std::size_t longest_text = std::size_t{1} << 20;
  std::string text;
};

/// Its answer: the first rows.
struct sql_rows {
  std::vector<sql_column> columns;
  std::vector<std::string> cells;     ///< Row by row.
  std::vector<std::uint64_t> values;  ///< The bits of each cell that is an integer.
  std::vector<std::uint8_t> numbers;  ///< For each cell: 1 if it is a number.
  std::uint64_t rows = 0;
  bool cut = false;  ///< There are more.
  double seconds = 0;
};

[[nodiscard]] std::vector<std::byte> encode_question(const sql_question& question);
/// Errors: corrupt.
[[nodiscard]] result<sql_rows> decode_sql_rows(std::span<const std::byte> bytes);
/// For an `sql_task` whose query `by` answers.
[[nodiscard]] sql_task::asker sql_asked_of(std::shared_ptr<answerer> by);

[[nodiscard]] std::vector<std::byte> encode_outline(const trace::outline& of);
/// `path`: of the outline. Errors: corrupt.
[[nodiscard]] result<trace::outline> decode_outline(std::span<const std::byte> bytes, const std::string& path);

}  // namespace sluice::query
