#include "app/gui/shell/files/path_dialog.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "app/gui/views/parts/dialog_window.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "core/base/format.hpp"
#include "core/base/printable.hpp"
#include "imgui_internal.h"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_entries = 200;   // in the list
constexpr std::size_t max_read = 100'000;  // entries of a folder
constexpr const char* opens = "file.open_path";

/// The folder part of the typed text. Only this folder is read.
fs::path get_folder(const std::string& text) {
  const fs::path typed(text);
  return text.ends_with('/') ? typed : typed.parent_path();
}

bool is_like_a_recording(const std::string& name) {
  std::istringstream patterns(recording_patterns);
  for (std::string each; patterns >> each;)
    if (fnmatch(each.c_str(), name.c_str(), 0) == 0) return true;
  return false;
}

}  // namespace

std::string path_typed(const std::string& text, const std::string& folder) {
  const std::size_t pasted = text.rfind("//");
  if (pasted != std::string::npos) return text.substr(pasted + 1);
  return (fs::path(folder) / text).string();
}

std::string complete_path(const std::string& text, const std::vector<std::string>& names) {
  if (names.empty()) return text;
  std::string common = names.front();
  for (const std::string& each : names) {
    const auto differs = std::mismatch(common.begin(), common.end(), each.begin(), each.end());
    common.erase(differs.first, common.end());
  }
  const std::size_t begin = text.rfind('/') == std::string::npos ? 0 : text.rfind('/') + 1;
  return common.size() < text.size() - begin ? text : text.substr(0, begin) + common;
}

void path_dialog::open(const std::string& folder, const std::vector<std::string>& recent) {
  std::error_code failed;
  const fs::path start = folder.empty() ? fs::current_path(failed) : fs::absolute(folder, failed);
  folder_ = start.string();
  text_ = folder_;
  if (!text_.ends_with('/')) text_ += '/';
  first_text_ = text_;
  recent_ = recent;
  found_ = {};
  entered_ = false;
  replaced_.clear();
  open_ = focus_ = select_ = true;
  command_ = opens;
}

void path_dialog::save(const std::string& folder, const std::string& name, const std::string& command) {
  const std::filesystem::path path(name);
  open(path.is_absolute() ? path.parent_path().string() : folder);
  text_ += path.filename().string();
  command_ = command;
}

bool path_dialog::saves() const { return command_ != opens; }

/// Runs in the background, because the folder may be on a slow file system.
path_dialog::listing path_dialog::list(const std::string& text, const std::string& folder) {
  listing output;
  output.text = text;
  output.path = path_typed(text, folder);
  std::error_code failed;
  output.exists = fs::exists(fs::symlink_status(output.path, failed));
  output.is_folder = fs::is_directory(output.path, failed);
  const std::string begin = output.path.ends_with('/') ? std::string() : fs::path(output.path).filename().string();
  std::size_t left = max_read;
  for (fs::directory_iterator at(get_folder(output.path), failed), end; !failed && at != end && left > 0;
       at.increment(failed), --left) {
    const std::string name = at->path().filename().string();
    const bool hidden = name.starts_with('.') && !begin.starts_with('.');
    if (hidden || !name.starts_with(begin)) continue;
    std::error_code unknown;
    output.entries.push_back({at->path().string(), at->is_directory(unknown), is_like_a_recording(name), {}});
  }
  std::sort(output.entries.begin(), output.entries.end(), [](const entry& a, const entry& b) {
    if (a.folder != b.folder) return a.folder;
    return a.folder || a.opens == b.opens ? a.path < b.path : a.opens;
  });
  if (output.entries.size() > max_entries) output.entries.resize(max_entries);
  for (entry& each : output.entries)
    if (!each.folder) each.state = recordings::read_state(each.path);
  return output;
}

void path_dialog::read() {
  if (found_.text != text_) reading_.start([text = text_, folder = folder_] { return list(text, folder); });
}

void path_dialog::take(const view_context& with, const entry& chosen) {
  if (chosen.folder) {
    text_ = chosen.path;
    if (!text_.ends_with('/')) text_ += '/';
    focus_ = true;
    return;
  }
  with.commands.invoke(command_, chosen.path);
  open_ = false;
}

void path_dialog::draw(const view_context& with) {
  if (auto found = reading_.take()) found_ = std::move(*found);
  if (!open_) return;
  read();
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  const ImVec2 size(std::min(with.px(560), viewport->Size.x - with.px(24)),
                    std::min(with.px(400), viewport->Size.y - with.px(60)));
  ImGui::SetNextWindowPos({viewport->GetCenter().x, viewport->Pos.y + with.px(54)}, ImGuiCond_Always, {0.5F, 0});
  ImGui::SetNextWindowSize(size);
  for (const ImGuiCol each : {ImGuiCol_WindowBg, ImGuiCol_TitleBg, ImGuiCol_TitleBgActive})
    ImGui::PushStyleColor(each, with.colours.raised);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0F);
  ImGui::Begin(saves() ? "Save as###path" : "Open a recording###path", &open_,
               ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoDocking);
  make_modal(with);
  draw_field();
  const entry* chosen = draw_entries(with);
  draw_buttons(with);
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(3);
  if (!open_) return;
  if (chosen != nullptr) {
    take(with, entry(*chosen));
  } else if (entered_ && found_.text == text_) {
    entered_ = false;
    if (saves() && found_.exists && !found_.is_folder) {
      replaced_ = found_.path;
    } else if (!saves() && !found_.exists && found_.entries.size() == 1) {
      take(with, entry(found_.entries.front()));  // The text names only this one.
    } else {
      take(with, {found_.path, found_.is_folder, false, {}});
    }
  }
}

