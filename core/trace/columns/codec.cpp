#include "core/trace/columns/codec.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>
#include <type_traits>
#include <unordered_map>

#include "core/trace/columns/byte_cursor.hpp"
#include "core/trace/columns/column_values.hpp"
#include "core/trace/columns/integers.hpp"
#include "core/trace/columns/row_values.hpp"

namespace sluice::trace {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is little-endian and so must the machine be");

constexpr std::uint8_t text_form = 4;

/// What times are stored relative to.
constexpr std::uint16_t time_number = 2;
/// There is none: what is relative to it is relative to 0.
constexpr std::uint16_t no_column = 0;

template <class Row, class Use>
void for_each_field(Use&& use) {
  schema<Row>::apply([&](const auto&... columns) { (use(columns), ...); });
}

/// It is a value of the column.
constexpr bool has_signed_base(column_form form) {
  return form == column_form::constant || form == column_form::delta || form == column_form::rising;
}

/// What the directory says of integers, from the form on.
void put_layout(const column_layout& layout, std::vector<std::byte>& directory) {
  directory.push_back(static_cast<std::byte>(layout.form));
  put_varint(directory, has_signed_base(layout.form) ? zigzag(layout.base) : layout.base);
  if (layout.form == column_form::constant) return;
  directory.push_back(static_cast<std::byte>(layout.planes));
  for (unsigned k = 0; k < layout.planes; ++k) {
    put_varint(directory, layout.stored[k]);
    if (layout.stored[k] == 0) directory.push_back(static_cast<std::byte>(layout.same[k]));
  }
}

bool get_layout(std::uint8_t form, byte_cursor& directory, column_layout& layout) {
  if (form > static_cast<std::uint8_t>(column_form::above) || form == text_form) return false;
  layout.form = static_cast<column_form>(form);
  const std::uint64_t base = directory.varint();
  layout.base = has_signed_base(layout.form) ? unzigzag(base) : base;
  if (layout.form == column_form::constant) return !directory.failed();
  layout.planes = directory.get<std::uint8_t>();
  if (layout.planes > most_planes) return false;
  for (unsigned k = 0; k < layout.planes; ++k) {
    const std::uint64_t stored = directory.varint();
    if (stored > max_chunk_rows) return false;
    layout.stored[k] = static_cast<std::uint32_t>(stored);
    if (stored == 0) layout.same[k] = directory.get<std::uint8_t>();
  }
  return !directory.failed();
}

}  // namespace

// --- encoding -------------------------------------------------------------------------------------------------------

namespace {

/// What a column's values may be near to.
enum class relative_to : std::uint8_t { none, time, zero };

}  // namespace

struct row_encoder::state {
  integer_encoder integers;
  std::unordered_map<std::uint32_t, column_habit> habits;  ///< By kind and number.
  std::vector<std::uint64_t> lengths;
  std::vector<std::uint64_t> zeros;
  std::vector<std::byte> text;
  std::vector<std::byte> directory;
  std::vector<std::byte> blobs;
  std::size_t decoded_bytes = 0;

  explicit state(int compression_level) : integers(compression_level) {}

  column_habit& habit(row_type type, std::uint16_t number) {
    return habits[(static_cast<std::uint32_t>(type) << 16) | number];
  }

  column_layout put_integers(std::uint16_t number, growing_column& column, std::size_t rows, relative_to what,
                             growing_column* times, column_habit& how) {
    column_layout layout{.form = column_form::constant, .base = column.first(), .rises = true};
    if (!column.is_constant()) {
      std::span<const std::uint64_t> reference;
      if (what == relative_to::time && times != nullptr) reference = times->values(rows);
      if (what == relative_to::zero) {
        zeros.resize(std::max(zeros.size(), rows));
        reference = std::span(zeros).first(rows);
      }
      const std::uint16_t other = what == relative_to::zero ? no_column : time_number;
      layout = integers.encode(column.values(rows), reference, other, how, blobs);
    }
    put_varint(directory, number);
    put_layout(layout, directory);
    decoded_bytes += layout.planes * rows;
    return layout;
  }

