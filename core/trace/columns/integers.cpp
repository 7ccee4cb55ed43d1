#include "core/trace/columns/integers.hpp"

// Declares ZSTD_c_literalCompressionMode. The library is linked statically.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace sluice::trace {
namespace {

/// For chunks with fewer rows, all forms are tried, because this is cheap and habits only pay off for long chunks.
constexpr std::size_t habitual_rows = 512;
/// A habit is always kept for the first of these numbers of chunks. After that, it is kept up to the second number, as
/// long as chunks need hardly more space than the largest of the first chunks. Trying all forms takes five times as
/// long as encoding the column.
constexpr std::uint16_t habit_chunks = 32, max_habit_chunks = 512;
/// "Hardly more" means more by this fraction (1/8), plus this many bytes per 1024 values.
constexpr std::uint32_t hardly_share = 8, hardly_bytes = 16;
/// zstd is used for the next planes only if it saves this fraction (1/24) of a plane: compressing noise takes as long
/// as everything else together.
constexpr std::size_t worth_share = 24;
/// zstd searches for matches only if this saves this fraction (1/8) over entropy coding alone, because the search takes
/// most of the time.
constexpr std::size_t matches_share = 8;
/// Zigzag is used only if it saves this fraction (1/32): it moves one bit of noise into the next byte, and both bytes
/// must then be compressed.
constexpr std::size_t zigzag_share = 32;
/// Below this size, the overhead of a zstd frame is larger than its savings.
constexpr std::size_t min_packed = 24;

constexpr bool is_with_zigzag(column_form form) { return form == column_form::delta || form == column_form::relative; }

std::uint8_t count_planes(std::uint64_t bits) { return static_cast<std::uint8_t>((std::bit_width(bits) + 7) / 8); }

// The SSE2 versions process sixteen bytes at a time; every x86-64 processor has SSE2. Compilers do not vectorize this
// code, because SSE2 has no arithmetic shift of 64-bit values.
#ifdef __SSE2__
__m128i load_two(const std::uint64_t* values) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(values)); }

void put_two(std::uint64_t* values, __m128i both) { _mm_storeu_si128(reinterpret_cast<__m128i*>(values), both); }

std::uint64_t unite(__m128i both) {
  std::uint64_t halves[2];
  put_two(halves, both);
  return halves[0] | halves[1];
}
#endif

/// Writes each value minus its element in `begin`, zigzag-encoded if `Zigzag`; if not, no result may be negative.
/// Returns the bitwise OR of all results.
template <bool Zigzag>
std::uint64_t write_differences(const std::uint64_t* values, const std::uint64_t* begin, std::size_t count,
                                std::uint64_t* out) {
  std::uint64_t bits = 0;
  std::size_t i = 0;
#ifdef __SSE2__
  __m128i whole = _mm_setzero_si128();
#pragma GCC unroll 4
  for (; i + 2 <= count; i += 2) {
    __m128i small = _mm_sub_epi64(load_two(values + i), load_two(begin + i));
    if constexpr (Zigzag) {
      const __m128i sign = _mm_shuffle_epi32(_mm_srai_epi32(small, 31), _MM_SHUFFLE(3, 3, 1, 1));
      small = _mm_xor_si128(_mm_slli_epi64(small, 1), sign);
    }
    whole = _mm_or_si128(whole, small);
    put_two(out + i, small);
  }
  bits = unite(whole);
#endif
  for (; i < count; ++i) bits |= out[i] = Zigzag ? zigzag(values[i] - begin[i]) : values[i] - begin[i];
  return bits;
}

/// Writes each value minus `base`. Returns the bitwise OR of all results.
std::uint64_t write_offsets(const std::uint64_t* values, std::uint64_t base, std::size_t count, std::uint64_t* out) {
  std::uint64_t bits = 0;
  std::size_t i = 0;
#ifdef __SSE2__
  __m128i whole = _mm_setzero_si128();
  const __m128i bases = _mm_set1_epi64x(static_cast<long long>(base));
#pragma GCC unroll 4
  for (; i + 2 <= count; i += 2) {
    const __m128i small = _mm_sub_epi64(load_two(values + i), bases);
    whole = _mm_or_si128(whole, small);
    put_two(out + i, small);
  }
  bits = unite(whole);
#endif
  for (; i < count; ++i) bits |= out[i] = values[i] - base;
  return bits;
}

