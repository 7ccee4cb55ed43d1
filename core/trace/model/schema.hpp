#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"

/// How each row type is stored: its members and their column numbers. The reader and the writer share this table, so
/// they cannot disagree. Never reuse a column number. If a file does not have a member's column, the reader gives the
/// member its default. The reader skips columns that it does not know.
namespace sluice::trace {

template <class Class, class Member>
struct field {
  std::uint16_t number;
  Member Class::*member;
};
template <class Class, class Member>
field(int, Member Class::*) -> field<Class, Member>;

/// An entry of the index at the end of a file: describes one chunk.
struct index_row {
  row_type type{};
  std::uint32_t rows = 0;
  std::uint64_t offset = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t raw_bytes = 0;
  time_ns min_time = 0;
  time_ns max_time = 0;
  std::uint64_t lowest_event = 0;  ///< Range of the ids of events: see chunk_info.
  std::uint64_t highest_event = 0;
};

/// An entry of the list of pages in a long index: describes one page by the chunks that the page lists.
struct index_page_row {
  std::uint64_t offset = 0;  ///< Offset of the page's header, in bytes from the start of the first page.
  std::uint32_t rows = 0;
  std::uint32_t stored_bytes = 0;
  /// Range of the times of the page's chunks, except chunks of tables, attributes and links. min > max if there are no
  /// others.
  time_ns min_time = INT64_MAX;
  time_ns max_time = INT64_MIN;
  std::uint64_t tables = 0;     ///< Bit n: the page lists chunks of row type n.
  std::uint64_t events = 0;     ///< Bit n: the page lists chunks of row type 64 + n.
  std::uint64_t summaries = 0;  ///< Bit n: the page lists chunks of row type 1024 + n.
  std::uint64_t levels = 0;     ///< Bit n: the page lists chunks of tiles that are 2^n ns long.
};

template <>
inline constexpr row_type type_of_row<index_row> = row_type::index;
template <>
inline constexpr row_type type_of_row<index_page_row> = row_type::index;

/// `apply(use)` returns `use(fields...)` with all `field`s of a row. This is a template so that code that only names a
/// row does not instantiate tuples for all kinds of rows, which took half of the compile time.
template <class Row>
struct schema;

/// The number of members of a row that are stored.
template <class Row>
inline constexpr std::size_t field_count = schema<Row>::apply([](const auto&... fields) { return sizeof...(fields); });

namespace detail {

// Replaces std::tuple, which instantiates one class per element for the remaining elements. For all rows together, that
// takes seconds to compile.
template <std::size_t Index, class Field>
struct numbered_field {
  Field field;
};
template <class Indices, class... Fields>
struct field_list;
template <std::size_t... Indices, class... Fields>
struct field_list<std::index_sequence<Indices...>, Fields...> : numbered_field<Indices, Fields>... {};
template <class Row>
inline constexpr auto get_fields = schema<Row>::apply([]<class... Fields>(Fields... fields) {
  return field_list<std::index_sequence_for<Fields...>, Fields...>{{fields}...};
});
template <std::size_t Index, class Field>
constexpr Field numbered(const numbered_field<Index, Field>& entry_field) {
  return entry_field.field;
}

}  // namespace detail

/// The `field` number `Index` of a row.
template <class Row, std::size_t Index>
inline constexpr auto field_at = detail::numbered<Index>(detail::get_fields<Row>);

#define SLUICE_TABLE(Row, ...)                         \
  template <>                                          \
  struct schema<Row> {                                 \
    using row = Row;                                   \
    template <class Use>                               \
    static constexpr decltype(auto) apply(Use&& use) { \
      return use(__VA_ARGS__);                         \
    }                                                  \
  }
#define SLUICE_EVENT(Row, ...)                                                                              \
  SLUICE_TABLE(Row, field{1, &event_base::id}, field{2, &event_base::time}, field{3, &event_base::process}, \
               field{4, &event_base::thread}, field{5, &event_base::source}, __VA_ARGS__)

SLUICE_TABLE(index_row, field{1, &row::type}, field{2, &row::rows}, field{3, &row::offset},
             field{4, &row::stored_bytes}, field{5, &row::raw_bytes}, field{6, &row::min_time},
             field{7, &row::max_time}, field{8, &row::lowest_event}, field{9, &row::highest_event});
SLUICE_TABLE(index_page_row, field{10, &row::offset}, field{11, &row::rows}, field{12, &row::stored_bytes},
             field{13, &row::min_time}, field{14, &row::max_time}, field{15, &row::tables}, field{16, &row::events},
             field{17, &row::summaries}, field{18, &row::levels});

SLUICE_TABLE(section_row, field{1, &row::events}, field{2, &row::time}, field{3, &row::end});
SLUICE_TABLE(boundary_block_row, field{1, &row::block}, field{2, &row::time}, field{3, &row::end},
             field{4, &row::parent}, field{5, &row::alloc}, field{6, &row::free}, field{7, &row::process},
             field{8, &row::thread}, field{9, &row::device}, field{10, &row::stream}, field{11, &row::pool},
             field{12, &row::stack}, field{13, &row::name}, field{14, &row::address}, field{15, &row::bytes},
             field{16, &row::reserved_bytes}, field{17, &row::flags}, field{18, &row::layer}, field{19, &row::kind},
             field{20, &row::death_inferred}, field{21, &row::category}, field{22, &row::reason});
SLUICE_TABLE(block_category_row, field{1, &row::block}, field{2, &row::category}, field{3, &row::reason});
SLUICE_TABLE(block_uses_row, field{1, &row::block}, field{2, &row::time}, field{3, &row::end},
             field{4, &row::first_time}, field{5, &row::first_event}, field{6, &row::last_time},
             field{7, &row::last_event}, field{8, &row::kernels}, field{9, &row::copies}, field{10, &row::replays},
             field{11, &row::first_kernel}, field{12, &row::first_arrival}, field{13, &row::last_arrival},
             field{14, &row::arrivals}, field{15, &row::pageable_arrivals});
SLUICE_TABLE(curve_row, field{1, &row::curve}, field{2, &row::type}, field{3, &row::layer}, field{4, &row::kind},
             field{5, &row::way}, field{6, &row::category}, field{7, &row::has_segments}, field{8, &row::device},
             field{9, &row::pool}, field{10, &row::counter}, field{11, &row::maximum});
SLUICE_TABLE(curve_bin_row, field{1, &row::curve}, field{2, &row::time}, field{3, &row::minimum},
             field{4, &row::maximum}, field{5, &row::mean}, field{6, &row::last}, field{7, &row::below_peak});
SLUICE_TABLE(integer_bin_row, field{1, &row::curve}, field{2, &row::time}, field{3, &row::begin}, field{4, &row::fall},
             field{5, &row::rise}, field{6, &row::last}, field{7, &row::mean}, field{8, &row::below_peak});
SLUICE_TABLE(lane_row, field{1, &row::lane}, field{2, &row::depth}, field{3, &row::type}, field{4, &row::way},
             field{5, &row::process}, field{6, &row::device}, field{7, &row::stream}, field{8, &row::thread});
SLUICE_TABLE(lane_bin_row, field{1, &row::lane}, field{2, &row::time}, field{3, &row::count}, field{4, &row::busy},
             field{5, &row::bytes}, field{6, &row::length}, field{7, &row::event}, field{8, &row::name},
             field{9, &row::kind}, field{10, &row::tag});
SLUICE_TABLE(open_slice_row, field{1, &row::event}, field{2, &row::time}, field{3, &row::type}, field{4, &row::owner},
             field{5, &row::lane}, field{6, &row::begin}, field{7, &row::end}, field{8, &row::name},
             field{9, &row::bytes}, field{10, &row::kind}, field{11, &row::tag});
SLUICE_TABLE(last_sample_row, field{1, &row::event}, field{2, &row::time}, field{3, &row::type},
             field{4, &row::sampled}, field{5, &row::counter}, field{6, &row::pool}, field{7, &row::device},
             field{8, &row::value}, field{9, &row::reserved}, field{10, &row::used}, field{11, &row::free},
             field{12, &row::total}, field{13, &row::recorder});
SLUICE_TABLE(chunk_reach_row, field{1, &row::chunk}, field{2, &row::time}, field{3, &row::end},
             field{4, &row::lowest_event}, field{5, &row::highest_event}, field{6, &row::lowest_block},
             field{7, &row::highest_block});
SLUICE_TABLE(step_row, field{1, &row::process}, field{2, &row::time}, field{3, &row::end}, field{4, &row::number},
             field{5, &row::event});
SLUICE_TABLE(saved_row, field{1, &row::name}, field{2, &row::version}, field{3, &row::bytes});

SLUICE_TABLE(string_row, field{1, &row::id}, field{2, &row::text});
SLUICE_TABLE(host_row, field{1, &row::id}, field{2, &row::name}, field{3, &row::boot_id}, field{4, &row::system});
SLUICE_TABLE(process_row, field{1, &row::id}, field{2, &row::host}, field{3, &row::parent}, field{4, &row::pid},
             field{5, &row::container_pid}, field{6, &row::rank}, field{7, &row::command}, field{8, &row::begin},
             field{9, &row::end}, field{10, &row::exit_status}, field{11, &row::mode});
SLUICE_TABLE(thread_row, field{1, &row::id}, field{2, &row::process}, field{3, &row::tid}, field{4, &row::name});
SLUICE_TABLE(device_row, field{1, &row::id}, field{2, &row::uuid_high}, field{3, &row::uuid_low}, field{4, &row::name},
             field{5, &row::kind}, field{6, &row::ordinal}, field{7, &row::memory_bytes},
             field{8, &row::link_generation}, field{9, &row::link_width}, field{10, &row::link_peak},
             field{11, &row::attainable_h2d}, field{12, &row::attainable_d2h}, field{13, &row::compute_major},
             field{14, &row::compute_minor}, field{15, &row::peer_peak});
SLUICE_TABLE(context_row, field{1, &row::id}, field{2, &row::process}, field{3, &row::device}, field{4, &row::handle});
SLUICE_TABLE(stream_row, field{1, &row::id}, field{2, &row::process}, field{3, &row::context}, field{4, &row::device},
             field{5, &row::handle}, field{6, &row::generation}, field{7, &row::priority}, field{8, &row::is_default},
             field{9, &row::name});
SLUICE_TABLE(pool_row, field{1, &row::id}, field{2, &row::process}, field{3, &row::device}, field{4, &row::layer},
             field{5, &row::kind}, field{6, &row::handle}, field{7, &row::name});
SLUICE_TABLE(counter_row, field{1, &row::id}, field{2, &row::process}, field{3, &row::device}, field{4, &row::unit},
             field{5, &row::name});
SLUICE_TABLE(stack_row, field{1, &row::id}, field{2, &row::parent}, field{3, &row::frame});
SLUICE_TABLE(frame_row, field{1, &row::id}, field{2, &row::kind}, field{3, &row::function}, field{4, &row::file},
             field{5, &row::module}, field{6, &row::line}, field{7, &row::address});
SLUICE_TABLE(module_row, field{1, &row::id}, field{2, &row::process}, field{3, &row::path}, field{4, &row::build_id},
             field{5, &row::base}, field{6, &row::bytes});
SLUICE_TABLE(source_row, field{1, &row::id}, field{2, &row::file}, field{3, &row::first_line}, field{4, &row::text});

#define SLUICE_ALLOC_FIELDS                                                                                         \
  field{8, &alloc_event::block}, field{9, &alloc_event::parent}, field{10, &alloc_event::layer},                    \
      field{11, &alloc_event::kind}, field{12, &alloc_event::device}, field{13, &alloc_event::context},             \
      field{14, &alloc_event::stream}, field{15, &alloc_event::pool}, field{16, &alloc_event::address},             \
      field{17, &alloc_event::bytes}, field{18, &alloc_event::reserved_bytes}, field{19, &alloc_event::call_begin}, \
      field{20, &alloc_event::device_time}, field{21, &alloc_event::correlation}, field{22, &alloc_event::flags},   \
      field{23, &alloc_event::stack}, field {                                                                       \
    24, &alloc_event::name                                                                                          \
  }

SLUICE_EVENT(alloc_event, SLUICE_ALLOC_FIELDS);
SLUICE_EVENT(live_block_event, SLUICE_ALLOC_FIELDS, field{40, &row::checkpoint}, field{41, &row::born},
             field{42, &row::alloc});
#undef SLUICE_ALLOC_FIELDS
SLUICE_EVENT(free_event, field{8, &row::block}, field{9, &row::layer}, field{10, &row::address},
             field{11, &row::stream}, field{12, &row::completed}, field{13, &row::correlation});
SLUICE_EVENT(alloc_failed_event, field{8, &row::layer}, field{9, &row::kind}, field{10, &row::device},
             field{11, &row::stream}, field{12, &row::pool}, field{13, &row::bytes}, field{14, &row::error},
             field{15, &row::name}, field{16, &row::stack});
SLUICE_EVENT(pool_event, field{8, &row::pool}, field{9, &row::operation}, field{10, &row::reserved},
             field{11, &row::used}, field{12, &row::threshold});
SLUICE_EVENT(device_memory_event, field{8, &row::device}, field{9, &row::free}, field{10, &row::total},
             field{11, &row::recorder});
SLUICE_EVENT(transfer_event, field{8, &row::end}, field{9, &row::direction}, field{10, &row::source_kind},
             field{11, &row::destination_kind}, field{12, &row::bytes}, field{13, &row::source_address},
             field{14, &row::destination_address}, field{15, &row::source_block}, field{16, &row::destination_block},
             field{17, &row::device}, field{18, &row::peer}, field{19, &row::context}, field{20, &row::stream},
             field{21, &row::call}, field{22, &row::enqueued}, field{23, &row::correlation},
             field{24, &row::graph_node}, field{25, &row::asynchronous}, field{26, &row::channel},
             field{27, &row::copies}, field{28, &row::content}, field{29, &row::content_hash},
             field{30, &row::content_bytes});
SLUICE_EVENT(transfer_part_event, field{8, &row::transfer}, field{9, &row::call}, field{10, &row::index},
             field{11, &row::count}, field{12, &row::bytes}, field{13, &row::direction}, field{14, &row::source_kind},
             field{15, &row::destination_kind}, field{16, &row::source_address}, field{17, &row::destination_address},
             field{18, &row::source_block}, field{19, &row::destination_block});
SLUICE_EVENT(migration_event, field{8, &row::end}, field{9, &row::direction}, field{10, &row::bytes},
             field{11, &row::address}, field{12, &row::device}, field{13, &row::cause});
SLUICE_EVENT(memset_event, field{8, &row::end}, field{9, &row::kind}, field{10, &row::bytes}, field{11, &row::address},
             field{12, &row::value}, field{13, &row::block}, field{14, &row::device}, field{15, &row::context},
             field{16, &row::stream}, field{17, &row::call}, field{18, &row::correlation}, field{19, &row::graph_node},
             field{20, &row::enqueued});
SLUICE_EVENT(kernel_event, field{8, &row::end}, field{9, &row::name}, field{10, &row::device}, field{11, &row::context},
             field{12, &row::stream}, field{13, &row::call}, field{14, &row::enqueued}, field{15, &row::correlation},
             field{16, &row::graph_node}, field{17, &row::grid_x}, field{18, &row::grid_y}, field{19, &row::grid_z},
             field{20, &row::block_x}, field{21, &row::block_y}, field{22, &row::block_z}, field{23, &row::registers},
             field{24, &row::static_shared}, field{25, &row::dynamic_shared});
SLUICE_EVENT(api_call_event, field{8, &row::end}, field{9, &row::name}, field{10, &row::status},
             field{11, &row::correlation}, field{12, &row::context}, field{13, &row::stream}, field{14, &row::bytes},
             field{15, &row::stack});
SLUICE_EVENT(graph_definition_event, field{8, &row::graph}, field{9, &row::nodes}, field{10, &row::name});
SLUICE_EVENT(graph_launch_event, field{8, &row::end}, field{9, &row::graph}, field{10, &row::device},
             field{11, &row::stream}, field{12, &row::correlation});
SLUICE_EVENT(event_record_event, field{8, &row::handle}, field{9, &row::stream});
SLUICE_EVENT(event_wait_event, field{8, &row::handle}, field{9, &row::stream}, field{10, &row::record});
SLUICE_EVENT(sync_event, field{8, &row::end}, field{9, &row::kind}, field{10, &row::stream}, field{11, &row::stack});
SLUICE_EVENT(host_sample_event, field{8, &row::length}, field{9, &row::state}, field{10, &row::stack},
             field{11, &row::system_call}, field{12, &row::python_distance});
SLUICE_EVENT(host_range_event, field{8, &row::end}, field{9, &row::name}, field{10, &row::domain});
SLUICE_EVENT(marker_event, field{8, &row::name}, field{9, &row::step});
SLUICE_EVENT(file_io_event, field{8, &row::end}, field{9, &row::operation}, field{10, &row::file},
             field{11, &row::offset}, field{12, &row::bytes});
SLUICE_EVENT(counter_event, field{8, &row::counter}, field{9, &row::value});
SLUICE_EVENT(touch_event, field{8, &row::block}, field{9, &row::stream}, field{10, &row::work},
             field{11, &row::correlation}, field{12, &row::name}, field{13, &row::graph});
SLUICE_EVENT(loss_event, field{8, &row::end}, field{9, &row::events}, field{10, &row::memory_events});
SLUICE_EVENT(checkpoint_event, field{8, &row::blocks}, field{9, &row::exact});
SLUICE_EVENT(clock_anchor_event, field{8, &row::tsc}, field{9, &row::monotonic}, field{10, &row::realtime});
SLUICE_EVENT(watermark_event, field{8, &row::complete_until});
SLUICE_EVENT(message_event, field{8, &row::severity}, field{9, &row::text});
SLUICE_EVENT(attribute_event, field{8, &row::target}, field{9, &row::key}, field{10, &row::text},
             field{11, &row::integer}, field{12, &row::real});
SLUICE_EVENT(link_event, field{8, &row::kind}, field{9, &row::from}, field{10, &row::to});

#undef SLUICE_TABLE
#undef SLUICE_EVENT

}  // namespace sluice::trace
