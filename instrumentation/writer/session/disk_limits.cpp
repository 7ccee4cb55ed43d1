#include "instrumentation/writer/session/disk_limits.hpp"

#include <string>

#include "core/base/format.hpp"

namespace sluice::writer {

using namespace trace;

namespace {
constexpr std::chrono::seconds time_between_attempts{1};
}  // namespace

std::string describe_losses(const dropped_rows& lost, error_code why) {
  return std::string(why == error_code::no_space ? "the disk was full" : "the disk failed") + ": events between " +
         format_moment(lost.begin()) + " and " + format_moment(lost.end()) +
         " are incomplete (lost: " + lost.by_kind() + ")";
}

void disk_limits::keep_limit() {
  const auto now = std::chrono::steady_clock::now();
  if (cannot_cut_ || file_.is_stopped() || now < next_cut_) return;
  const auto kept = rows_.limit().keep_limit();
  if (kept) return;
  if (kept.error().code == error_code::no_space) {
    next_cut_ = now + time_between_attempts;
    return;
  }
  cannot_cut_ = true;
  warnings_.add("the file can no longer be kept to its size limit: " + kept.error().to_string());
}

void disk_limits::resume() {
  if (!file_.is_stopped()) return;
  next_resume_ = std::chrono::steady_clock::now() + time_between_attempts;
  if (const auto stopped = file_.outcome(); !stopped) why_stopped_ = stopped.error().code;
  const auto lost = file_.resume();
  if (!lost) return;
  rows_.resume(*lost);
  losses_.add(*lost);
}

void disk_limits::report_losses() {
  if (!losses_.empty()) warnings_.add(describe_losses(losses_, why_stopped_));
}

}  // namespace sluice::writer
