#include "app/gui/views/idle/gap_text.hpp"

namespace sluice::gui {
namespace {

/// Samples say more than the cause only where the program's own code, or a launch, took the time. A call that waits for
/// the GPU already says why.
bool says_more(metrics::gap_cause cause, const query::gap_words& words) {
  using metrics::gap_cause;
  const bool open = cause == gap_cause::host || cause == gap_cause::launch || cause == gap_cause::loading ||
                    cause == gap_cause::data || cause == gap_cause::compilation;
  return open && words.reason != metrics::host_reason::unsampled;
}

}  // namespace

std::string describe_cause(metrics::gap_cause cause, std::string_view call, const std::string& place, bool is_next) {
  std::string words{metrics::get_words(cause)};
  if (!call.empty()) words += " (" + std::string(call) + ")";
  if (place.empty()) return words;
  return words + (is_next && call.empty() ? ", before " : ", at ") + place;
}

std::string describe_samples(const query::gap_words& words) {
  if (words.reason == metrics::host_reason::unsampled) return {};
  std::string text{metrics::get_words(words.reason)};
  if (!words.library.empty()) text += " (" + words.library + ")";
  return text;
}

std::string describe_gap(metrics::gap_cause cause, std::string_view call, const query::gap_words& words) {
  if (!says_more(cause, words)) return describe_cause(cause, call, words.place, words.place_is_next);
  std::string text = describe_samples(words);
  if (cause == metrics::gap_cause::launch) text = std::string(metrics::get_words(cause)) + ": " + text;
  if (!words.place.empty()) text += (words.place_is_next ? ", before " : ", at ") + words.place;
  return text;
}

std::string make_gap_label(metrics::gap_cause cause, const query::gap_words& words) {
  if (says_more(cause, words)) {
    if (!words.library.empty()) return words.library;
    if (!metrics::is_catch_all(words.reason)) return std::string(metrics::get_words(words.reason));
    if (!words.place.empty()) return words.place;
  }
  return std::string(metrics::get_words(cause));
}

}  // namespace sluice::gui