void path_dialog::draw_field() {
  if (focus_) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(-1);
  if (ImGui::InputTextWithHint("##path_text", saves() ? "Path of the file" : "Path of a recording", &text_,
                               ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_CallbackCompletion, complete,
                               this))
    entered_ = true;
  if (ImGui::IsItemEdited()) replaced_.clear();
  if (!focus_ || !ImGui::IsItemActive()) return;
  if (ImGuiInputTextState* state = ImGui::GetInputTextState(ImGui::GetItemID())) {
    // The initial text is selected, so that pasting replaces it. After a folder has been completed, the cursor moves to
    // the end of the text.
    if (select_) {
      state->ReloadUserBufAndSelectAll();
    } else {
      state->ReloadUserBufAndMoveToEnd();
    }
  }
  focus_ = select_ = false;
}

/// Completes the text when the user presses Tab, provided that the folder has been read.
int path_dialog::complete(ImGuiInputTextCallbackData* field) {
  const path_dialog& self = *static_cast<const path_dialog*>(field->UserData);
  const std::string text(field->Buf, static_cast<std::size_t>(field->BufTextLen));
  if (self.found_.text != text) return 0;
  const std::string completed = complete_path(text, self.list_names());
  if (completed == text) return 0;
  field->DeleteChars(0, field->BufTextLen);
  field->InsertChars(0, completed.c_str(), completed.c_str() + completed.size());
  return 0;
}

/// The names of the entries; those of folders end with a slash. When opening, files that cannot be opened are left out
/// if there are others.
std::vector<std::string> path_dialog::list_names() const {
  std::vector<std::string> names, others;
  for (const entry& each : found_.entries) {
    const bool counts = saves() || each.folder || each.opens;
    (counts ? names : others).push_back(fs::path(each.path).filename().string() + (each.folder ? "/" : ""));
  }
  return names.empty() ? others : names;
}

void path_dialog::draw_recent(const view_context& with) {
  if (recent_.empty() || text_ != first_text_ || saves()) return;
  ImGui::TextDisabled("Recent");
  for (const std::string& path : recent_) {
    ImGui::PushID(path.c_str());
    if (ImGui::Selectable(make_label(printable(path)).c_str())) {
      with.commands.invoke(command_, path);
      open_ = false;
    }
    ImGui::PopID();
  }
  ImGui::Separator();
}

/// Draws the size and the date of a file at the right of the last item, and its name as far as that leaves room.
void path_dialog::draw_entry(const view_context& with, const entry& each) {
  const std::string name = printable(fs::path(each.path).filename().string() + (each.folder ? "/" : ""));
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  const float date_left = max.x - with.px(96), size_right = date_left - with.px(14);
  const bool muted = !saves() && !each.folder && !each.opens;
  const float top = min.y + (max.y - min.y - ImGui::GetTextLineHeight()) / 2;
  const auto write = [&](float left, float right, ImU32 colour, const std::string& text) {
    const ImVec2 size = ImGui::CalcTextSize(text.c_str());
    ImGui::PushStyleColor(ImGuiCol_Text, colour);
    ImGui::RenderTextEllipsis(&list, {left, top}, {right, max.y}, right, text.data(), text.data() + text.size(), &size);
    ImGui::PopStyleColor();
  };
  const bool known = each.state.exists;
  write(min.x + with.px(4), known ? size_right - with.px(76) : max.x, muted ? with.colours.muted : with.colours.text,
        name);
  if (!known) return;
  const std::string bytes = format_bytes(each.state.bytes);
  write(size_right - ImGui::CalcTextSize(bytes.c_str()).x, size_right + 1, with.colours.muted, bytes);
  write(date_left, max.x, with.colours.muted, recordings::format_date(each.state.modified, recordings::get_date()));
}

/// Draws the entries. Returns the clicked entry, which is valid until the next frame; null if none was clicked.
const path_dialog::entry* path_dialog::draw_entries(const view_context& with) {
  const entry* chosen = nullptr;
  const float lines = replaced_.empty() ? 1 : 2;
  ImGui::BeginChild("found", {0, -ImGui::GetFrameHeightWithSpacing() * lines});
  draw_recent(with);
  for (const entry& each : found_.entries) {
    ImGui::PushID(each.path.c_str());
    if (ImGui::Selectable("##entry")) {
      // A single click must never replace an existing file.
      if (saves() && !each.folder) {
        text_ = each.path;
        focus_ = true;
        replaced_.clear();
      } else {
        chosen = &each;
      }
    }
    draw_entry(with, each);
    ImGui::PopID();
  }
  if (found_.entries.empty() && found_.text == text_ && !saves()) ImGui::TextDisabled("No such file or folder.");
  ImGui::EndChild();
  return chosen;
}

void path_dialog::draw_buttons(const view_context& with) {
  if (replaced_.empty()) {
    ImGui::BeginDisabled(text_.empty());
    if (ImGui::Button(saves() ? "Save" : "Open")) entered_ = true;
    ImGui::EndDisabled();
    ImGui::SameLine();
    if (ImGui::Button("Cancel")) open_ = false;
    return;
  }
  clipped_text(printable(fs::path(replaced_).filename().string()) + " already exists.",
               ImGui::GetContentRegionAvail().x);
  if (ImGui::Button("Replace it")) {
    with.commands.invoke(command_, replaced_);
    open_ = false;
  }
  ImGui::SameLine();
  if (ImGui::Button("Keep it")) {
    replaced_.clear();
    focus_ = true;
  }
}

}  // namespace sluice::gui
