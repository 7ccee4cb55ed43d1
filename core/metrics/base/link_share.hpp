#pragma once

#include <algorithm>
#include <optional>

#include "core/trace/model/model.hpp"

/// The peak bandwidth of the link between a device and the host or another device, and the share of that peak that
/// copies reach.
namespace sluice::metrics {

/// Returns the link's theoretical peak in one direction, in bytes per second; 0 if the peak is unknown or the copy uses
/// no link. `device` and `peer` are null if unknown. Between two devices, the lower of the two peaks counts.
[[nodiscard]] inline double find_link_peak(trace::direction way, const trace::device_row* device,
                                           const trace::device_row* peer = nullptr) {
  if (device == nullptr) return 0;
  if (way == trace::direction::h2d || way == trace::direction::d2h) return static_cast<double>(device->link_peak);
  if (way != trace::direction::p2p) return 0;
  return static_cast<double>(peer == nullptr ? device->peer_peak : std::min(device->peer_peak, peer->peer_peak));
}

/// Returns `bandwidth` (bytes per second) as a share of the link's `peak`; nothing if either is unknown (0).
[[nodiscard]] constexpr std::optional<double> link_share(double bandwidth, double peak) {
  if (bandwidth <= 0 || peak <= 0) return std::nullopt;
  return bandwidth / peak;
}

/// The share of a link's theoretical peak that large copies from pinned memory usually reach.
inline constexpr double reached_of_link_peak = 0.85;
/// The rate to assume if nothing is known about the link, in bytes per second. This is the rate that PCIe Gen4 x16
/// reaches in practice.
inline constexpr double usual_link_rate = 25e9;

/// Returns the rate of large copies from pinned memory, in bytes per second. This is the measured rate (`attainable`)
/// if there is one, else the usual share of the link's peak; 0 if neither is known.
[[nodiscard]] constexpr double rate_in_practice(double attainable, double peak) {
  return attainable > 0 ? attainable : reached_of_link_peak * peak;
}

}  // namespace sluice::metrics