#ifdef __SSE2__
/// Splits sixteen values into up to `Most` planes (2, 4 or 8) by transposing bytes. The position of a byte has seven
/// bits: three for the register, and four for its place in the register. Interleaving two registers moves a register
/// bit to the lowest place bit, and the highest place bit to the register bits. After four steps, registers are planes,
/// and places are values.
template <unsigned Most>
void cut_sixteen(const std::uint64_t* small, unsigned planes, std::byte* const* out, std::size_t at) {
  __m128i of_half[2][4], of_word[2][2][2], of_pair[2][2][2];
  constexpr unsigned words = Most > 4 ? 2 : 1;  // Upper four planes, and upper two of four: computed only if needed.
  constexpr unsigned pairs = Most > 2 ? 2 : 1;
#pragma GCC unroll 4
  for (unsigned r = 0; r < 4; ++r) {
    const __m128i lower = load_two(small + 2 * r), upper = load_two(small + 2 * r + 8);
    of_half[0][r] = _mm_unpacklo_epi8(lower, upper);
    of_half[1][r] = _mm_unpackhi_epi8(lower, upper);
  }
#pragma GCC unroll 2
  for (unsigned odd = 0; odd < 2; ++odd) {
#pragma GCC unroll 2
    for (unsigned r = 0; r < 2; ++r) {
      of_word[odd][0][r] = _mm_unpacklo_epi8(of_half[odd][r], of_half[odd][r + 2]);
      if constexpr (words == 2) of_word[odd][1][r] = _mm_unpackhi_epi8(of_half[odd][r], of_half[odd][r + 2]);
    }
#pragma GCC unroll 2
    for (unsigned word = 0; word < words; ++word) {
      of_pair[odd][word][0] = _mm_unpacklo_epi8(of_word[odd][word][0], of_word[odd][word][1]);
      if constexpr (pairs == 2) of_pair[odd][word][1] = _mm_unpackhi_epi8(of_word[odd][word][0], of_word[odd][word][1]);
    }
  }
#pragma GCC unroll 4
  for (unsigned k = 0; k < Most; k += 2) {
    if (k >= planes) return;
    const __m128i even = of_pair[0][k / 4][k / 2 % 2], odd = of_pair[1][k / 4][k / 2 % 2];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out[k] + at), _mm_unpacklo_epi8(even, odd));
    if (k + 1 >= planes) return;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out[k + 1] + at), _mm_unpackhi_epi8(even, odd));
  }
}

template <unsigned Most>
std::size_t cut_sixteens(std::span<const std::uint64_t> small, unsigned planes, std::byte* const* out) {
  std::size_t i = 0;
  for (; i + 16 <= small.size(); i += 16) cut_sixteen<Most>(small.data() + i, planes, out, i);
  return i;
}
#endif

/// Writes byte k of each number to `out[k]`, for each of the lowest `planes` bytes.
void cut_planes_of(std::span<const std::uint64_t> small, unsigned planes, std::byte* const* out) {
  std::size_t done = 0;
#ifdef __SSE2__
  const auto cut = planes <= 2 ? cut_sixteens<2> : planes <= 4 ? cut_sixteens<4> : cut_sixteens<8>;
  done = cut(small, planes, out);
#endif
  for (unsigned k = 0; k < planes; ++k) {
    for (std::size_t i = done; i < small.size(); ++i) out[k][i] = static_cast<std::byte>(small[i] >> (8 * k));
  }
}

