#include "core/import/chrome/resume.hpp"

#include <bitset>

namespace sluice::importing {
namespace {

constexpr std::size_t max_levels = 4096;
constexpr std::size_t max_looks = 8;  ///< The most looks at a byte, on average.

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::size_t behind_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

/// Walks through one object.
class object_reader {
 public:
  explicit object_reader(std::string_view text) : text_(text) {}

  strict_object read() {
    strict_object object;
    object.status = run();
    object.end = at_;
    object.has_phase = has_phase_;
    return object;
  }

 private:
  using state = strict_object::state;
  enum class wanted : std::uint8_t { name_or_end, name, colon, value, value_or_end, comma_or_end };

  state run() {
    wanted next = wanted::value;
    for (;;) {
      at_ = behind_blanks(text_, at_);
      if (at_ == text_.size()) return state::cut;
      const char c = text_[at_];
      switch (next) {
        case wanted::colon:
          if (c != ':') return state::broken;
          ++at_;
          next = wanted::value;
          continue;
        case wanted::comma_or_end:
          if (c == ',') {
            ++at_;
            next = in_object() ? wanted::name : wanted::value;
            continue;
          }
          break;
        case wanted::name:
        case wanted::name_or_end:
          if (c == '"') {
            const std::size_t begin = at_ + 1;
            if (const state met = string(); met != state::whole) return met;
            has_phase_ = has_phase_ || (depth_ == 1 && text_.substr(begin, at_ - begin - 1) == "ph");
            next = wanted::colon;
            continue;
          }
          if (next == wanted::name) return state::broken;
          break;
        case wanted::value:
        case wanted::value_or_end: {
          if (c == '{' || c == '[') {
            if (depth_ == max_levels) return state::broken;
            objects_[depth_++] = c == '{';
            ++at_;
            next = c == '{' ? wanted::name_or_end : wanted::value_or_end;
            continue;
          }
          if (c != '}' && c != ']') {
            if (depth_ == 0) return state::broken;
            if (const state met = c == '"' ? string() : word(); met != state::whole) return met;
            next = wanted::comma_or_end;
            continue;
          }
          if (next == wanted::value) return state::broken;
          break;
        }
      }
      // The character ends a container.
      if (depth_ == 0 || c != (in_object() ? '}' : ']')) return state::broken;
      ++at_;
      if (--depth_ == 0) return state::whole;
      next = wanted::comma_or_end;
    }
  }

  [[nodiscard]] bool in_object() const { return objects_[depth_ - 1]; }

  state string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\') {
        ++at_;
      } else if (c == '"') {
        ++at_;
        return state::whole;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        return state::broken;
      }
    }
    return state::cut;
  }

  /// Reads a number, true, false, null, or Python's NaN and Infinity.
  state word() {
    const std::size_t begin = at_;
    const auto belongs = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' ||
             c == '.';
    };
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    if (at_ == text_.size()) return state::cut;
    return at_ == begin ? state::broken : state::whole;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::bitset<max_levels> objects_;  ///< For each open level: 1 if it is an object, 0 if an array.
  std::size_t depth_ = 0;
  bool has_phase_ = false;
};

/// True if an object that ends at `end` can be an element: another element, the end of the array or nothing follows it.
bool goes_on(std::string_view text, std::size_t end) {
  std::size_t at = behind_blanks(text, end);
  while (at < text.size() && (text[at] == ',' || is_space(text[at]))) ++at;
  return at == text.size() || text[at] == '{' || text[at] == ']';
}

}  // namespace

strict_object read_object_strictly(std::string_view text) { return object_reader(text).read(); }

resumption find_next_event(std::string_view text, bool more) {
  resumption output;
  // This limits the work for endless nesting, which would be read from each of its levels.
  std::size_t left = max_looks * text.size();
  for (std::size_t brace = text.find('{', 1); brace != std::string_view::npos; brace = text.find('{', brace + 1)) {
    // Blanks, and the comma or the end of the previous event, come before the brace.
    std::size_t before = brace;
    while (before > 0 && is_space(text[before - 1])) --before;
    if (before == 0 || (text[before - 1] != ',' && text[before - 1] != '}')) continue;
    const std::size_t inside = behind_blanks(text, brace + 1);
    if (inside < text.size() && text[inside] != '"') continue;
    const strict_object object = read_object_strictly(text.substr(brace));
    const bool cut = object.status == strict_object::state::cut && more;
    const bool whole =
        object.status == strict_object::state::whole && object.has_phase && goes_on(text, brace + object.end);
    if (cut || whole) {
      output.at = brace;
      output.found = true;
      return output;
    }
    if (object.has_phase) ++output.skipped;
    if (object.end > left) break;
    left -= object.end;
  }
  output.at = text.size();
  return output;
}

}  // namespace sluice::importing
