#include "app/cli/page/web_text.hpp"

namespace sluice::cli {

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) -> unsigned {
      return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
    };
    const unsigned group = byte(i) << 16U | byte(i + 1) << 8U | byte(i + 2);
    text += letters[group >> 18U & 63U];
    text += letters[group >> 12U & 63U];
    text += i + 1 < bytes.size() ? letters[group >> 6U & 63U] : '=';
    text += i + 2 < bytes.size() ? letters[group & 63U] : '=';
  }
  return text;
}

std::string as_html(std::string_view text) {
  std::string line;
  for (const char c : text) {
    switch (c) {
      case '&':
        line += "&amp;";
        break;
      case '<':
        line += "&lt;";
        break;
      case '>':
        line += "&gt;";
        break;
      case '"':
        line += "&quot;";
        break;
      case '\'':
        line += "&#39;";
        break;
      default:
        line += c;
    }
  }
  return line;
}

}  // namespace sluice::cli
