#include "core/import/chrome/scan.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sluice::importing {
namespace {

constexpr std::size_t block_bytes = 64;

/// Masks with one bit for each byte of a block.
struct block_masks {
  std::uint64_t quotes = 0, backslashes = 0, opens = 0, closes = 0;
};

#ifdef __SSE2__
block_masks get_masks(const char* at) {
  block_masks masks;
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  // This bit maps '[' to '{' and ']' to '}', and no other character to these.
  const __m128i lower = _mm_set1_epi8(0x20);
  const __m128i open = _mm_set1_epi8('{');
  const __m128i close = _mm_set1_epi8('}');
#pragma GCC unroll 4
  for (unsigned i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * i));
    const __m128i folded = _mm_or_si128(bytes, lower);
    const auto bits = [i](__m128i equal) {
      return static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(equal))) << (16 * i);
    };
    masks.quotes |= bits(_mm_cmpeq_epi8(bytes, quote));
    masks.backslashes |= bits(_mm_cmpeq_epi8(bytes, backslash));
    masks.opens |= bits(_mm_cmpeq_epi8(folded, open));
    masks.closes |= bits(_mm_cmpeq_epi8(folded, close));
  }
  return masks;
}
#else
block_masks get_masks(const char* at) {
  block_masks masks;
  for (unsigned i = 0; i < block_bytes; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    const char byte = at[i];
    if (byte == '"') masks.quotes |= bit;
    if (byte == '\\') masks.backslashes |= bit;
    if (byte == '{' || byte == '[') masks.opens |= bit;
    if (byte == '}' || byte == ']') masks.closes |= bit;
  }
  return masks;
}
#endif

/// Replaces each bit by the exclusive or of all bits up to it. Given the quotes, the bits from an opening quote up to
/// the byte before its closing quote are set.
std::uint64_t prefix_xor(std::uint64_t bits) {
#pragma GCC unroll 6
  for (unsigned step = 1; step < 64; step *= 2) bits ^= bits << step;
  return bits;
}

/// Like std::popcount, which is a function call on targets without a guaranteed instruction.
std::uint64_t ones_in(std::uint64_t bits) {
  bits -= bits >> 1 & 0x5555'5555'5555'5555;
  bits = (bits & 0x3333'3333'3333'3333) + (bits >> 2 & 0x3333'3333'3333'3333);
  return ((bits + (bits >> 4)) & 0x0f0f'0f0f'0f0f'0f0f) * 0x0101'0101'0101'0101 >> 56;
}

/// True for the characters that may follow a string.
constexpr std::array<bool, 256> may_follow = [] {
  std::array<bool, 256> table{};
  for (const char c : {',', ':', '}', ']', ' ', '\n', '\r', '\t'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

class scanner {
 public:
  explicit scanner(std::vector<std::size_t>* ends) : ends_(ends) {}

  /// Scans a block. Returns false at the end of the array or at an invalid byte.
  bool take(const char* block, std::size_t offset) {
    block_masks masks = get_masks(block);
    if ((masks.backslashes | escape_) != 0) masks.quotes &= ~escaped(masks.backslashes);
    const std::uint64_t strings = prefix_xor(masks.quotes) ^ in_string_;
    if (!closes_well(block, masks.quotes & ~strings)) {
      // Brackets before the bad quote are valid.
      const std::uint64_t before = first_bad_ - 1;
      if (walk(block, masks.opens & ~strings & before, masks.closes & ~strings & before, offset)) piece.broken = true;
      return false;
    }
    in_string_ = std::uint64_t{0} - (strings >> 63);
    masks.opens &= ~strings;
    masks.closes &= ~strings;
    const auto closes = ones_in(masks.closes);
    if (depth_ > closes) {  // No element can end in this block.
      depth_ += ones_in(masks.opens) - closes;
      return true;
    }
    return walk(block, masks.opens, masks.closes, offset);
  }

  array_piece piece;

 private:
  /// True if each of these closing quotes is followed by a valid character. The last byte is checked with the next
  /// block.
  bool closes_well(const char* block, std::uint64_t closing) {
    if (std::exchange(closed_last_, closing >> 63 != 0) && !may_follow[static_cast<unsigned char>(block[0])]) {
      first_bad_ = 1;
      return false;
    }
    for (std::uint64_t left = closing & ~(std::uint64_t{1} << 63); left != 0; left &= left - 1) {
      const int at = std::countr_zero(left);
      if (may_follow[static_cast<unsigned char>(block[at + 1])]) continue;
      first_bad_ = std::uint64_t{1} << at;
      return false;
    }
    return true;
  }

  /// Returns the bytes that follow a backslash that is not itself escaped.
  std::uint64_t escaped(std::uint64_t backslashes) {
    std::uint64_t behind = escape_;
    backslashes &= ~escape_;
    escape_ = 0;
    while (backslashes != 0) {
      const int at = std::countr_zero(backslashes);
      if (at == 63) {
        escape_ = 1;
        break;
      }
      const std::uint64_t next = std::uint64_t{2} << at;
      behind |= next;
      backslashes &= ~(next | (next >> 1));
    }
    return behind;
  }

  bool walk(const char* block, std::uint64_t opens, std::uint64_t closes, std::size_t offset) {
    for (std::uint64_t brackets = opens | closes; brackets != 0; brackets &= brackets - 1) {
      const auto at = static_cast<std::size_t>(std::countr_zero(brackets));
      if ((opens >> at & 1) != 0) {
        ++depth_;
        continue;
      }
      if (depth_ == 0) {
        if (block[at] == '}') continue;  // This bracket is superfluous and ends nothing.
        piece.closed = true;
        piece.close = offset + at;
        return false;
      }
      if (--depth_ != 0) continue;
      piece.end = offset + at + 1;
      ++piece.elements;
      if (ends_ != nullptr) ends_->push_back(piece.end);
    }
    return true;
  }

  std::vector<std::size_t>* ends_;
  std::uint64_t depth_ = 0;
  std::uint64_t in_string_ = 0;  ///< All bits are set if the block starts in a string; otherwise none is.
  std::uint64_t escape_ = 0;     ///< Bit 0 is set if the first byte of the next block is escaped.
  std::uint64_t first_bad_ = 0;  ///< The bit of the first invalid closing quote.
  bool closed_last_ = false;     ///< True if the previous block ended with a closing quote.
};

}  // namespace

array_piece scan_array(std::string_view text, std::vector<std::size_t>* ends) {
  scanner scan(ends);
  std::size_t at = 0;
  for (; at + block_bytes <= text.size(); at += block_bytes)
    if (!scan.take(text.data() + at, at)) return scan.piece;
  char last[block_bytes];
  std::memset(last, ' ', sizeof last);
  if (at < text.size()) {
    std::memcpy(last, text.data() + at, text.size() - at);
    scan.take(last, at);
  }
  return scan.piece;
}

}  // namespace sluice::importing
