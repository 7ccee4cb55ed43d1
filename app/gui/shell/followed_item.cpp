#include "app/gui/shell/followed_item.hpp"

#include <algorithm>

namespace sluice::gui {
namespace {

std::string name_line(const std::vector<symbols::frame_line>& stack) {
  if (stack.empty()) return {};
  std::vector<const symbols::frame_line*> lines;
  for (const symbols::frame_line& each : stack) lines.push_back(&each);
  return symbols::format_place_and_name(stack[std::min(symbols::line_to_name(lines), lines.size() - 1)]);
}

}  // namespace

void followed_item::follow(const documents& session) {
  const document* shown = session.active();
  const selection& chosen = session.selected();
  const bool block = chosen.kind == selection_kind::block;
  const bool any = shown != nullptr && shown->ready() && (block || chosen.kind == selection_kind::event);
  if (!any || chosen.document != shown->id) return assign(chosen, nullptr, nullptr);
  query::details_query wanted;
  if (block) {
    wanted.block = trace::block_id{chosen.id};
  } else {
    wanted.event = trace::event_id{chosen.id};
  }
  // An incomplete result may still be about what was selected before.
  const auto details = details_query_.ask(*shown->engine, wanted);
  if (!details || !details.complete || details.failure) return assign(chosen, nullptr, nullptr);
  if (!block) return assign(chosen, details.value, nullptr);
  const auto uses = uses_query_.ask(*shown->engine, {wanted.block, details->span});
  const bool known = uses && uses.complete && !uses.failure;
  assign(chosen, details.value, known ? uses.value : nullptr);
}

void followed_item::reset() {
  details_query_ = {};
  uses_query_ = {};
  assign({}, nullptr, nullptr);
}

void followed_item::assign(const selection& chosen, std::shared_ptr<const query::event_details> details,
                           std::shared_ptr<const query::block_use_list> uses) {
  if (chosen == chosen_ && details == details_ && uses == uses_) return;
  chosen_ = chosen;
  details_ = std::move(details);
  uses_ = std::move(uses);
  events_.clear();
  blocks_.clear();
  ++version_;
  if (chosen.kind == selection_kind::event) events_.push_back(trace::event_id{chosen.id});
  if (chosen.kind == selection_kind::block) blocks_.push_back(trace::block_id{chosen.id});
  if (uses_ != nullptr)
    for (const query::block_use& each : uses_->uses) events_.push_back(each.event);
  if (details_ != nullptr && chosen.kind == selection_kind::event)
    for (const query::detail& each : details_->details)
      if (each.block != trace::block_id::none) blocks_.push_back(each.block);
  std::sort(events_.begin(), events_.end());
  std::sort(blocks_.begin(), blocks_.end());
  line_ = details_ == nullptr ? std::string() : name_line(details_->stack);
}

bool followed_item::lights(trace::event_id event) const {
  return event != trace::event_id::none && std::binary_search(events_.begin(), events_.end(), event);
}

bool followed_item::lights(trace::block_id block) const {
  return block != trace::block_id::none && std::binary_search(blocks_.begin(), blocks_.end(), block);
}

}  // namespace sluice::gui
