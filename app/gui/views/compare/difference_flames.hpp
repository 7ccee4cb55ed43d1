#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/parts/view.hpp"
#include "app/gui/views/stacks/flames.hpp"
#include "core/metrics/comparison/comparison.hpp"

namespace sluice::gui {

/// A flame graph of two sides' memory at the peak. The width of a box corresponds to the larger of the two sides. Red
/// boxes have grown, blue boxes have shrunk, grey boxes are unchanged.
class difference_flames {
 public:
  /// Draws the tree `tree`, which must remain valid as long as `keeps` exists.
  void draw(view_context& with, const metrics::difference_tree& tree, const std::shared_ptr<const void>& keeps);

  /// The colour of a box whose bytes changed from `before` to `after`. For tests.
  [[nodiscard]] static ImU32 choose_colour(const theme& colours, std::uint64_t before, std::uint64_t after);

 private:
  struct drawn_state {
    const metrics::difference_tree* tree = nullptr;
    std::shared_ptr<const void> keeps;
    std::uint32_t zoom = 0;
    float width = 0;
    float scale = 0;
    theme_kind theme = theme_kind::dark;
    friend bool operator==(const drawn_state&, const drawn_state&) = default;
  };
  void draw_path(const view_context& with, const metrics::difference_tree& tree);
  void upload(const view_context& with, const metrics::difference_tree& tree);
  void draw_labels(const view_context& with, const metrics::difference_tree& tree, const draw::rectangle& area,
                   ImDrawList& list) const;
  void hover(const view_context& with, const metrics::difference_tree& tree, const draw::rectangle& area,
             ImDrawList& list, bool clicked);
  [[nodiscard]] draw::rectangle get_place(const view_context& with, const draw::rectangle& area,
                                          const flame& each) const;

  std::uint32_t zoom_ = 0;  ///< The node that fills the whole width.
  std::vector<flame> flames_;
  std::uint32_t rows_ = 0;
  draw::box_batch batch_;
  drawn_state drawn_;
};

/// The colours of growth and shrinkage: vermilion and blue, which people with any kind of colour vision can
/// distinguish. Both are light enough that text on them is legible.
[[nodiscard]] inline ImU32 colour_of_more(const theme& colours) {
  return colours.directions[static_cast<std::size_t>(trace::direction::p2p)];
}
[[nodiscard]] inline ImU32 colour_of_less(const theme& colours) {
  return colours.directions[static_cast<std::size_t>(trace::direction::h2d)];
}

/// Describes a change: "+12.0 MiB (+8 %)", "-3.00 MiB (gone)", "new", "unchanged".
[[nodiscard]] std::string change_words(double before, double after, const std::string& amount);

}  // namespace sluice::gui
