#pragma once

#include <cstdint>

/// How much of a copy's bytes its `content_hash` stands for. Chosen so that a hash takes microseconds, whatever the size.
namespace sluice::trace {

/// Copies of at most this many bytes are hashed completely (`content_check::exact`), larger ones by samples.
inline constexpr std::uint64_t whole_content_limit = std::uint64_t{32} << 10;
/// Bytes of all samples of one copy.
inline constexpr std::uint64_t sampled_content_bytes = std::uint64_t{16} << 10;
/// If all samples are zero, this much of the copy is read as well, in pieces spread evenly over it. If that is zero, too,
/// the hash stays that of the samples; otherwise the first value goes into it.
inline constexpr std::uint64_t zero_content_limit = std::uint64_t{4} << 20;

}  // namespace sluice::trace