  template <class Row, class Field>
  void put_text(std::span<const Row> rows, const Field& column, column_habit& how) {
    lengths.clear();
    text.clear();
    for (const Row& row : rows) {
      const auto bytes = std::as_bytes(std::span(row.*column.member));
      lengths.push_back(bytes.size());
      text.insert(text.end(), bytes.begin(), bytes.end());
    }
    put_varint(directory, column.number);
    directory.push_back(std::byte{text_form});
    const column_layout layout = integers.encode(lengths, {}, 0, how, blobs);
    put_layout(layout, directory);
    put_varint(directory, text.size());
    put_varint(directory, integers.pack(text, blobs));
    decoded_bytes += layout.planes * lengths.size() + text.size();
  }
};

row_encoder::row_encoder(int compression_level) : state_(std::make_unique<state>(compression_level)) {}
row_encoder::~row_encoder() = default;
row_encoder::row_encoder(row_encoder&&) noexcept = default;
row_encoder& row_encoder::operator=(row_encoder&&) noexcept = default;

namespace {

/// Whether `number` is the column of this member.
template <class Field, class Member>
constexpr bool is_member(const Field& field, Member member) {
  if constexpr (std::is_same_v<decltype(field.member), Member>) {
    return field.member == member;
  } else {
    return false;
  }
}

template <class Integer>
std::pair<Integer, Integer> lowest_and_highest(growing_column& column, std::size_t rows, bool rises) {
  const auto as_integer = [](std::uint64_t bits) { return static_cast<Integer>(bits); };
  if (column.is_constant()) return {as_integer(column.first()), as_integer(column.first())};
  const std::span<const std::uint64_t> values = column.values(rows);
  if (rises) return {as_integer(values.front()), as_integer(values.back())};
  Integer lowest = as_integer(values.front()), highest = lowest;
  for (const std::uint64_t value : values) {
    lowest = std::min(lowest, as_integer(value));
    highest = std::max(highest, as_integer(value));
  }
  return {lowest, highest};
}

/// Makes `extent` speak of a column: of the rows' times, or of the ids that they are about. `time` comes before `end`.
template <class Row, class Field>
void extend(row_extent& extent, const Field& field, growing_column& column, std::size_t rows, bool rises) {
  if constexpr (requires(Row row) { row.time; }) {
    if (is_member(field, &Row::time)) {
      std::tie(extent.min_time, extent.max_time) = lowest_and_highest<time_ns>(column, rows, rises);
    }
  }
  if constexpr (requires(Row row) { row.time, row.end; }) {
    if (is_member(field, &Row::end)) {
      extent.max_time = std::max(extent.max_time, lowest_and_highest<time_ns>(column, rows, rises).second);
    }
  }
  if constexpr (std::is_same_v<Row, chunk_reach_row>) {
    if (is_member(field, &Row::lowest_event))
      extent.lowest_event = lowest_and_highest<std::uint64_t>(column, rows, rises).first;
    if (is_member(field, &Row::highest_event))
      extent.highest_event = lowest_and_highest<std::uint64_t>(column, rows, rises).second;
  }
  if constexpr (is_event_row<Row>) {
    if (is_member(field, subject_member<Row>)) {
      std::tie(extent.lowest_event, extent.highest_event) = lowest_and_highest<std::uint64_t>(column, rows, rises);
    }
  }
}

}  // namespace

template <class Row>
row_encoder::outcome row_encoder::encode(std::span<const Row> rows, std::vector<std::byte>& out) {
  const auto columns = std::make_unique<row_columns<Row>>();
  columns->add(rows);
  return encode(*columns, rows, out);
}

template <class Row>
row_encoder::outcome row_encoder::encode(row_columns<Row>& rows, std::vector<std::byte>& out) {
  return encode(rows, std::span<const Row>(), out);
}

