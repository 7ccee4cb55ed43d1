#include "app/gui/views/chart/chart_layout.hpp"

#include <cmath>

namespace sluice::gui {
namespace {

/// The number of labels that a y axis of this height gets.
int labels_above(float height, const chart_model& model, const chart_metrics& sizes) {
  if (model.y.kind == axis_kind::items) return std::max(1, static_cast<int>(height / std::max(sizes.text, 1.0F)));
  return std::max(3, static_cast<int>(height / sizes.px(44)));
}

bool has_header(const chart_model& model) {
  if (model.legend || model.offers_scales || !model.y.title.empty()) return true;
  return std::any_of(model.marks.begin(), model.marks.end(), [](const chart_mark& mark) {
    return mark.kind == mark_kind::flag || (mark.kind == mark_kind::moment && !mark.label.empty());
  });
}

}  // namespace

std::vector<format::tick> chart_layout::x_ticks(const chart_metrics& sizes) const {
  const float distance = model->x.kind == axis_kind::items ? 64 : model->x.kind == axis_kind::moments ? 110 : 60;
  return model->x.ticks(std::max(2, static_cast<int>(area.width() / sizes.px(distance))));
}

std::vector<format::tick> chart_layout::y_ticks(const chart_metrics& sizes) const {
  return model->y.ticks(labels_above(area.height(), *model, sizes));
}

bool chart_layout::fits(const chart_metrics& sizes) const {
  return area.width() >= sizes.px(40) && area.height() >= sizes.px(model->axes && !model->downward ? 24 : 4);
}

chart_pointer chart_layout::point_at(ImVec2 at, const chart_metrics& sizes) const {
  chart_pointer pointer{x_at(at.x), y_at(at.y)};
  float nearest = sizes.px(8) * sizes.px(8);
  for (std::size_t i = model->series.size(); i-- > 0;) {
    const chart_series& series = model->series[i];
    if (series.look == series_look::dots) {
      for (const chart_point& each : series.points) {
        const float x = to_x(each.begin) - at.x;
        const float y = to_y(each.high) - at.y;
        if (x * x + y * y >= nearest) continue;
        nearest = x * x + y * y;
        pointer.series = i;
        pointer.item = each.item;
      }
      continue;
    }
    if (pointer.series || (series.look != series_look::bars && series.look != series_look::boxes)) continue;
    const auto found = std::find_if(series.points.begin(), series.points.end(), [&](const chart_point& each) {
      return pointer.x >= each.begin && pointer.x < each.end &&
             (series.look == series_look::bars || (pointer.y >= each.low && pointer.y < each.high));
    });
    if (found == series.points.end()) continue;
    pointer.series = i;
    pointer.item = found->item;
  }
  return pointer;
}

chart_layout lay_out(const chart_model& model, ImVec2 corner, ImVec2 size, const chart_metrics& sizes) {
  chart_layout at;
  at.model = &model;
  const float row = sizes.text + sizes.px(6);
  at.header = (has_header(model) ? row : 0) + (model.offers_scales ? row : 0);
  if (!model.axes) {
    at.area = {{std::floor(corner.x), std::floor(corner.y + at.header)},
               {std::floor(corner.x + size.x), std::floor(corner.y + size.y - 1)}};
    return at;
  }
  // The highest label is centred on its line, which may be the edge of the area.
  const float above = at.header > 0 ? at.header : model.downward ? 0 : sizes.px(8);
  at.area = {{std::floor(corner.x), std::floor(corner.y + above)},
             {std::floor(corner.x + size.x - sizes.px(8)), std::floor(corner.y + size.y - sizes.text - sizes.px(8))}};
  float labels = std::max(sizes.measure(model.y.title), sizes.measure(model.x.title));
  for (const format::tick& each : at.y_ticks(sizes)) labels = std::max(labels, sizes.measure(each.label));
  if (labels > 0) at.area.min.x = std::floor(corner.x + labels + sizes.px(8));
  return at;
}

}  // namespace sluice::gui
