#include "app/gui/shell/dialogs/overlays.hpp"

#include "app/gui/shell/bars/opening_progress.hpp"

namespace sluice::gui {

void overlays::draw(const view_context& with) {
  palette_.draw(with);
  help_.draw(with);
  home_.choosers.draw(with);
  home_.recorder.draw_dialogs(with);
  home_.confirmation.draw(with);
  home_.notices.draw(with);
  draw_opening_progress(with, home_.notices.is_shown());
}

bool overlays::any_open() const {
  return palette_.is_open() || help_.is_open() || home_.choosers.is_open() || home_.recorder.dialog_is_open() ||
         home_.confirmation.is_open() || home_.notices.is_shown();
}

bool overlays::close_topmost() {
  return palette_.close() || home_.confirmation.cancel_quit() || help_.close_one() ||
         home_.confirmation.cancel_close() || home_.choosers.close() || home_.recorder.close_dialog() ||
         home_.notices.dismiss();
}

}  // namespace sluice::gui
