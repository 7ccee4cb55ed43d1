#pragma once

/// The names by which the loader finds libcupti if its path is unknown, best first.
namespace sluice::capture {

inline constexpr const char* cupti_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

}  // namespace sluice::capture
