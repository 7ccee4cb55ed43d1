#pragma once

#include <cstdint>

/// How much of a copy's data its `content_hash` covers. The limits keep the time to hash a copy at microseconds,
/// whatever its size.
namespace sluice::trace {

/// A copy of at most this many bytes is hashed completely (`content_check::exact`); a larger copy is sampled.
inline constexpr std::uint64_t whole_content_limit = std::uint64_t{32} << 10;
/// Total size of the samples of one copy, in bytes.
inline constexpr std::uint64_t sampled_content_bytes = std::uint64_t{16} << 10;
/// If all samples are zero, this many more bytes of the copy are read, in pieces spread evenly over it. If they are all
/// zero, too, the hash stays that of the samples; otherwise, the first nonzero value is hashed as well.
inline constexpr std::uint64_t zero_content_limit = std::uint64_t{4} << 20;

}  // namespace sluice::trace
