#include "app/gui/shell/files/comparison_opener.hpp"

#include <algorithm>

namespace sluice::gui {
namespace {

const document* find_path(const documents& session, const std::string& path) {
  for (const auto& each : session.all())
    if (each->path == path && each->ready()) return each.get();
  return nullptr;
}

}  // namespace

void comparison_opener::add_commands(command_registry& commands) {
  static constexpr auto has_tabs = [](auto& at) {
    return at->session_.all().size() + at->session_.comparisons.all().size() > 1;
  };
  static constexpr command_row<comparison_opener*> rows[] = {
      {.id = "compare.with",
       .title = "Compare with another recording...",
       .group = "Compare",
       .icon = icon::fit,
       .run = [](auto& at, auto& with) { at->compare_with(std::get_if<std::string>(&with)); },
       .enabled = [](auto& at) { return at->session_.ready(); }},
      {.id = "compare.swap_recordings",
       .title = "Swap before and after",
       .group = "Compare",
       .icon = icon::fit,
       .run = [](auto& at, auto&) { at->session_.comparisons.swap(); },
       .enabled = [](auto& at) { return at->session_.comparisons.front() != nullptr; }},
      {.id = "tab.next",
       .title = "Next tab",
       .group = "View",
       .words = "document recording comparison",
       .keys = {ImGuiMod_Ctrl | ImGuiKey_PageDown, ImGuiMod_Ctrl | ImGuiKey_Tab},
       .repeats = true,
       .run = [](auto& at, auto&) { at->step(1); },
       .enabled = has_tabs},
      {.id = "tab.previous",
       .title = "Previous tab",
       .group = "View",
       .words = "document recording comparison",
       .keys = {ImGuiMod_Ctrl | ImGuiKey_PageUp, ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Tab},
       .repeats = true,
       .run = [](auto& at, auto&) { at->step(-1); },
       .enabled = has_tabs}};
  commands.add(rows, this);
}

void comparison_opener::compare_with(const std::string* path) {
  const document_id active = session_.active()->id;
  const document* open = path == nullptr ? nullptr : find_path(session_, *path);
  if (open != nullptr) return session_.comparisons.open({active, open->id});
  before_ = active;
  known_.clear();
  for (const auto& each : session_.all()) known_.push_back(each->id);
  was_opening_ = false;
  if (path == nullptr) return choosers_.choose_recordings();
  opener_.open(*path);
}

void comparison_opener::step(std::ptrdiff_t by) {
  const auto& documents = session_.all();
  const auto& comparisons = session_.comparisons.all();
  const auto count = static_cast<std::ptrdiff_t>(documents.size() + comparisons.size());
  std::ptrdiff_t at = 0;
  if (const compared_documents* front = session_.comparisons.front()) {
    at = static_cast<std::ptrdiff_t>(documents.size()) + (front - comparisons.data());
  } else {
    for (std::size_t i = 0; i < documents.size(); ++i)
      if (documents[i].get() == session_.active()) at = static_cast<std::ptrdiff_t>(i);
  }
  const auto next = static_cast<std::size_t>(((at + by) % count + count) % count);
  if (next < documents.size()) return session_.activate(documents[next]->id);
  session_.comparisons.open(comparisons[next - documents.size()]);
}

void comparison_opener::follow() {
  if (files_) {
    const document* before = find_path(session_, files_->first);
    const document* after = find_path(session_, files_->second);
    if (before != nullptr && after != nullptr) {
      session_.activate(after->id);
      session_.comparisons.open({before->id, after->id});
    }
    // A recording that could not be opened never comes; the error is already shown.
    if ((before != nullptr && after != nullptr) || !session_.opening()) files_.reset();
  }
  if (before_ == document_id::none) return;
  const document* active = session_.active();
  const bool gone = session_.find(before_) == nullptr;
  const bool is_new =
      active != nullptr && active->ready() && std::find(known_.begin(), known_.end(), active->id) == known_.end();
  if (is_new && !gone) {
    session_.comparisons.open({before_, active->id});
    before_ = document_id::none;
  } else if (gone || (was_opening_ && !session_.opening())) {
    before_ = document_id::none;
  }
  was_opening_ = session_.opening();
}

}  // namespace sluice::gui
