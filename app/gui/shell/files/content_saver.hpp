#pragma once

#include <optional>
#include <string>
#include <utility>

#include "app/gui/shell/background.hpp"
#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/files/file_choosers.hpp"
#include "app/gui/shell/table_choice.hpp"
#include "app/gui/views/parts/notice_bar.hpp"

namespace sluice::gui {

/// A request for a picture of the window's next frame, or of a part of it.
struct picture_request {
  std::string path;  ///< Path of the picture; empty: no picture is requested.
  ImVec2 min{};      ///< Corners of the part, in ImGui's units; empty: the whole window.
  ImVec2 max{};
};

/// Copies and saves the content of panels: tables, texts and pictures. Needs the objects that it gets, which must
/// outlive this object and the commands.
class content_saver {
 public:
  content_saver(const documents& session, file_choosers& choosers, notice_bar& notices)
      : session_(session), choosers_(choosers), notices_(notices) {}

  void add_commands(command_registry& commands);
  /// Chooses the tables that handle the requests of this frame. Only tables drawn in the last frame can be chosen. Call
  /// after the queued commands have run.
  void choose_tables(const command_registry& commands);
  /// Reports when a file has been written. Call once per frame.
  void follow();
  /// True while a file is being written.
  [[nodiscard]] bool saving() const { return saving_.running(); }

  [[nodiscard]] table_requests& tables() { return tables_; }
  /// The panel to copy as text when it is next drawn; empty: none.
  [[nodiscard]] const std::string& panel_to_copy() const { return panel_to_copy_; }
  /// Call after the panels have been drawn.
  void forget_panel_to_copy() { panel_to_copy_.clear(); }
  /// Returns the picture that the user requested, once.
  [[nodiscard]] picture_request take_picture() { return std::exchange(picture_, {}); }

 private:
  void ask_for_picture_of(const std::string& panel);
  void ask_for_file_of(const table_text& table);
  void save_table(const std::string& path);
  /// The active document's name, on which the names of saved files are based.
  [[nodiscard]] std::string name_to_save() const;

  const documents& session_;
  file_choosers& choosers_;
  notice_bar& notices_;
  table_requests tables_;
  picture_request picture_;
  std::string panel_to_save_;  ///< The panel to save as a picture once a path is chosen.
  std::string panel_to_copy_;
  std::string table_to_save_;  ///< The CSV to save once a path is chosen.
  background<result<std::string>> saving_;
};

}  // namespace sluice::gui
