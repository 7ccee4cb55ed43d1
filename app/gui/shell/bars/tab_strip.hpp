#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/documents.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// The tabs of the open recordings and comparisons. A click brings one to the front, a middle click or its cross closes
/// it, "+" opens another recording, and "Compare with..." compares the one in front with another. Needs `session`, which
/// must outlive this object.
class tab_strip {
 public:
  explicit tab_strip(documents& session) : session_(session) {}

  /// Draws the tabs from the cursor on, at most `room` pixels wide.
  void draw(const view_context& with, float room);

 private:
  /// A document or, if `compared` is set, a comparison.
  struct tab {
    document_id document = document_id::none;
    std::optional<compared_documents> compared{};
    std::string title;
    std::string about;  ///< The tooltip.
    bool front = false;
  };
  [[nodiscard]] std::vector<tab> list_tabs() const;
  void draw_tab(const view_context& with, const tab& which, float width);
  void draw_list(const std::vector<tab>& tabs);
  void draw_buttons(const view_context& with, bool narrow);
  void show(const tab& which);
  void close(const view_context& with, const tab& which);

  documents& session_;
};

}  // namespace sluice::gui
