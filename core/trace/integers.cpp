#include "core/trace/integers.hpp"

// For ZSTD_c_literalCompressionMode; the library is linked statically.
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

/// A chunk of fewer rows is tried each way: it costs nothing, and habits are of long chunks.
constexpr std::size_t habitual_rows = 512;
constexpr std::uint16_t habit_chunks = 32;
/// zstd must save this share of a plane to be tried on the next ones: a byte of noise costs as much time as a row's other work.
constexpr std::size_t worth_share = 24;
/// Below this a frame's own bytes outweigh what it saves.
constexpr std::size_t least_packed = 24;

std::uint8_t planes_of(std::uint64_t bits) { return static_cast<std::uint8_t>((std::bit_width(bits) + 7) / 8); }

// Sixteen bytes at a time where the machine can, as every x86-64 does: the compiler does not see how, for want of an arithmetic shift
// of 64 bits.
#ifdef __SSE2__
__m128i two_of(const std::uint64_t* values) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(values)); }

__m128i zigzag_differences(const std::uint64_t* values, const std::uint64_t* from) {
  const __m128i difference = _mm_sub_epi64(two_of(values), two_of(from));
  const __m128i sign = _mm_shuffle_epi32(_mm_srai_epi32(difference, 31), _MM_SHUFFLE(3, 3, 1, 1));
  return _mm_xor_si128(_mm_slli_epi64(difference, 1), sign);
}
#endif

/// All bits of what `write_differences` would write.
std::uint64_t union_of_differences(const std::uint64_t* values, const std::uint64_t* from, std::size_t count) {
  std::uint64_t bits = 0;
  std::size_t i = 0;
#ifdef __SSE2__
  __m128i both = _mm_setzero_si128();
  for (; i + 2 <= count; i += 2) both = _mm_or_si128(both, zigzag_differences(values + i, from + i));
  std::uint64_t halves[2];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(halves), both);
  bits = halves[0] | halves[1];
#endif
  for (; i < count; ++i) bits |= zigzag(values[i] - from[i]);
  return bits;
}

/// Zigzag of how far each value is from its other.
void write_differences(const std::uint64_t* values, const std::uint64_t* from, std::size_t count, std::uint64_t* out) {
  std::size_t i = 0;
#ifdef __SSE2__
  for (; i + 2 <= count; i += 2) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), zigzag_differences(values + i, from + i));
  }
#endif
  for (; i < count; ++i) out[i] = zigzag(values[i] - from[i]);
}

void cut_plane(std::span<const std::uint64_t> small, unsigned plane, std::span<std::byte> out) {
  const unsigned shift = 8 * plane;
  std::size_t i = 0;
#ifdef __SSE2__
  const __m128i low = _mm_set1_epi64x(0xff);
  const __m128i by = _mm_cvtsi32_si128(static_cast<int>(shift));
  for (; i + 16 <= small.size(); i += 16) {
    // One byte in each of 64 bits, then of 32 and of 16: no more than 255, so that nothing is clamped on the way.
    const auto four = [&](std::size_t at) {
      const __m128i first = _mm_and_si128(_mm_srl_epi64(two_of(small.data() + at), by), low);
      const __m128i second = _mm_and_si128(_mm_srl_epi64(two_of(small.data() + at + 2), by), low);
      return _mm_packs_epi32(first, second);
    };
    const __m128i lower = _mm_packs_epi32(four(i), four(i + 4));
    const __m128i upper = _mm_packs_epi32(four(i + 8), four(i + 12));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.data() + i), _mm_packus_epi16(lower, upper));
  }
#endif
  for (; i < small.size(); ++i) out[i] = static_cast<std::byte>(small[i] >> shift);
}

template <unsigned Planes>
void join_planes(const std::byte* planes, std::span<std::uint64_t> values) {
  const std::size_t n = values.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t value = 0;
    for (unsigned k = 0; k < Planes; ++k) value |= static_cast<std::uint64_t>(planes[k * n + i]) << (8 * k);
    values[i] = value;
  }
}