template <unsigned Planes>
void join_planes_from(std::size_t first, const std::byte* planes, std::span<std::uint64_t> values) {
  const std::size_t n = values.size();
  for (std::size_t i = first; i < n; ++i) {
    std::uint64_t value = 0;
    for (unsigned k = 0; k < Planes; ++k) value |= static_cast<std::uint64_t>(planes[k * n + i]) << (8 * k);
    values[i] = value;
  }
}

#ifdef __SSE2__
/// The inverse of `cut_sixteen`: joins bytes to words, words to pairs of words, and these to values.
template <unsigned Planes>
void join_sixteen(const std::byte* planes, std::size_t n, std::size_t at, std::uint64_t* values) {
  const __m128i none = _mm_setzero_si128();
  const auto plane = [&](unsigned k) {
    return k < Planes ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(planes + k * n + at)) : none;
  };
  __m128i word[4][2];
#pragma GCC unroll 4
  for (unsigned k = 0; k < 4; ++k) {
    word[k][0] = _mm_unpacklo_epi8(plane(2 * k), plane(2 * k + 1));
    word[k][1] = _mm_unpackhi_epi8(plane(2 * k), plane(2 * k + 1));
  }
#pragma GCC unroll 2
  for (unsigned half = 0; half < 2; ++half) {
    const __m128i lower[2] = {_mm_unpacklo_epi16(word[0][half], word[1][half]),
                              _mm_unpackhi_epi16(word[0][half], word[1][half])};
    const __m128i upper[2] = {_mm_unpacklo_epi16(word[2][half], word[3][half]),
                              _mm_unpackhi_epi16(word[2][half], word[3][half])};
#pragma GCC unroll 2
    for (unsigned quarter = 0; quarter < 2; ++quarter) {
      std::uint64_t* const four = values + at + 8 * half + 4 * quarter;
      put_two(four, _mm_unpacklo_epi32(lower[quarter], upper[quarter]));
      put_two(four + 2, _mm_unpackhi_epi32(lower[quarter], upper[quarter]));
    }
  }
}
#endif

template <unsigned Planes>
void join_planes(const std::byte* planes, std::span<std::uint64_t> values) {
  std::size_t done = 0;
#ifdef __SSE2__
  for (; done + 16 <= values.size(); done += 16) join_sixteen<Planes>(planes, values.size(), done, values.data());
#endif
  join_planes_from<Planes>(done, planes, values);
}

void join_planes(unsigned count, const std::byte* planes, std::span<std::uint64_t> values) {
  using join = void (*)(const std::byte*, std::span<std::uint64_t>);
  static constexpr join joins[] = {join_planes<0>, join_planes<1>, join_planes<2>, join_planes<3>, join_planes<4>,
                                   join_planes<5>, join_planes<6>, join_planes<7>, join_planes<8>};
  joins[count](planes, values);
}

// The inverses of `write_offsets` and `write_differences`.
#ifdef __SSE2__
__m128i unzigzag_two(__m128i both) {
  const __m128i sign = _mm_sub_epi64(_mm_setzero_si128(), _mm_and_si128(both, _mm_set1_epi64x(1)));
  return _mm_xor_si128(_mm_srli_epi64(both, 1), sign);
}
#endif

void add_offset(std::span<std::uint64_t> values, std::uint64_t base) {
  std::uint64_t* const at = values.data();
  std::size_t i = 0;
#ifdef __SSE2__
  const __m128i bases = _mm_set1_epi64x(static_cast<long long>(base));
#pragma GCC unroll 4
  for (; i + 2 <= values.size(); i += 2) put_two(at + i, _mm_add_epi64(load_two(at + i), bases));
#endif
  for (; i < values.size(); ++i) at[i] += base;
}

/// Adds `others`, which has the same number of values, to the values. `Zigzag`: the values are zigzag-encoded.
template <bool Zigzag>
void add_others(std::span<std::uint64_t> values, std::span<const std::uint64_t> others) {
  std::uint64_t* const at = values.data();
  std::size_t i = 0;
#ifdef __SSE2__
  for (; i + 2 <= values.size(); i += 2) {
    __m128i both = load_two(at + i);
    if constexpr (Zigzag) both = unzigzag_two(both);
    put_two(at + i, _mm_add_epi64(both, load_two(others.data() + i)));
  }
#endif
  for (; i < values.size(); ++i) at[i] = (Zigzag ? unzigzag(at[i]) : at[i]) + others[i];
}

