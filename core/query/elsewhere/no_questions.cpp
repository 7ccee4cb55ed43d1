// A page in a browser connects to nothing, so nothing is asked elsewhere.
#include "core/query/answers/answer_functions.hpp"
#include "core/query/elsewhere/questions.hpp"

namespace sluice::query {

template <class Question>
std::vector<std::byte> encode_question(const Question& /*question*/) {
  return {};
}
template <class Question>
result<typename Question::answer_type> decode_answer(std::span<const std::byte> /*bytes*/) {
  return fail(error_code::unavailable, "a page in a browser connects to nothing");
}

std::vector<std::byte> encode_question(const sql_question& /*question*/) { return {}; }
sql_task::asker sql_asked_of(std::shared_ptr<answerer> /*by*/) { return {}; }
result<sql_rows> decode_sql_rows(std::span<const std::byte> /*bytes*/) {
  return fail(error_code::unavailable, "a page in a browser connects to nothing");
}

#define SLUICE_QUESTION(Q)                                      \
  template std::vector<std::byte> encode_question<Q>(const Q&); \
  template result<Q::answer_type> decode_answer<Q>(std::span<const std::byte>);
SLUICE_FOR_EACH_QUESTION(SLUICE_QUESTION)
#undef SLUICE_QUESTION

}  // namespace sluice::query
