#pragma once

/// The names by which the loader finds libcupti where no file of it is known, best first.
namespace sluice::capture {

inline constexpr const char* cupti_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

}  // namespace sluice::capture
