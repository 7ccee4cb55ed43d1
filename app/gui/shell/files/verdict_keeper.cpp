#include "app/gui/shell/files/verdict_keeper.hpp"

#include "core/remote/address.hpp"

namespace sluice::gui {

void verdict_keeper::follow() {
  if (auto read = reading_.take()) settings_.remember_verdict(read->first, read->second);
  document* shown = session_.active();
  const document_id subject = shown == nullptr ? document_id::none : shown->id;
  if (asked_ != subject) report_ = {};
  asked_ = subject;
  if (shown == nullptr || !shown->ready() || shown->live || subject == kept_ || reading_.running()) return;
  if (!settings_.is_recent(shown->path)) return;
  const auto report = report_.ask(*shown->engine, {});
  if (!report.complete || !report) return;
  kept_ = subject;
  recent_verdict verdict{{}, recordings::make_verdict_line(*report.value)};
  if (verdict.line.text.empty()) return;
  reading_.start([path = shown->path, verdict]() mutable {
    verdict.file = remote::is_address(path) ? recordings::file_state{true} : recordings::read_state(path);
    return std::pair(path, verdict);
  });
}

}  // namespace sluice::gui
