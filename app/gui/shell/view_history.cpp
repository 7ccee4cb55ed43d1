#include "app/gui/shell/view_history.hpp"

namespace sluice::gui {
namespace {

constexpr std::size_t history_limit = 200;

}  // namespace

void view_history::remember(const location& here) {
  if (in_step()) return;
  if (action_ == action::begun) action_ = action::remembered;
  if (!back_.empty() && back_.back() == here) return;
  back_.push_back(here);
  if (back_.size() > history_limit) back_.erase(back_.begin());
  forward_.clear();
}

location view_history::go_back(const location& here) {
  forward_.push_back(here);
  const location target = back_.back();
  back_.pop_back();
  return target;
}

location view_history::go_forward(const location& here) {
  back_.push_back(here);
  const location target = forward_.back();
  forward_.pop_back();
  return target;
}

void view_history::forget(document_id closed) {
  const auto gone = [closed](const location& where) { return where.selected.document == closed; };
  std::erase_if(back_, gone);
  std::erase_if(forward_, gone);
}

}  // namespace sluice::gui
