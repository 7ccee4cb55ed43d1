#include "core/metrics/report/finding.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/base/format.hpp"

namespace sluice::metrics {

std::string saving_in_words(const saving& subject) {
  if (subject.basis == saving_basis::none || subject.share <= 0) return {};
  const std::string share = format_share(subject.share);
  const std::string_view method = subject.basis == saving_basis::modelled ? ", estimated" : "";
  if (subject.time > 0)
    return fmt::format("Saves up to {} ({} of the time after start-up{}).", format_time(subject.time), share, method);
  if (subject.peak_bytes > 0)
    return fmt::format("Saves up to {} of the peak ({}{}).", format_bytes(subject.peak_bytes), share, method);
  if (subject.reserved_bytes > 0 && subject.bytes_error > 0)
    return fmt::format("Saves {} to {} of reserved memory ({}, by a replay of the requests).",
                       format_bytes(subject.reserved_bytes - std::min(subject.bytes_error, subject.reserved_bytes)),
                       format_bytes(subject.reserved_bytes + subject.bytes_error), share);
  if (subject.reserved_bytes > 0)
    return fmt::format("Saves up to {} of reserved memory ({}{}).", format_bytes(subject.reserved_bytes), share,
                       method);
  return {};
}

}  // namespace sluice::metrics