void take_out_of_zigzag(std::span<std::uint64_t> values) {
  std::uint64_t* const at = values.data();
  std::size_t i = 0;
#ifdef __SSE2__
#pragma GCC unroll 4
  for (; i + 2 <= values.size(); i += 2) put_two(at + i, unzigzag_two(load_two(at + i)));
#endif
  for (; i < values.size(); ++i) at[i] = unzigzag(at[i]);
}

struct free_context {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

std::size_t column_layout::stored_bytes() const {
  std::size_t sum = 0;
  for (unsigned k = 0; k < planes; ++k) sum += stored[k];
  return sum;
}

using compressor = std::unique_ptr<ZSTD_CCtx, free_context>;

struct integer_encoder::state {
  compressor for_planes{ZSTD_createCCtx()};
  compressor for_noise{
      ZSTD_createCCtx()};  ///< Does not search for matches. Used for planes without matches, where only entropy coding
                           ///< saves space.
  compressor for_texts{ZSTD_createCCtx()};
  std::vector<std::byte> planes;
  std::vector<std::byte> trial;
  std::vector<std::byte> frame;

  static bool are_above(std::span<const std::uint64_t> values, std::span<const std::uint64_t> others) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < values.size(); ++i) below |= values[i] - others[i];
    return below >> 63 == 0;
  }

  /// Prepares `layout` for a form, with the maximum number of planes. Returns false if the form does not suit the
  /// values.
  static bool choose(column_form form, std::span<const std::uint64_t> values, std::span<const std::uint64_t> reference,
                     std::uint16_t reference_number, column_layout& layout) {
    layout = {.form = form, .planes = max_planes};
    switch (form) {
      case column_form::constant:
        return false;
      case column_form::offset:
        layout.base = *std::min_element(values.begin(), values.end());
        return true;
      case column_form::delta:
        layout.base = values.front();
        return true;
      case column_form::rising:
        layout.base = values.front();
        return are_above(values.subspan(1), values);
      case column_form::relative:
        layout.base = reference_number;
        return reference.size() == values.size();
      case column_form::above:
        layout.base = reference_number;
        return reference.size() == values.size() && are_above(values, reference);
    }
    return false;
  }

  /// Writes `layout.planes` planes, one after another, in small batches that stay in the cache. Then sets
  /// `layout.planes` to the number of planes that are needed. Returns false if that number exceeds the number written.
  bool cut_planes(std::span<const std::uint64_t> values, std::span<const std::uint64_t> reference,
                  column_layout& layout) {
    constexpr std::size_t near = 512;
    std::array<std::uint64_t, near> small;
    std::uint64_t bits = 0;
    planes.resize(values.size() * layout.planes);
    for (std::size_t at = 0; at < values.size(); at += near) {
      const std::size_t count = std::min(near, values.size() - at);
      const std::uint64_t* const start = values.data() + at;
      switch (layout.form) {
        case column_form::constant:
          break;
        case column_form::offset:
          bits |= write_offsets(start, layout.base, count, small.data());
          break;
        case column_form::delta:
          small[0] = at == 0 ? 0 : zigzag(start[0] - start[-1]);
          bits |= small[0] | write_differences<true>(start + 1, start, count - 1, small.data() + 1);
          break;
        case column_form::rising:
          small[0] = at == 0 ? 0 : start[0] - start[-1];
          bits |= small[0] | write_differences<false>(start + 1, start, count - 1, small.data() + 1);
          break;
        case column_form::relative:
          bits |= write_differences<true>(start, reference.data() + at, count, small.data());
          break;
        case column_form::above:
          bits |= write_differences<false>(start, reference.data() + at, count, small.data());
          break;
      }
      std::byte* out[max_planes];
      for (unsigned k = 0; k < layout.planes; ++k) out[k] = planes.data() + k * values.size() + at;
      cut_planes_of(std::span(small).first(count), layout.planes, out);
    }
    const std::uint8_t needed = count_planes(bits);
    if (needed > layout.planes) return false;
    layout.planes = needed;
    // The sum of this many five-byte differences cannot overflow 64 bits.
    const bool by_differences =
        layout.form == column_form::rising || (layout.form == column_form::delta && (bits & 1) == 0);
    const bool not_below = by_differences && needed <= 5;
    layout.rises = not_below && values.back() >= values.front();
    return true;
  }

  /// Appends the planes. In `how.worth_packing`, clears the bits of the planes for which zstd did not save enough.
  void write_planes(std::size_t count, column_layout& layout, column_habit& method, std::vector<std::byte>& out) {
    for (unsigned k = 0; k < layout.planes; ++k) {
      const std::span<const std::byte> plane = std::span(planes).subspan(k * count, count);
      const auto bit = static_cast<std::uint8_t>(1U << k);
      if (std::memcmp(plane.data(), plane.data() + 1, plane.size() - 1) == 0) {
        layout.same[k] = static_cast<std::uint8_t>(plane.front());
        continue;
      }
      std::size_t stored = 0;
      if ((method.worth_packing & bit) != 0) {
        const bool look_again = (method.has_matches & bit) == 0 && is_time_to_look_again(method);
        const std::size_t with_matches = look_again ? pack(for_planes, plane) : plane.size();
        stored = pack((method.has_matches & bit) != 0 ? for_planes : for_noise, plane, out);
        if (look_again && is_worth_looking(with_matches, stored))
          method.has_matches = static_cast<std::uint8_t>(method.has_matches | bit);
        if (plane.size() - stored < plane.size() / worth_share) {
          method.worth_packing = static_cast<std::uint8_t>(method.worth_packing & ~bit);
        }
      } else {
        out.insert(out.end(), plane.begin(), plane.end());
        stored = plane.size();
      }
      layout.stored[k] = static_cast<std::uint32_t>(stored);
    }
  }

  /// Matches may appear only after some chunks, so look for them in the 1st, 4th, 16th, ... chunk of a habit.
  static bool is_time_to_look_again(const column_habit& method) {
    return std::has_single_bit(method.chunks) && std::countr_zero(method.chunks) % 2 == 0;
  }
  static bool is_kept(const column_habit& method) {
    if (method.chunks <= habit_chunks) return method.chunks != 0;
    return method.chunks <= max_habit_chunks &&
           method.last_bytes <= method.usual_bytes + method.usual_bytes / hardly_share + hardly_bytes;
  }
  static std::uint32_t bytes_of_1024(const column_layout& layout, std::size_t values) {
    return static_cast<std::uint32_t>(layout.stored_bytes() * 1024 / values);
  }
  static bool is_worth_looking(std::size_t with_matches, std::size_t without) {
    return with_matches + without / matches_share <= without;
  }

  /// Returns a mask of the planes in which searching for matches saves enough.
  std::uint8_t planes_with_matches(std::size_t count, const column_layout& layout, std::uint8_t worth_packing) {
    std::uint8_t found = 0xff;
    for (unsigned k = 0; k < layout.planes; ++k) {
      const auto bit = static_cast<std::uint8_t>(1U << k);
      if (layout.stored[k] == 0 || (worth_packing & bit) == 0) continue;
      const std::size_t without = pack(for_noise, std::span(planes).subspan(k * count, count));
      if (!is_worth_looking(layout.stored[k], without)) found = static_cast<std::uint8_t>(found & ~bit);
    }
    return found;
  }

  /// Encodes with the column's habit. Returns false if there is no habit, or if it does not suit the values.
  bool encode_as_usual(std::span<const std::uint64_t> values, std::span<const std::uint64_t> reference,
                       std::uint16_t reference_number, column_habit& habit, column_layout& layout,
                       std::vector<std::byte>& out) {
    if (!is_kept(habit)) return false;
    layout = {.form = habit.form, .base = habit.base, .planes = habit.planes};
    if (habit.form == column_form::delta || habit.form == column_form::rising) layout.base = values.front();
    if (refers_to_another(habit.form)) {
      if (reference.size() != values.size()) return false;
      layout.base = reference_number;
    }
    if (!cut_planes(values, reference, layout)) {
      if (!choose(habit.form, values, reference, reference_number, layout)) return false;
      cut_planes(values, reference, layout);
      habit.planes = layout.planes;
      habit.base = layout.base;
    }
    write_planes(values.size(), layout, habit, out);
    ++habit.chunks;
    habit.last_bytes = bytes_of_1024(layout, values.size());
    if (habit.chunks <= habit_chunks) habit.usual_bytes = std::max(habit.usual_bytes, habit.last_bytes);
    return true;
  }

  /// Compresses `bytes` into `frame`. Returns the length of the frame, or `bytes.size()` if the frame is not shorter.
  std::size_t pack(const compressor& context, std::span<const std::byte> bytes) {
    if (bytes.size() < min_packed) return bytes.size();
    if (frame.size() < ZSTD_compressBound(bytes.size())) frame.resize(ZSTD_compressBound(bytes.size()));
    const std::size_t packed = ZSTD_compress2(context.get(), frame.data(), frame.size(), bytes.data(), bytes.size());
    return ZSTD_isError(packed) == 0U && packed < bytes.size() ? packed : bytes.size();
  }

  /// Appends the frame or `bytes`, whichever is shorter.
  std::size_t pack(const compressor& context, std::span<const std::byte> bytes, std::vector<std::byte>& out) {
    const std::size_t packed = pack(context, bytes);
    const std::byte* const data = packed < bytes.size() ? frame.data() : bytes.data();
    out.insert(out.end(), data, data + packed);
    return packed;
  }
};

