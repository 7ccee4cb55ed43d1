#pragma once

#include <algorithm>
#include <optional>

#include "core/trace/model/model.hpp"

/// The peak bandwidth of the link between a device and the host or another device, and the share reached.
namespace sluice::analysis {

/// Returns the link's theoretical one-way peak in bytes/s; 0 if unknown, or if the copy uses no link. `device` and
/// `peer` may be null (unknown). Between two devices the slower peak counts.
[[nodiscard]] inline double link_peak_of(trace::direction way, const trace::device_row* device,
                                         const trace::device_row* peer = nullptr) {
  if (device == nullptr) return 0;
  if (way == trace::direction::h2d || way == trace::direction::d2h) return static_cast<double>(device->link_peak);
  if (way != trace::direction::p2p) return 0;
  return static_cast<double>(peer == nullptr ? device->peer_peak : std::min(device->peer_peak, peer->peer_peak));
}

/// The share of a link's peak that `bandwidth` reaches, both in bytes/s. Nothing if either is unknown (0).
[[nodiscard]] constexpr std::optional<double> link_share(double bandwidth, double peak) {
  if (bandwidth <= 0 || peak <= 0) return std::nullopt;
  return bandwidth / peak;
}

/// What large copies from pinned memory reach of a link's theoretical peak.
inline constexpr double reached_of_link_peak = 0.85;
/// The rate to count with if nothing is known of the link, in bytes/s: PCIe Gen4 x16, as copied in practice.
inline constexpr double usual_link_rate = 25e9;

/// The rate of large copies from pinned memory, in bytes/s: what was measured (`attainable`), else what is usual for the
/// link's peak; 0 if neither is known.
[[nodiscard]] constexpr double rate_in_practice(double attainable, double peak) {
  return attainable > 0 ? attainable : reached_of_link_peak * peak;
}

}  // namespace sluice::analysis
