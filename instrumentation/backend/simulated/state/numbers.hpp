#pragma once

#include <cstdint>

/// Error numbers and keys used by the simulated driver.
namespace sluice::backend {

/// Error numbers, with the same values as in CUresult.
inline constexpr int native_invalid = 1;
inline constexpr int native_out_of_memory = 2;
inline constexpr int native_illegal_state = 401;
inline constexpr int native_illegal_address = 700;
inline constexpr int native_unsupported = 900;  ///< The call is not allowed during a capture, which it invalidates.
inline constexpr int native_invalidated = 901;
inline constexpr int native_merge = 902;
inline constexpr int native_unmatched = 903;
inline constexpr int native_unjoined = 904;
inline constexpr int native_isolation = 905;
inline constexpr int native_implicit = 906;
inline constexpr int native_captured_event = 907;
inline constexpr int native_wrong_thread = 908;
inline constexpr int native_update_failure = 910;

/// Keys in records: the bases of graph keys and of node keys, and the key of a device's default pool.
inline constexpr std::uint64_t graph_keys = 0x6700'0000'0000;
inline constexpr std::uint64_t node_keys = 0x6e00'0000'0000;
inline constexpr std::uint64_t default_pool = 1;

[[nodiscard]] inline std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

}  // namespace sluice::backend
