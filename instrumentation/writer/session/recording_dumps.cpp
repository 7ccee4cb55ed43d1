#include "instrumentation/writer/session/recording_dumps.hpp"

namespace sluice::writer {

namespace {
constexpr int max_dumps = 16;
}  // namespace

/// Copies the recording so far to the next free name. Returns that name.
result<std::string> recording_dumps::write_copy() {
  std::string name = file_.path();
  if (name.ends_with(".sluice")) name.resize(name.size() - 7);
  name += "-dump" + std::to_string(++count_) + ".sluice";
  rows_.settle(true);
  rows_.write_live_set();
  if (const auto written = file_.copy_to(name); !written) return tl::unexpected<error>(written.error());
  return name;
}

void recording_dumps::write(const std::string& reason) {
  const auto written = write_copy();
  warnings_.add(reason + ": " + (written ? "the recording up to then is in " + *written : written.error().to_string()));
}

void recording_dumps::consider() {
  const std::string reason = rows_.take_trigger();
  if (reason.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  if (count_ >= max_dumps || now - last_ < std::chrono::seconds(1)) return;
  last_ = now;
  write(reason);
}

void recording_dumps::save_failure() {
  if (!failure_unsaved_ || !rows_.limit().will_cut()) return;
  failure_unsaved_ = false;
  if (count_ >= max_dumps) return;
  const auto written = write_copy();
  if (written) {
    failure_dumps_.push_back(*written);
  } else {
    warnings_.add("the recording up to an allocation failure is lost: " + written.error().to_string());
  }
}

}  // namespace sluice::writer
