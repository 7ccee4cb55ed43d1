#pragma once

#include <algorithm>
#include <optional>

#include "core/trace/model/model.hpp"

/// How fast the link between a device and the host, or another device, can be, and what share of that was reached.
namespace sluice::analysis {

/// The link's theoretical peak in bytes/s, one way; 0: not known, or the copy goes over no link. `device`, `peer`: null if not known. Between
/// devices the slower one counts.
[[nodiscard]] inline double link_peak_of(trace::direction way, const trace::device_row* device,
                                         const trace::device_row* peer = nullptr) {
  if (device == nullptr) return 0;
  if (way == trace::direction::h2d || way == trace::direction::d2h) return static_cast<double>(device->link_peak);
  if (way != trace::direction::p2p) return 0;
  return static_cast<double>(peer == nullptr ? device->peer_peak : std::min(device->peer_peak, peer->peer_peak));
}

/// The share of a link's peak that `bandwidth` reaches, both in bytes/s. Nothing if either is not known.
[[nodiscard]] constexpr std::optional<double> link_share(double bandwidth, double peak) {
  if (bandwidth <= 0 || peak <= 0) return std::nullopt;
  return bandwidth / peak;
}

}  // namespace sluice::analysis
