#include "app/gui/shell/path_dialog.hpp"

#include <algorithm>
#include <filesystem>

#include "app/gui/views/widgets.hpp"
#include "core/base/printable.hpp"
#include "imgui_internal.h"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_entries = 200;
constexpr const char* opens = "file.open_path";

/// Does not follow what is typed into folders without end: only the one folder is read.
fs::path folder_of(const std::string& text) {
  const fs::path typed(text);
  return text.ends_with('/') ? typed : typed.parent_path();
}

}  // namespace

void path_dialog::open(const std::string& folder) {
  std::error_code failed;
  const fs::path start = folder.empty() ? fs::current_path(failed) : fs::path(folder);
  text_ = start.string();
  if (!text_.ends_with('/')) text_ += '/';
  found_ = {};
  entered_ = false;
  open_ = focus_ = true;
  command_ = opens;
}

void path_dialog::save(const std::string& folder, const std::string& name, const std::string& command) {
  open(folder);
  text_ += name;
  command_ = command;
}

/// Runs in the background: a folder may lie on a slow file system.
path_dialog::listing path_dialog::list(const std::string& text) {
  listing made;
  made.text = text;
  std::error_code failed;
  made.is_folder = fs::is_directory(text, failed);
  const std::string begin = text.ends_with('/') ? std::string() : fs::path(text).filename().string();
  for (fs::directory_iterator at(folder_of(text), failed), end;
       !failed && at != end && made.entries.size() < most_entries; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    const bool hidden = name.starts_with('.') && !begin.starts_with('.');
    if (hidden || !name.starts_with(begin)) continue;
    std::error_code unknown;
    made.entries.push_back({at->path().string(), at->is_directory(unknown)});
  }
  std::sort(made.entries.begin(), made.entries.end(),
            [](const entry& a, const entry& b) { return a.folder != b.folder ? a.folder : a.path < b.path; });
  return made;
}

void path_dialog::read() {
  if (found_.text != text_) reading_.start([text = text_] { return list(text); });
}

void path_dialog::take(const view_context& with, const entry& chosen) {
  if (chosen.folder) {
    text_ = chosen.path + "/";
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
  const bool saves = command_ != opens;
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  const ImVec2 size(std::min(with.px(560), viewport->Size.x - with.px(24)),
                    std::min(with.px(400), viewport->Size.y - with.px(60)));
  ImGui::SetNextWindowPos({viewport->GetCenter().x, viewport->Pos.y + with.px(54)}, ImGuiCond_Always, {0.5F, 0});
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, with.colours.raised);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0F);
  ImGui::Begin(saves ? "Save as###path" : "Open a recording###path", &open_,
               ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoDocking);
  if (focus_) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(-1);
  if (ImGui::InputTextWithHint("##path_text", saves ? "Path of the file, then Enter" : "Path of a recording", &text_,
                               ImGuiInputTextFlags_EnterReturnsTrue))
    entered_ = true;
  if (focus_ && ImGui::IsItemActive()) {
    // The cursor goes to the end: a folder was completed.
    if (ImGuiInputTextState* state = ImGui::GetInputTextState(ImGui::GetItemID())) state->ReloadUserBufAndMoveToEnd();
    focus_ = false;
  }
  ImGui::BeginChild("found");
  const entry* chosen = nullptr;
  for (const entry& each : found_.entries) {
    const std::string name = fs::path(each.path).filename().string() + (each.folder ? "/" : "");
    ImGui::PushID(each.path.c_str());
    if (ImGui::Selectable(label_of(printable(name)).c_str())) {
      // An existing file is not replaced by one click.
      if (saves && !each.folder) {
        text_ = each.path;
        focus_ = true;
      } else {
        chosen = &each;
      }
    }
    ImGui::PopID();
  }
  if (found_.entries.empty() && found_.text == text_ && !saves) ImGui::TextDisabled("No such file or folder.");
  ImGui::EndChild();
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  if (chosen != nullptr) {
    take(with, entry(*chosen));
  } else if (entered_ && found_.text == text_) {
    entered_ = false;
    take(with, {text_, found_.is_folder});
  }
}

}  // namespace sluice::gui
