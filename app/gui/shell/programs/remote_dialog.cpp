#include "app/gui/shell/programs/remote_dialog.hpp"

#include <algorithm>
#include <utility>

#include "app/gui/views/parts/dialog_window.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/processes/command_line.hpp"
#include "core/base/printable.hpp"
#include "core/remote/ssh_address.hpp"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

constexpr std::size_t max_recent_remote = 5;

void labelled(const view_context& with, const char* text) {
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("%s", text);
  ImGui::SameLine(with.px(96));
  ImGui::SetNextItemWidth(-1);
}

/// Percent-encodes what has a meaning in an address.
std::string encode_path(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == '%') text += "%25";
    if (c != '%') text += c;
  }
  return text;
}

}  // namespace

remote_recording plan_remote(const std::string& host, const std::string& command, const std::string& file) {
  remote_recording plan;
  if (host.empty()) return {{}, {}, "Enter the machine, as for ssh: [USER@]HOST."};
  if (file.empty()) return {{}, {}, "Enter where the recording goes there."};
  plan.address = std::string(remote::ssh_scheme) + host + (file.starts_with('/') ? "" : "/~/") + encode_path(file);
  if (const auto parsed = remote::parse_ssh_address(plan.address); !parsed)
    return {{}, {}, printable(parsed.error().to_string())};
  const auto words = processes::split_words(command);
  if (!words) return {{}, {}, printable(words.error().to_string())};
  if (words->empty()) return plan;
  std::vector<std::string> there = {"sluice", "record", "-o", file, "--"};
  there.insert(there.end(), words->begin(), words->end());
  plan.record = processes::joined_words({"ssh", "-t", host, processes::joined_words(there)});
  return plan;
}

void remote_dialog::open(const std::string& command) {
  open_ = focus_ = true;
  if (!command.empty()) command_ = command;
}

bool remote_dialog::close() { return std::exchange(open_, false); }

void remote_dialog::draw(const view_context& with, const settings& remembered) {
  if (!open_) return;
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  const float width = std::min(with.px(640), viewport->Size.x - with.px(24));
  ImGui::SetNextWindowSizeConstraints({width, 0}, {width, viewport->Size.y - with.px(40)});
  if (begin_dialog(with, "Record on another machine", &open_)) {
    make_modal(with);
    draw_fields(with);
    draw_recent(with, remembered);
  }
  end_dialog();
}

void remote_dialog::draw_fields(const view_context& with) {
  labelled(with, "Machine");
  if (std::exchange(focus_, false)) ImGui::SetKeyboardFocusHere();
  ImGui::InputTextWithHint("##host", "user@gpu-server", &host_);
  labelled(with, "Program");
  ImGui::InputTextWithHint("##command", "python train.py --steps 100", &command_);
  labelled(with, "Recording");
  ImGui::InputTextWithHint("##file", "run.sluice, in the home folder there", &file_);
  const remote_recording plan = plan_remote(host_, command_, file_);
  ImGui::Spacing();
  ImGui::PushTextWrapPos(0);
  if (!plan.problem.empty()) {
    ImGui::TextDisabled("%s", plan.problem.c_str());
  } else {
    ImGui::TextUnformatted("1. Record there (Sluice must be installed on that machine). In a terminal:");
    const std::string line = plan.record.empty() ? "enter the program above" : printable(plan.record);
    ImGui::TextDisabled("%s", line.c_str());
    ImGui::BeginDisabled(plan.record.empty());
    if (ImGui::Button("Copy the command")) ImGui::SetClipboardText(plan.record.c_str());
    ImGui::EndDisabled();
    ImGui::TextUnformatted("2. Open the recording from here, also while it grows. Only what is shown is sent:");
    ImGui::TextDisabled("%s", printable(plan.address).c_str());
  }
  ImGui::PopTextWrapPos();
  ImGui::BeginDisabled(!plan.problem.empty());
  if (ImGui::Button("Open it")) {
    with.commands.invoke("file.open_path", plan.address);
    open_ = false;
  }
  ImGui::EndDisabled();
  ImGui::SameLine();
  if (ImGui::Button("Cancel")) open_ = false;
}

void remote_dialog::draw_recent(const view_context& with, const settings& remembered) {
  std::vector<std::string> recent;
  for (const std::string& path : remembered.recent())
    if (path.starts_with(remote::ssh_scheme) && recent.size() < max_recent_remote) recent.push_back(path);
  if (recent.empty()) return;
  heading(with, "Opened before");
  for (const std::string& path : recent)
    if (ImGui::Selectable(make_label(printable(path)).c_str())) {
      with.commands.invoke("file.open_path", path);
      open_ = false;
    }
}

}  // namespace sluice::gui