void join_planes(unsigned count, const std::byte* planes, std::span<std::uint64_t> values) {
  using join = void (*)(const std::byte*, std::span<std::uint64_t>);
  static constexpr join joins[] = {join_planes<0>, join_planes<1>, join_planes<2>, join_planes<3>, join_planes<4>,
                                   join_planes<5>, join_planes<6>, join_planes<7>, join_planes<8>};
  joins[count](planes, values);
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
  compressor for_texts{ZSTD_createCCtx()};
  std::vector<std::byte> planes;
  std::vector<std::byte> trial;

  /// Tells how the values become small, and how many planes those need; false if the form is not for these values.
  static bool measure(column_form form, std::span<const std::uint64_t> values, std::span<const std::uint64_t> reference,
                      std::uint16_t reference_number, column_layout& layout) {
    layout = {.form = form};
    std::uint64_t bits = 0;
    switch (form) {
      case column_form::constant:
        return false;
      case column_form::offset: {
        std::uint64_t highest = layout.base = values.front();
        for (const std::uint64_t value : values) {
          layout.base = std::min(layout.base, value);
          highest = std::max(highest, value);
        }
        bits = highest - layout.base;
        break;
      }
      case column_form::delta:
        layout.base = values.front();
        bits = union_of_differences(values.data() + 1, values.data(), values.size() - 1);
        break;
      case column_form::relative:
        if (reference.size() != values.size()) return false;
        layout.base = reference_number;
        bits = union_of_differences(values.data(), reference.data(), values.size());
        break;
    }
    layout.planes = planes_of(bits);
    return true;
  }

  /// Fills `planes`, one behind the other: some values at a time, which stay near while all planes are cut from them.
  void cut_planes(std::span<const std::uint64_t> values, std::span<const std::uint64_t> reference,
                  const column_layout& layout) {
    constexpr std::size_t near = 512;
    std::array<std::uint64_t, near> small;
    planes.resize(values.size() * layout.planes);
    for (std::size_t at = 0; at < values.size(); at += near) {
      const std::size_t count = std::min(near, values.size() - at);
      const std::uint64_t* const from = values.data() + at;
      switch (layout.form) {
        case column_form::constant:
          break;
        case column_form::offset:
          for (std::size_t i = 0; i < count; ++i) small[i] = from[i] - layout.base;
          break;
        case column_form::delta:
          small[0] = at == 0 ? 0 : zigzag(from[0] - from[-1]);
          write_differences(from + 1, from, count - 1, small.data() + 1);
          break;
        case column_form::relative:
          write_differences(from, reference.data() + at, count, small.data());
          break;
      }
      for (unsigned k = 0; k < layout.planes; ++k) {
        cut_plane(std::span(small).first(count), k, std::span(planes).subspan(k * values.size() + at, count));
      }
    }
  }

  /// Appends the planes of `values`. Of the planes that are tried with zstd, leaves those in `worth` that it made shorter.
  void write_planes(std::span<const std::uint64_t> values, std::span<const std::uint64_t> reference,
                    column_layout& layout, std::uint8_t& worth, std::vector<std::byte>& out) {
    cut_planes(values, reference, layout);
    for (unsigned k = 0; k < layout.planes; ++k) {
      const std::span<const std::byte> plane = std::span(planes).subspan(k * values.size(), values.size());
      const auto bit = static_cast<std::uint8_t>(1U << k);
      if (std::memcmp(plane.data(), plane.data() + 1, plane.size() - 1) == 0) {
        layout.same[k] = static_cast<std::uint8_t>(plane.front());
        continue;
      }
      std::size_t stored = 0;
      if ((worth & bit) != 0) {
        stored = pack(for_planes, plane, out);
        if (plane.size() - stored < plane.size() / worth_share) worth = static_cast<std::uint8_t>(worth & ~bit);
      } else {
        out.insert(out.end(), plane.begin(), plane.end());
        stored = plane.size();
      }
      layout.stored[k] = static_cast<std::uint32_t>(stored);
    }
  }

  static std::size_t pack(const compressor& context, std::span<const std::byte> bytes, std::vector<std::byte>& out) {
    const std::size_t at = out.size();
    if (bytes.size() >= least_packed) {
      out.resize(at + ZSTD_compressBound(bytes.size()));
      const std::size_t packed =
          ZSTD_compress2(context.get(), out.data() + at, out.size() - at, bytes.data(), bytes.size());
      const bool shorter = ZSTD_isError(packed) == 0U && packed < bytes.size();
      out.resize(shorter ? at + packed : at);
      if (shorter) return packed;
    }
    out.insert(out.end(), bytes.begin(), bytes.end());
    return bytes.size();
  }
};

integer_encoder::integer_encoder(int compression_level) : state_(std::make_unique<state>()) {
  if (state_->for_planes == nullptr || state_->for_texts == nullptr) throw std::bad_alloc();
  for (ZSTD_CCtx* const context : {state_->for_planes.get(), state_->for_texts.get()}) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, compression_level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  }
  if (compression_level != 1) return;
  // A plane repeats itself at length or not at all: short matches cost more than they save, and a table of them that fits the
  // first cache does as well. Measured on the planes of a training: a quarter less time than the level's own, in fewer bytes.
  ZSTD_CCtx* const context = state_->for_planes.get();
  ZSTD_CCtx_setParameter(context, ZSTD_c_minMatch, 7);
  ZSTD_CCtx_setParameter(context, ZSTD_c_targetLength, 4);
  ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, ZSTD_lcm_huffman);
  ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, 12);
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
  if (habitual && habit.chunks_left > 0 && s.measure(habit.form, values, reference, reference_number, layout)) {
    --habit.chunks_left;
    s.write_planes(values, reference, layout, habit.worth_packing, out);
    return layout;
  }
  column_layout best;
  std::uint8_t best_worth = 0xff;
  const std::size_t begin = out.size();
  bool found = false;
  for (const column_form form : {column_form::offset, column_form::delta, column_form::relative}) {
    if (!s.measure(form, values, reference, reference_number, layout)) continue;
    std::uint8_t worth = 0xff;
    s.trial.clear();
    s.write_planes(values, reference, layout, worth, s.trial);
    if (found && s.trial.size() >= out.size() - begin) continue;
    found = true;
    best = layout;
    best_worth = worth;
    out.resize(begin);
    out.insert(out.end(), s.trial.begin(), s.trial.end());
  }
  if (habitual) habit = {best.form, best_worth, habit_chunks};
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
  if (layout.planes > most_planes || planes.size() != layout.stored_bytes()) return false;
  thread_local std::vector<std::byte> whole;
  whole.resize(layout.planes * values.size());
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
      for (std::uint64_t& value : values) value += layout.base;
      return true;
    case column_form::delta: {
      std::uint64_t sum = layout.base;
      for (std::uint64_t& value : values) value = sum += unzigzag(value);
      return true;
    }
    case column_form::relative:
      if (reference.empty()) {
        for (std::uint64_t& value : values) value = unzigzag(value);
      } else {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = reference[i] + unzigzag(values[i]);
      }
      return true;
  }
  return false;
}

}  // namespace sluice::trace
