#include "app/gui/shell/files/file_choosers.hpp"

#include <filesystem>

#include "portable_file_dialogs.h"

namespace sluice::gui {

struct file_choosers::file_dialog {
  pfd::open_file dialog;
};

struct file_choosers::folder_dialog {
  pfd::select_folder dialog;
};

/// The folder of the file that was opened last.
std::string file_choosers::last_folder() const {
  std::error_code failed;
  for (const std::string& path : settings_.recent()) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (std::filesystem::is_directory(folder, failed)) return folder.string();
  }
  return {};
}

void file_choosers::type_path() {
  constexpr std::size_t max_recent_paths = 5;
  std::vector<std::string> recent = settings_.recent();
  if (recent.size() > max_recent_paths) recent.resize(max_recent_paths);
  paths_.open(last_folder(), recent);
}

void file_choosers::choose_recordings() {
  if (around_.choose_file) return around_.choose_file();
  if (!pfd::settings::available()) return type_path();
  // A dialog that is already open may be behind the window and cannot be raised, so it is replaced by a new one, which
  // comes to the front.
  if (recordings_dialog_) recordings_dialog_->dialog.kill();
  recordings_dialog_ = std::make_shared<file_dialog>(file_dialog{
      pfd::open_file("Open a recording", last_folder(), {"Recordings", recording_patterns, "All files", "*"})});
}

std::vector<std::string> file_choosers::take_recordings() {
  if (!recordings_dialog_ || !recordings_dialog_->dialog.ready(0)) return {};
  std::vector<std::string> chosen = recordings_dialog_->dialog.result();
  recordings_dialog_.reset();
  return chosen;
}

void file_choosers::choose_source_folder() {
  if (sources_dialog_) return;
  if (!pfd::settings::available())
    return notices_.say(
        "No dialog for choosing a folder is installed on this machine: install zenity or kdialog, or start the window "
        "with `sluice FILE --sources-from FOLDER`");
  sources_dialog_ =
      std::make_shared<folder_dialog>(folder_dialog{pfd::select_folder("Folder with sources and symbols", "")});
}

std::optional<std::string> file_choosers::take_source_folder() {
  if (!sources_dialog_ || !sources_dialog_->dialog.ready(0)) return std::nullopt;
  const std::string chosen = sources_dialog_->dialog.result();
  sources_dialog_.reset();
  if (chosen.empty()) return std::nullopt;
  return chosen;
}

void file_choosers::ask_where_to_save(const std::string& name, const std::string& command) {
  const std::string& folder = around_.saves_to;
  if (folder.empty()) return paths_.save(last_folder(), name, command);
  commands_.invoke(command, (std::filesystem::path(folder) / std::filesystem::path(name).filename()).string());
}

bool file_choosers::close() {
  const bool was_open = paths_.is_open();
  paths_.close();
  return was_open;
}

}  // namespace sluice::gui
