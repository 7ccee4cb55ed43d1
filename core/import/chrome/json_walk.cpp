#include "core/import/chrome/json_walk.hpp"

#include <simdjson.h>

#include <new>

namespace sluice::importing {

static_assert(json_index::margin >= simdjson::SIMDJSON_PADDING);

bool json_walk::pass_brackets() {
  std::size_t depth = 0;
  for (; at_ != end_; ++at_) {
    const char c = text_[*at_];
    if (c == '{' || c == '[') ++depth;
    if (c != '}' && c != ']') continue;
    if (--depth != 0) continue;
    ++at_;
    return true;
  }
  return false;
}

struct json_index::state {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
  std::string_view text;
};

json_index::json_index() : state_(std::make_unique<state>()) {}
json_index::~json_index() = default;

json_fault json_index::read(std::string_view text) {
  state& s = *state_;
  s.text = text;
  if (s.parser == nullptr || s.parser->capacity() < text.size()) {
    // The reserve avoids another allocation when texts grow slightly each time.
    const std::size_t capacity = text.size() + text.size() / 8;
    const auto failed = s.parser == nullptr ? simdjson::get_active_implementation()->create_dom_parser_implementation(
                                                  capacity, 1, s.parser)
                                            : s.parser->set_capacity(capacity);
    if (failed == simdjson::MEMALLOC) throw std::bad_alloc();
    if (failed != simdjson::SUCCESS) return json_fault::other;
  }
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  switch (s.parser->stage1(bytes, text.size(), simdjson::stage1_mode::regular)) {
    case simdjson::SUCCESS:
      return json_fault::none;
    case simdjson::UTF8_ERROR:
      return json_fault::not_utf8;
    default:
      return json_fault::other;
  }
}

json_walk json_index::walk() const {
  const std::uint32_t* const first = state_->parser->structural_indexes.get();
  return {state_->text.data(), first, first + state_->parser->n_structural_indexes};
}

bool json_index::has_escapes() const { return state_->text.find('\\') != std::string_view::npos; }

bool json_index::unescape(std::string_view string, std::string& into) const {
  // simdjson may write a few bytes beyond the result.
  into.resize(string.size() + simdjson::SIMDJSON_PADDING);
  auto* const begin = reinterpret_cast<std::uint8_t*>(into.data());
  const std::uint8_t* const end =
      state_->parser->parse_string(reinterpret_cast<const std::uint8_t*>(string.data()), begin, true);
  into.resize(end == nullptr ? 0 : static_cast<std::size_t>(end - begin));
  return end != nullptr;
}

}  // namespace sluice::importing
