#include "app/gui/views/memory_over_time/time_flags.hpp"

namespace sluice::gui {

void add_flags(chart_model& model, const view_context& with, const metrics::report& whole_report,
               const metrics::memory_peak& peak) {
  model.marks.push_back({.kind = mark_kind::flag,
                         .at = model.x.place(peak.time),
                         .label = "peak " + format_bytes(peak.bytes),
                         .colour = with.colours.text,
                         .click = [&] { go_to_moment(with, whole_report, peak.time); }});
  for (const metrics::failed_allocation& each : whole_report.failures) {
    if (each.device != peak.device) continue;
    model.marks.push_back({.kind = mark_kind::flag,
                           .at = model.x.place(each.time),
                           .label = "failed: " + format_bytes(each.bytes),
                           .colour = with.colours.failure,
                           .click = [&] {
                             go_to_moment(with, whole_report, each.time);
                             with.commands.invoke(
                                 "selection.set",
                                 selection{with.state.active()->id, selection_kind::event, trace::raw(each.event)});
                           }});
  }
}

}  // namespace sluice::gui
