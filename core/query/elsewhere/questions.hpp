#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
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

[[nodiscard]] std::vector<std::byte> encode_outline(const trace::outline& of);
/// `path`: of the outline. Errors: corrupt.
[[nodiscard]] result<trace::outline> decode_outline(std::span<const std::byte> bytes, const std::string& path);

}  // namespace sluice::query
