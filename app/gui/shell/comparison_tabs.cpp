#include "app/gui/shell/comparison_tabs.hpp"

#include <algorithm>
#include <utility>

namespace sluice::gui {

void comparison_tabs::open(compared_documents which) {
  if (which.before == which.after) return;
  const auto found = std::find(all_.begin(), all_.end(), which);
  front_ = static_cast<std::size_t>(found - all_.begin());
  if (found == all_.end()) all_.push_back(which);
}

void comparison_tabs::close(compared_documents which) {
  const auto found = std::find(all_.begin(), all_.end(), which);
  if (found == all_.end()) return;
  const auto at = static_cast<std::size_t>(found - all_.begin());
  all_.erase(found);
  if (front_ == at) return leave();
  if (front_ != nowhere && front_ > at) --front_;
}

void comparison_tabs::swap() {
  if (front() == nullptr) return;
  compared_documents& shown = all_[front_];
  std::swap(shown.before, shown.after);
}

void comparison_tabs::forget(document_id closed) {
  const std::vector<compared_documents> before = all_;
  for (const compared_documents& each : before)
    if (each.before == closed || each.after == closed) close(each);
}

}  // namespace sluice::gui
