#include "core/metrics/comparison/line_moves.hpp"

#include <algorithm>

namespace sluice::metrics {

void line_moves::add(const std::string& function, std::uint64_t line, bool is_after) {
  if (line == 0) return;
  lines& subject = functions_[function];
  (is_after ? subject.after : subject.before).insert(line);
}

void line_moves::find() {
  for (auto& [function, subject] : functions_) subject.move = get_move(subject);
}

std::uint64_t line_moves::moved(const std::string& function, std::uint64_t line) const {
  const auto found = functions_.find(function);
  return found == functions_.end() || line == 0 ? line : line + static_cast<std::uint64_t>(found->second.move);
}

std::int64_t line_moves::get_move(const lines& subject) {
  if (subject.before.size() > max_pairs / std::max<std::size_t>(subject.after.size(), 1)) return 0;
  std::map<std::int64_t, std::size_t> meet;
  for (const std::uint64_t a : subject.before)
    for (const std::uint64_t b : subject.after) ++meet[static_cast<std::int64_t>(b - a)];
  const auto distance = [](std::int64_t move) {
    return move < 0 ? 0 - static_cast<std::uint64_t>(move) : static_cast<std::uint64_t>(move);
  };
  const auto best = std::max_element(meet.begin(), meet.end(), [&](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : distance(a.first) > distance(b.first);
  });
  return best == meet.end() ? 0 : best->first;
}

}  // namespace sluice::metrics