integer_encoder::integer_encoder(int compression_level) : state_(std::make_unique<state>()) {
  state& s = *state_;
  if (s.for_planes == nullptr || s.for_noise == nullptr || s.for_texts == nullptr) throw std::bad_alloc();
  for (ZSTD_CCtx* const context : {s.for_planes.get(), s.for_noise.get(), s.for_texts.get()}) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, compression_level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  }
  if (compression_level != 1) return;
  // A plane has either long matches or none that are worthwhile, because short matches cost more time than they save
  // space. A hash table that fits in the first-level cache is therefore enough. On the planes of a training run, these
  // settings took a quarter less time than the defaults of the level, and produced fewer bytes.
  for (ZSTD_CCtx* const context : {s.for_planes.get(), s.for_noise.get()}) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_minMatch, 7);
    ZSTD_CCtx_setParameter(context, ZSTD_c_targetLength, 4);
    ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, ZSTD_lcm_huffman);
    ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, 12);
  }
  // The step after each unsuccessful search. With this value, the search jumps to the end, so it finds no matches.
  ZSTD_CCtx_setParameter(s.for_noise.get(), ZSTD_c_targetLength, ZSTD_cParam_getBounds(ZSTD_c_targetLength).upperBound);
  ZSTD_CCtx_setParameter(s.for_noise.get(), ZSTD_c_hashLog, ZSTD_cParam_getBounds(ZSTD_c_hashLog).lowerBound);
}
integer_encoder::~integer_encoder() = default;
integer_encoder::integer_encoder(integer_encoder&&) noexcept = default;
integer_encoder& integer_encoder::operator=(integer_encoder&&) noexcept = default;

