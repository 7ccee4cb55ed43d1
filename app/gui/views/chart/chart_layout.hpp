#pragma once

#include <functional>
#include <string_view>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/chart/chart_model.hpp"

/// Where the parts of a chart are on the screen. Needs no display.
namespace sluice::gui {

/// Sizes that depend on the display.
struct chart_metrics {
  float scale = 1;                                   ///< Pixels per design pixel.
  float text = 12;                                   ///< Height of text in pixels.
  std::function<float(std::string_view)> measure{};  ///< The width of text in pixels.

  [[nodiscard]] float px(float design_pixels) const {
    return static_cast<float>(static_cast<int>(design_pixels * scale + 0.5F));
  }
};

/// The area in which the values of a chart are drawn. Its model must outlive it.
struct chart_layout {
  draw::rectangle area{};
  const chart_model* model = nullptr;
  float header = 0;  ///< Height of the rows above the area, for the choice of the scale, labels and the legend.

  [[nodiscard]] float to_x(double value) const {
    return area.min.x + static_cast<float>(model->x.to_share(value)) * area.width();
  }
  [[nodiscard]] float to_y(double value) const {
    const auto share = static_cast<float>(model->y.to_share(value));
    return model->downward ? area.min.y + share * area.height() : area.max.y - share * area.height();
  }
  [[nodiscard]] double x_at(float x) const {
    return model->x.to_value(static_cast<double>((x - area.min.x) / std::max(area.width(), 1.0F)));
  }
  [[nodiscard]] double y_at(float y) const {
    const auto share = static_cast<double>((area.max.y - y) / std::max(area.height(), 1.0F));
    return model->y.to_value(model->downward ? 1 - share : share);
  }
  /// The labelled positions of the axes, as many as there is space for.
  [[nodiscard]] std::vector<format::tick> x_ticks(const chart_metrics& sizes) const;
  [[nodiscard]] std::vector<format::tick> y_ticks(const chart_metrics& sizes) const;
  /// False if the area is too small to draw anything in it.
  [[nodiscard]] bool fits(const chart_metrics& sizes) const;
  /// What is at a point of the screen: the front-most bar or box there, or the nearest dot. O(points).
  [[nodiscard]] chart_pointer point_at(ImVec2 at, const chart_metrics& sizes) const;
};

/// Places a chart in a rectangle: labels of the y axis on the left, those of the x axis below, and above the area a row
/// for labels, legend and titles if the chart has any.
[[nodiscard]] chart_layout lay_out(const chart_model& model, ImVec2 corner, ImVec2 size, const chart_metrics& sizes);

}  // namespace sluice::gui
