#include "core/import/chrome/first_time.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/import/chrome/parse.hpp"
#include "core/import/common/number.hpp"

namespace sluice::importing {
namespace {

constexpr std::string_view time_key = "\"ts\"";
constexpr std::size_t longest_event = 4096;
constexpr std::size_t block_bytes = std::size_t{256} << 10;
constexpr time_ns longest_span = time_ns{366} * 24 * 3600 * 1'000'000'000;

/// Returns the value of the key that ends at `at`.
std::optional<time_ns> value_behind(std::string_view text, std::size_t at) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n:\"", at);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view number = text.substr(begin, text.find_first_not_of("0123456789.+-eE", begin) - begin);
  time_ns quick = 0;
  return quick_thousandths(number, quick) ? std::optional(quick) : parse_thousandths(number);
}

/// Returns the object around `at`, found by its brackets. The text is empty if the object is incomplete or long.
std::string_view object_around(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  for (int depth = 0; depth >= 0; --begin) {
    if (begin == 0 || at - begin > longest_event) return {};
    if (text[begin - 1] == '}') ++depth;
    if (text[begin - 1] == '{') --depth;
  }
  std::size_t end = begin;
  for (int depth = 0; end < text.size() && end - begin < longest_event; ++end) {
    if (text[end] == '{') ++depth;
    if (text[end] == '}' && --depth == 0) return text.substr(begin, end + 1 - begin);
  }
  return {};
}

class first_time_finder {
 public:
  explicit first_time_finder(input& source) : source_(source) {}

  std::optional<time_ns> run() {
    std::vector<char> text;
    // The position in `text` up to which it was searched. The rest is searched once the text after it is available.
    std::size_t searched = 0;
    for (bool more = true; more;) {
      const std::size_t kept = std::min(searched, longest_event);
      text.erase(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(searched - kept));
      searched = kept;
      const std::size_t before = text.size();
      text.resize(before + block_bytes);
      const auto got = source_.read(std::as_writable_bytes(std::span(text).subspan(before)));
      if (!got) return std::nullopt;
      more = *got != 0;
      text.resize(before + *got);
      const std::size_t until =
          more ? std::max(searched, text.size() - std::min(text.size(), longest_event)) : text.size();
      search({text.data(), text.size()}, searched, until);
      searched = until;
    }
    return first_;
  }

 private:
  void search(std::string_view text, std::size_t begin, std::size_t until) {
    if (!usual_) learn(text.substr(begin, until - begin));
    while (begin < until) {
      const void* const found = memmem(text.data() + begin, until - begin, time_key.data(), time_key.size());
      if (found == nullptr) return;
      const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
      begin = at + time_key.size();
      const auto time = value_behind(text, begin);
      if (time && is_plausible(*time) && (!first_ || *time < *first_) && is_of_event(object_around(text, at), *time))
        first_ = *time;
    }
  }

  /// Finds the usual time, which is near the times of most events. Uninitialized times are 0.
  void learn(std::string_view text) {
    std::vector<time_ns> times;
    for (std::size_t at = text.find(time_key); at != std::string_view::npos; at = text.find(time_key, at + 1))
      if (const auto time = value_behind(text, at + time_key.size()); time && *time != 0) times.push_back(*time);
    if (times.empty()) return;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    usual_ = *middle;
  }

  [[nodiscard]] bool is_plausible(time_ns time) const {
    const time_ns usual = usual_.value_or(0);
    return time >= usual - longest_span && time <= usual + longest_span;
  }

  bool is_of_event(std::string_view object, time_ns time) {
    if (object.empty()) return false;
    piece_.buffer.assign(chrome_piece::margin * 2 + object.size(), ' ');
    std::copy(object.begin(), object.end(), piece_.buffer.begin() + chrome_piece::margin);
    piece_.begin = chrome_piece::margin;
    piece_.end = piece_.begin + object.size();
    parser_.parse(piece_, batch_);
    if (batch_.events.size() != 1) return false;
    const chrome_event& event = batch_.events[0];
    return event.phase != 'M' && event.phase != 0 && event.has_time && !event.bad_time && event.time == time;
  }

  input& source_;
  std::optional<time_ns> usual_, first_;
  chrome_parser parser_;
  chrome_piece piece_;
  chrome_batch batch_;
};

}  // namespace

std::optional<time_ns> find_first_time(input& source) { return first_time_finder(source).run(); }

}  // namespace sluice::importing
