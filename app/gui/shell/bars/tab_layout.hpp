#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/shell/documents.hpp"

/// How the tabs of recordings fit into a bar. Does not draw, so that tests need no display.
namespace sluice::gui {

/// The titles of the tabs.
class tab_titles {
 public:
  explicit tab_titles(const documents& session) : session_(session) {}
  /// The document's title without ".sluice".
  [[nodiscard]] std::string get(document_id which) const;
  /// Both titles with `between` in the middle, such as "before and after".
  [[nodiscard]] std::string get(compared_documents which, std::string_view between) const;

 private:
  const documents& session_;
};

/// A tab that is drawn: its number, and its width in pixels.
struct placed_tab {
  std::size_t tab = 0;
  float width = 0;
};

struct tab_layout {
  std::vector<placed_tab> tabs;  ///< In order.
  bool lists_others = false;     ///< Some tabs have no room: a list shows all of them.
};

/// Places tabs in `room` pixels. If the `natural` widths do not fit, the widest tabs shrink first, to `least` pixels at
/// least. If that is not enough, only the neighbours of the tab in front are drawn, and a button of `list` pixels is
/// needed to show the others. Draws at least the tab in front. O(tabs log tabs).
[[nodiscard]] tab_layout lay_out_tabs(std::span<const float> natural, float room, float least, float list,
                                      std::size_t front);

/// `text` shortened to `width` with an ellipsis in its middle, because names of recordings often differ only at their
/// ends. `measure` returns the width of a text.
[[nodiscard]] std::string cut_middle(std::string_view text, float width,
                                     const std::function<float(std::string_view)>& measure);

}  // namespace sluice::gui
