#pragma once

#include <array>
#include <vector>

#include "app/gui/views/parts/view.hpp"
#include "core/metrics/report/report.hpp"
#include "core/metrics/verdict/run_change.hpp"
#include "core/metrics/verdict/setting_changes.hpp"

namespace sluice::gui {

/// The reports of both sides, and the documents that they are about. All must outlive the call.
struct finding_side {
  const metrics::report& report;
  document_id document = document_id::none;
};

/// Draws the findings that are gone, new, and in both. A click goes to the finding's time in its recording.
void draw_changed_findings(const view_context& with, const finding_side& before, const finding_side& after,
                           const metrics::run_change& change);

/// Draws what else differs: command line, devices, processes.
void draw_settings(const view_context& with, const std::vector<metrics::setting_change>& settings);

}  // namespace sluice::gui
