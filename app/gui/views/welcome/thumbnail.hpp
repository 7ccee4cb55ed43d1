#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/shell/background.hpp"
#include "app/gui/window/theme.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::gui {

/// A small picture of a recording: the memory of one device over the range that the window shows first, and what all
/// devices did in that range.
struct thumbnail {
  query::series memory;  ///< Of the device with the highest memory use, by category. No bands if there is none.
  /// For each of `columns` equal parts of the range, the share in which kernels or copies ran, 0..1.
  std::vector<float> kernels;
  std::vector<float> copies;

  static constexpr std::size_t columns = 120;
};

/// Reads a recording and computes its thumbnail. Blocks; takes milliseconds for a complete recording of any size.
/// Errors: those of `trace::file::open`; invalid_argument for a recording that is still being written, or that was cut
/// short, because it must be summarized first.
[[nodiscard]] result<thumbnail> make_thumbnail(const std::string& path);

/// The thumbnails of several recordings, computed one after the other in the background.
class thumbnails {
 public:
  /// Returns the thumbnail of the recording at `path`; null if it is not computed yet, or cannot be. Call once per frame
  /// for each recording on the screen.
  [[nodiscard]] const thumbnail* find(const std::string& path);
  /// True while thumbnails that `find` was asked for are not computed yet.
  [[nodiscard]] bool reading() const { return reading_.running() || !waiting_.empty(); }

 private:
  void follow();

  std::map<std::string, std::optional<thumbnail>> known_;  ///< None: not computed yet, or an error.
  std::deque<std::string> waiting_;
  background<std::pair<std::string, result<thumbnail>>> reading_;
};

/// Draws a thumbnail into `area`: memory as stacked areas, and below it a line of kernels and a line of copies.
void draw_thumbnail(const thumbnail& subject, const theme& colours, const draw::rectangle& area);

}  // namespace sluice::gui