template <class Row>
row_encoder::outcome row_encoder::encode(row_columns<Row>& rows, std::span<const Row> texts,
                                         std::vector<std::byte>& out) {
  state& s = *state_;
  s.directory.clear();
  s.blobs.clear();
  s.decoded_bytes = 0;
  rows.cut();
  row_extent extent;
  std::size_t columns = 0;
  std::size_t place = 0;
  growing_column* times = nullptr;
  const Row defaults{};
  const auto put_column = [&](const auto& field) {
    const auto number = field.number;
    growing_column& column = rows.column(place++);
    if constexpr (is_text_field<std::decay_t<decltype(field)>>) {
      const bool none =
          std::all_of(texts.begin(), texts.end(), [&](const Row& row) { return (row.*field.member).empty(); });
      if (!none) s.put_text(texts, field, s.habit(type_of_row<Row>, number)), ++columns;
    } else {
      constexpr bool is_time = std::is_same_v<std::decay_t<decltype(defaults.*field.member)>, time_ns>;
      if (is_time && number == time_number) times = &column;
      bool rises = true;
      if (!column.is_constant() || column.first() != to_bits(defaults.*field.member)) {
        const bool is_other_time = is_time && number != time_number;
        const auto to = !is_other_time         ? relative_to::none
                        : has_differences<Row> ? relative_to::zero
                                               : relative_to::time;
        rises = s.put_integers(number, column, rows.size(), to, times, s.habit(type_of_row<Row>, number)).rises;
        ++columns;
      }
      extend<Row>(extent, field, column, rows.size(), rises);
    }
  };
  if (rows.size() != 0) for_each_field<Row>(put_column);
  put_varint(out, columns);
  out.insert(out.end(), s.directory.begin(), s.directory.end());
  out.insert(out.end(), s.blobs.begin(), s.blobs.end());
  return {s.decoded_bytes + s.directory.size(), extent};
}

// --- decoding -------------------------------------------------------------------------------------------------------

namespace {

/// A column as the directory tells it, and its bytes.
struct stored_column {
  std::uint64_t number = 0;
  std::size_t at = 0;  ///< Of its line in the directory, for errors.
  bool is_text = false;
  column_layout integers;
  std::uint64_t text_bytes = 0;
  std::uint64_t text_stored = 0;
  std::span<const std::byte> planes;
  std::span<const std::byte> text;
};

/// All rows have one value.
bool is_constant(const stored_column& column) {
  return !column.is_text && column.integers.form == column_form::constant;
}

bool get_line(byte_cursor& directory, stored_column& line) {
  line.at = directory.at();
  line.number = directory.varint();
  auto form = directory.get<std::uint8_t>();
  line.is_text = form == text_form;
  if (line.is_text) form = directory.get<std::uint8_t>();
  if (directory.failed() || !get_layout(form, directory, line.integers)) return false;
  if (line.is_text) {
    line.text_bytes = directory.varint();
    line.text_stored = directory.varint();
    if (line.text_bytes > max_chunk_bytes || refers_to_another(line.integers.form)) return false;
  }
  return !directory.failed();
}

/// Why a payload is no payload, and where.
struct unsound {
  std::size_t at = 0;
  std::string what;
};

/// The columns of a payload, of which each is decoded when it is asked for.
class stored_columns {
 public:
  stored_columns(std::span<const std::byte> payload, std::size_t rows) : rows_(rows) { read(payload); }

  [[nodiscard]] const std::optional<unsound>& refused() const { return refused_; }
  /// Null if the payload has no such column.
  [[nodiscard]] const stored_column* find(std::uint16_t number) const {
    const auto found =
        std::find_if(columns_.begin(), columns_.end(), [=](const stored_column& c) { return c.number == number; });
    return found == columns_.end() ? nullptr : &*found;
  }

  /// The integers of a column, one a row, or the lengths of its texts. False after `refuse`.
  bool integers(const stored_column& column, std::span<std::uint64_t> values) {
    if (&column == reference_of_) return copy_reference(values);
    std::span<const std::uint64_t> reference;
    if (refers_to_another(column.integers.form)) {
      const stored_column* const other = find_reference(column.integers.base);
      if (other != nullptr) {
        if (other->is_text || refers_to_another(other->integers.form)) return refuse_column(column);
        if (!decode_reference(*other)) return false;
        reference = reference_;
      }
    } else if (is_referred_to(column)) {
      return decode_reference(column) && copy_reference(values);
    }
    return decode_integers(column.integers, column.planes, reference, values) || refuse_column(column);
  }

  bool refuse_column(const stored_column& column) {
    refuse(column.at, name(column) + " does not decode");
    return false;
  }

