#pragma once

#include <cstdint>

/// Numbers that the simulated driver gives out.
namespace sluice::backend {

/// Of results, as CUresult has them.
inline constexpr int native_invalid = 1;
inline constexpr int native_out_of_memory = 2;
inline constexpr int native_illegal_state = 401;
inline constexpr int native_illegal_address = 700;
inline constexpr int native_unsupported = 900;  ///< A call breaks a capture because captures do not take it.
inline constexpr int native_invalidated = 901;
inline constexpr int native_merge = 902;
inline constexpr int native_unmatched = 903;
inline constexpr int native_unjoined = 904;
inline constexpr int native_isolation = 905;
inline constexpr int native_implicit = 906;
inline constexpr int native_captured_event = 907;
inline constexpr int native_wrong_thread = 908;
inline constexpr int native_update_failure = 910;

/// Of graphs and their nodes in records, and of a device's default pool.
inline constexpr std::uint64_t graph_keys = 0x6700'0000'0000;
inline constexpr std::uint64_t node_keys = 0x6e00'0000'0000;
inline constexpr std::uint64_t default_pool = 1;

[[nodiscard]] inline std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

}  // namespace sluice::backend