std::size_t integer_encoder::pack(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
  return state_->pack(state_->for_texts, bytes, out);
}

column_layout integer_encoder::encode(std::span<const std::uint64_t> values, std::span<const std::uint64_t> reference,
                                      std::uint16_t reference_number, column_habit& habit,
                                      std::vector<std::byte>& out) {
  state& s = *state_;
  if (values.empty()) return {};
  if (std::memcmp(values.data(), values.data() + 1, (values.size() - 1) * sizeof values[0]) == 0) {
    return {.form = column_form::constant, .base = values.front()};
  }
  const bool habitual = values.size() >= habitual_rows;
  column_layout layout;
  if (habitual && s.encode_as_usual(values, reference, reference_number, habit, layout, out)) return layout;
  column_layout best;
  column_habit best_habit;
  const std::size_t begin = out.size();
  bool found = false;
  for (const column_form form :
       {column_form::offset, column_form::rising, column_form::delta, column_form::above, column_form::relative}) {
    if (!s.choose(form, values, reference, reference_number, layout)) continue;
    column_habit one;
    s.trial.clear();
    s.cut_planes(values, reference, layout);
    s.write_planes(values.size(), layout, one, s.trial);
    const std::size_t shortest = out.size() - begin;
    if (found && s.trial.size() + (is_with_zigzag(form) ? shortest / zigzag_share : 0) >= shortest) continue;
    found = true;
    best = layout;
    const std::uint32_t bytes = state::bytes_of_1024(layout, values.size());
    best_habit = {form, layout.planes, one.worth_packing, 0xff, 1, bytes, bytes, layout.base};
    if (habitual) best_habit.has_matches = s.planes_with_matches(values.size(), layout, one.worth_packing);
    out.resize(begin);
    out.insert(out.end(), s.trial.begin(), s.trial.end());
  }
  if (habitual) habit = best_habit;
  return best;
}