 private:
  void read(std::span<const std::byte> payload) {
    byte_cursor cursor(payload);
    const std::uint64_t count = cursor.varint();
    constexpr std::size_t shortest_line = 3;
    if (cursor.failed() || count > max_chunk_columns || count > cursor.left() / shortest_line)
      return refuse(0, "the directory of columns is cut off, or of too many");
    columns_.resize(count);
    for (stored_column& line : columns_) {
      if (!get_line(cursor, line)) return refuse(line.at, "a column's line in the directory makes no sense");
    }
    for (stored_column& line : columns_) {
      line.planes = cursor.take(line.integers.stored_bytes());
      line.text = cursor.take(line.text_stored);
      if (cursor.failed()) return refuse(line.at, name(line) + " is cut off");
    }
    if (!cursor.at_end()) refuse(cursor.at(), "bytes follow the last column");
  }

  /// Decodes a column that others refer to, once for all of them.
  bool decode_reference(const stored_column& column) {
    if (reference_of_ == &column) return true;
    reference_of_ = nullptr;
    reference_.resize(rows_);
    if (!decode_integers(column.integers, column.planes, {}, reference_)) return refuse_column(column);
    reference_of_ = &column;
    return true;
  }
  bool copy_reference(std::span<std::uint64_t> values) const {
    std::copy(reference_.begin(), reference_.end(), values.begin());
    return true;
  }
  [[nodiscard]] bool is_referred_to(const stored_column& column) const {
    return std::any_of(columns_.begin(), columns_.end(), [&](const stored_column& other) {
      return refers_to_another(other.integers.form) && other.integers.base == column.number;
    });
  }

  static std::string name(const stored_column& column) { return "column " + std::to_string(column.number); }
  void refuse(std::size_t at, std::string what) {
    if (!refused_) refused_ = unsound{at, std::move(what)};
  }
  [[nodiscard]] const stored_column* find_reference(std::uint64_t number) const {
    return number > UINT16_MAX ? nullptr : find(static_cast<std::uint16_t>(number));
  }

  std::size_t rows_;
  std::vector<stored_column> columns_;
  const stored_column* reference_of_ = nullptr;
  std::vector<std::uint64_t> reference_;
  std::optional<unsound> refused_;
};

template <class Row, class Field>
bool set_members(stored_columns& from, const stored_column& column, const Field& field, std::span<Row> rows,
                 std::vector<std::uint64_t>& values) {
  values.resize(rows.size());
  if (column.is_text != is_text_field<Field> || !from.integers(column, values)) return from.refuse_column(column);
  if constexpr (is_text_field<Field>) {
    std::vector<std::byte> text(column.text_bytes);
    if (!unpack(column.text, text)) return from.refuse_column(column);
    byte_cursor cursor(text);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto bytes = cursor.take(values[i]);
      (rows[i].*field.member).assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return (!cursor.failed() && cursor.at_end()) || from.refuse_column(column);
  } else {
    bool fits = true;
    const std::uint64_t* value = values.data();
#pragma GCC unroll 4
    for (Row& row : rows) fits &= from_bits(*value++, row.*field.member);
    return fits || from.refuse_column(column);
  }
}

}  // namespace

template <class Row>
result<void> decode_rows(std::span<const std::byte> payload, std::size_t rows, std::vector<Row>& decoded,
                         column_set<Row> wanted) {
  if (rows > max_chunk_rows) return fail(error_code::corrupt, "a chunk claims " + std::to_string(rows) + " rows");
  stored_columns columns(payload, rows);
  // What is the same in all rows is set once: that is most of what most rows say.
  Row alike{};
  thread_local std::vector<std::uint64_t> values;
  const auto each_column = [&](bool constant, auto&& set) {
    for_each_field<Row>([&](const auto& field) {
      if (columns.refused()) return;
      const stored_column* const column = columns.find(field.number);
      if (column != nullptr && is_constant(*column) == constant) set(*column, field);
    });
  };
  each_column(true, [&](const stored_column& column, const auto& field) {
    if constexpr (!is_text_field<std::decay_t<decltype(field)>>) {
      if (!column.planes.empty() || !from_bits(column.integers.base, alike.*field.member))
        columns.refuse_column(column);
    } else {
      columns.refuse_column(column);
    }
  });
  if (!columns.refused()) decoded.assign(rows, alike);
  each_column(false, [&](const stored_column& column, const auto& field) {
    if (wanted.has(field.number)) set_members(columns, column, field, std::span(decoded), values);
  });
  if (const auto& why = columns.refused()) return fail(error_code::corrupt, why->what, {}, {}, why->at);
  return {};
}

