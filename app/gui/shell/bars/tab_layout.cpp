#include "app/gui/shell/bars/tab_layout.hpp"

#include <algorithm>
#include <numeric>

namespace sluice::gui {
namespace {

/// The widest width of a tab with which all fit into `room`.
float find_cap(std::span<const float> natural, float room) {
  std::vector<float> sorted(natural.begin(), natural.end());
  std::sort(sorted.begin(), sorted.end());
  float left = room;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const float equal = left / static_cast<float>(sorted.size() - i);
    if (sorted[i] > equal) return equal;
    left -= sorted[i];
  }
  return sorted.empty() ? room : sorted.back();
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; }

}  // namespace

std::string tab_titles::get(document_id which) const {
  for (const auto& each : session_.all()) {
    if (each->id != which) continue;
    const std::string_view title = each->title;
    constexpr std::string_view end = ".sluice";
    return std::string(title.size() > end.size() && title.ends_with(end) ? title.substr(0, title.size() - end.size())
                                                                         : title);
  }
  return {};
}

std::string tab_titles::get(compared_documents which, std::string_view between) const {
  return get(which.before) + " " + std::string(between) + " " + get(which.after);
}

tab_layout lay_out_tabs(std::span<const float> natural, float room, float least, float list, std::size_t front) {
  tab_layout output;
  if (natural.empty()) return output;
  const float cap = find_cap(natural, room);
  if (cap >= least) {
    for (std::size_t i = 0; i < natural.size(); ++i) output.tabs.push_back({i, std::min(natural[i], cap)});
    return output;
  }
  output.lists_others = true;
  const auto fit = static_cast<std::size_t>(std::max(1.0F, (room - list) / std::max(least, 1.0F)));
  const std::size_t count = std::min(fit, natural.size());
  front = std::min(front, natural.size() - 1);
  const std::size_t first = std::min(front > count / 2 ? front - count / 2 : 0, natural.size() - count);
  const float width = std::max((room - list) / static_cast<float>(count), 1.0F);
  for (std::size_t i = first; i < first + count; ++i) output.tabs.push_back({i, std::min(natural[i], width)});
  return output;
}

std::string cut_middle(std::string_view text, float width, const std::function<float(std::string_view)>& measure) {
  if (measure(text) <= width) return std::string(text);
  for (std::size_t kept = text.size() - 1; kept > 0; --kept) {
    std::size_t head = (kept + 1) / 2;
    std::size_t tail = text.size() - kept / 2;
    while (head > 0 && continues_character(text[head])) --head;
    while (tail < text.size() && continues_character(text[tail])) ++tail;
    std::string cut = std::string(text.substr(0, head)) + "..." + std::string(text.substr(tail));
    if (measure(cut) <= width) return cut;
  }
  return "...";
}

}  // namespace sluice::gui