bool unpack(std::span<const std::byte> stored, std::span<std::byte> bytes) {
  if (stored.size() == bytes.size()) {
    std::copy(stored.begin(), stored.end(), bytes.begin());
    return true;
  }
  if (stored.size() > bytes.size()) return false;
  thread_local const std::unique_ptr<ZSTD_DCtx, free_context> context{ZSTD_createDCtx()};
  if (context == nullptr) return false;
  const std::size_t got = ZSTD_decompressDCtx(context.get(), bytes.data(), bytes.size(), stored.data(), stored.size());
  return ZSTD_isError(got) == 0U && got == bytes.size();
}

bool decode_integers(const column_layout& layout, std::span<const std::byte> planes,
                     std::span<const std::uint64_t> reference, std::span<std::uint64_t> values) {
  if (layout.form == column_form::constant) {
    std::fill(values.begin(), values.end(), layout.base);
    return planes.empty();
  }
  if (layout.planes > max_planes || planes.size() != layout.stored_bytes()) return false;
  thread_local std::vector<std::byte> whole;
  if (whole.size() < layout.planes * values.size()) whole.resize(layout.planes * values.size());
  std::size_t at = 0;
  for (unsigned k = 0; k < layout.planes; ++k) {
    const std::span<std::byte> plane = std::span(whole).subspan(k * values.size(), values.size());
    if (layout.stored[k] == 0) {
      std::fill(plane.begin(), plane.end(), static_cast<std::byte>(layout.same[k]));
    } else if (!unpack(planes.subspan(at, layout.stored[k]), plane)) {
      return false;
    }
    at += layout.stored[k];
  }
  join_planes(layout.planes, whole.data(), values);
  switch (layout.form) {
    case column_form::constant:
    case column_form::offset:
      add_offset(values, layout.base);
      return true;
    case column_form::delta: {
      std::uint64_t sum = layout.base;
#pragma GCC unroll 4
      for (std::uint64_t& value : values) value = sum += unzigzag(value);
      return true;
    }
    case column_form::rising: {
      std::uint64_t sum = layout.base;
#pragma GCC unroll 4
      for (std::uint64_t& value : values) value = sum += value;
      return true;
    }
    case column_form::above:
      if (!reference.empty()) add_others<false>(values, reference);
      return true;
    case column_form::relative:
      if (reference.empty()) {
        take_out_of_zigzag(values);
      } else {
        add_others<true>(values, reference);
      }
      return true;
  }
  return false;
}

}  // namespace sluice::trace