namespace {

/// Whether `from_bits` takes all of them for a member of this type.
template <class Member>
bool fit(std::span<const std::uint64_t> values) {
  Member member{};
  if constexpr (std::is_unsigned_v<Member> && !std::is_same_v<Member, bool>) {
    std::uint64_t bits = 0;
    for (const std::uint64_t value : values) bits |= value;
    return from_bits(bits, member);
  } else {
    return std::all_of(values.begin(), values.end(), [&](std::uint64_t value) { return from_bits(value, member); });
  }
}

}  // namespace

template <class Row>
result<void> decode_values(std::span<const std::byte> payload, std::size_t rows, row_values<Row>& decoded,
                           column_set<Row> wanted) {
  if (rows > max_chunk_rows) return fail(error_code::corrupt, "a chunk claims " + std::to_string(rows) + " rows");
  stored_columns columns(payload, rows);
  decoded.begin(rows);
  std::size_t place = 0;
  for_each_field<Row>([&](const auto& field) {
    const std::size_t here = place++;
    if (columns.refused()) return;
    const stored_column* const column = columns.find(field.number);
    if (column == nullptr || (!wanted.has(field.number) && !is_constant(*column))) return;
    using member = std::decay_t<decltype(std::declval<Row>().*field.member)>;
    static_assert(!std::is_same_v<member, std::string>);
    bool sound = !column->is_text;
    if (is_constant(*column)) {
      decoded.set_all(here, column->integers.base);
      sound = sound && column->planes.empty() && fit<member>(std::span(&column->integers.base, 1));
    } else {
      const std::span<std::uint64_t> values = decoded.set_each(here);
      sound = sound && columns.integers(*column, values) && fit<member>(values);
    }
    if (!sound) columns.refuse_column(*column);
  });
  if (const auto& why = columns.refused()) return fail(error_code::corrupt, why->what, {}, {}, why->at);
  return {};
}

result<void> decode_column(std::span<const std::byte> payload, std::size_t rows, std::uint16_t number,
                           std::uint64_t usual, std::vector<std::uint64_t>& values) {
  if (rows > max_chunk_rows) return fail(error_code::corrupt, "a chunk claims " + std::to_string(rows) + " rows");
  stored_columns columns(payload, rows);
  if (!columns.refused()) {
    const stored_column* const column = columns.find(number);
    if (column == nullptr) {
      values.assign(rows, usual);
    } else if (column->is_text) {
      columns.refuse_column(*column);
    } else {
      values.resize(rows);
      columns.integers(*column, values);
    }
  }
  if (const auto& why = columns.refused()) return fail(error_code::corrupt, why->what, {}, {}, why->at);
  return {};
}

#define SLUICE_INSTANTIATE(row, kind)                                                                    \
  template row_encoder::outcome row_encoder::encode<row>(std::span<const row>, std::vector<std::byte>&); \
  template row_encoder::outcome row_encoder::encode<row>(row_columns<row>&, std::vector<std::byte>&);    \
  template result<void> decode_rows<row>(std::span<const std::byte>, std::size_t, std::vector<row>&, column_set<row>);
SLUICE_FOR_EACH_ROW(SLUICE_INSTANTIATE)
SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_INSTANTIATE)
SLUICE_INSTANTIATE(index_row, index)
#undef SLUICE_INSTANTIATE
#define SLUICE_INSTANTIATE(row) \
  template result<void> decode_values<row>(std::span<const std::byte>, std::size_t, row_values<row>&, column_set<row>);
SLUICE_FOR_EACH_ROW_OF_TILES(SLUICE_INSTANTIATE)
#undef SLUICE_INSTANTIATE

}  // namespace sluice::trace
