#include "core/query/elsewhere/queries.hpp"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "core/base/version.hpp"
#include "core/query/elsewhere/question_desk.hpp"
#include "core/query/results/result_functions.hpp"

namespace sluice::query {

// Structs with a base class, which Boost.PFR cannot split into members.
template <class T>
requires std::is_same_v<std::remove_const_t<T>, address_group>
auto wire_members(T& subject) {
  return std::tie(subject.bytes, subject.used, subject.largest_hole, subject.blocks, subject.device, subject.process,
                  subject.layer, subject.lone, subject.segments);
}
template <class T>
requires std::is_same_v<std::remove_const_t<T>, address_segment>
auto wire_members(T& subject) {
  return std::tie(subject.bytes, subject.used, subject.largest_hole, subject.blocks, subject.block, subject.group,
                  subject.device, subject.process, subject.layer, subject.kind, subject.lone, subject.address,
                  subject.items);
}

}  // namespace sluice::query

#include "core/query/elsewhere/wire.hpp"

namespace sluice::query {
namespace {

/// Level 1 halves the size of the planes of numbers (see wire.hpp), at 300 MB/s.
constexpr int compression_level = 1;
/// Maximum bytes of a result, before compression.
constexpr std::uint64_t max_result = std::uint64_t{256} << 20;
/// Maximum expansion by zstd: a compressed block has at least 4 bytes and holds at most 128 KiB.
constexpr std::uint64_t max_inflation = std::uint64_t{32} << 10;
/// Maximum number of pixels, samples or rows in a query.
constexpr std::uint32_t max_width = 16'384;
constexpr std::uint32_t max_rows = 200'000;
constexpr std::size_t longest_list = 4'096;

std::vector<std::byte> compressed(const std::vector<std::byte>& bytes) {
  std::vector<std::byte> items(sizeof(std::uint64_t) + ZSTD_compressBound(bytes.size()));
  const std::uint64_t size = bytes.size();
  std::memcpy(items.data(), &size, sizeof size);
  const std::size_t used = ZSTD_compress(items.data() + sizeof size, items.size() - sizeof size, bytes.data(),
                                         bytes.size(), compression_level);
  items.resize(sizeof size + (ZSTD_isError(used) != 0 ? 0 : used));
  return items;
}

std::optional<std::vector<std::byte>> inflated(std::span<const std::byte> bytes) {
  std::uint64_t size = 0;
  if (bytes.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes = bytes.subspan(sizeof size);
  // The frame must state the same size as the prefix.
  if (size > max_result || ZSTD_getFrameContentSize(bytes.data(), bytes.size()) != size) return std::nullopt;
  if (size / max_inflation > bytes.size()) return std::nullopt;  // Do not allocate memory for an impossible size.
  std::vector<std::byte> items(size);
  const std::size_t got = ZSTD_decompress(items.data(), items.size(), bytes.data(), bytes.size());
  return got == size ? std::optional(std::move(items)) : std::nullopt;
}

template <class T>
std::vector<std::byte> encode(const T& value) {
  std::vector<std::byte> bytes;
  wire::writer(bytes).put(value);
  return compressed(bytes);
}

template <class T>
bool decode(std::span<const std::byte> bytes, T& into) {
  const auto plain = inflated(bytes);
  if (!plain) return false;
  wire::reader in(*plain);
  in.get(into);
  return !in.failed() && in.at_end();
}

/// The number of a query type in the encoding.
template <class Query>
std::uint16_t to_number() {
  std::uint16_t number = 0;
  std::uint16_t found = 0;
#define SLUICE_QUERY(Q) \
  ++number;             \
  if (std::is_same_v<Query, Q>) found = number;
  SLUICE_FOR_EACH_QUERY(SLUICE_QUERY)
#undef SLUICE_QUERY
  return found;
}

template <class Query>
inline constexpr bool is_answered_elsewhere = !std::is_same_v<Query, comparison_query>;

// --- validation of indices from one list into another ----------------------------------------------------------

template <class List>
bool is_below(const List& indices, std::size_t end) {
  return std::all_of(indices.begin(), indices.end(), [end](auto index) { return index < end; });
}

template <class Result>
bool is_consistent(const Result& /*of*/) {
  return true;
}
bool is_consistent(const block_table& table) {
  const bool named = table.asked_by.empty() || table.asked_by.size() == table.rows.size();
  const bool stepped = table.steps.empty() || table.steps.size() == table.rows.size();
  return named && stepped && is_below(table.asked_by, table.names.size());
}
bool is_consistent(const series& subject) {
  return std::all_of(subject.bands.begin(), subject.bands.end(),
                     [](const band& each) { return each.busy.empty() || each.busy.size() == each.bins.size(); });
}
bool is_consistent(const stack_view& view) {
  const auto& nodes = view.tree.nodes;
  if (nodes.empty() || view.ids.size() != nodes.size() || (view.choice && *view.choice >= view.choices.size()))
    return false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& node = nodes[i];
    const bool below = i == 0 ? node.depth == 0 : node.parent < i && node.depth == nodes[node.parent].depth + 1;
    if (!below) return false;  // Then the parent's index may be outside the list.
    const bool within = node.end > i && node.end <= (i == 0 ? nodes.size() : nodes[node.parent].end);
    if (!within || (i > 0 && node.line >= view.lines.size())) return false;
  }
  return true;
}
bool is_consistent(const memory_map& map) {
  return std::all_of(map.segments.begin(), map.segments.end(),
                     [&](const address_segment& each) { return each.group < map.groups.size(); });
}
bool is_consistent(const generation_list& list) { return !list.choice || *list.choice < list.choices.size(); }
bool is_consistent(const memory_groups& groups) {
  const std::size_t parts = groups.moments.size();
  const auto fits = [&](const memory_group& each) { return each.bytes.size() == parts || each.bytes.empty(); };
  return groups.total.size() == parts && std::all_of(groups.groups.begin(), groups.groups.end(), fits) &&
         fits(groups.others);
}
bool is_consistent(const step_statistics& statistics) {
  return statistics.measured <= statistics.steps.size() && statistics.settled <= statistics.measured &&
         std::all_of(statistics.metrics.begin(), statistics.metrics.end(), [&](const step_metric& each) {
           return each.values.size() <= statistics.steps.size() && is_below(each.outliers, each.values.size());
         });
}
bool is_consistent(const sql_rows& rows) {
  const std::size_t wide = rows.columns.size();
  const bool whole = wide == 0 ? rows.rows == 0 && rows.cells.empty()
                               : rows.cells.size() % wide == 0 && rows.cells.size() / wide == rows.rows;
  return whole && rows.values.size() == rows.cells.size() && rows.numbers.size() == rows.cells.size();
}
bool is_consistent(const what_if_curves& curves) {
  for (const replayed_allocator& each : curves.allocators)
    for (const replayed_policy& policy : each.policies)
      if (policy.reserved.size() > what_if_curves::parts) return false;
  return true;
}

// --- limits of queries -----------------------------------------------------------------------------------------------

template <class Query>
bool is_modest(const Query& subject) {
  if constexpr (requires { subject.width; })
    if (subject.width > max_width) return false;
  if constexpr (requires { subject.samples; })
    if (subject.samples > Query::max_samples) return false;
  if constexpr (std::is_same_v<Query, blocks_query>)
    if (subject.rows > max_rows) return false;
  if constexpr (std::is_same_v<Query, memory_map_query>)
    if (subject.marks.size() > longest_list) return false;
  if constexpr (std::is_same_v<Query, ranks_query>)
    if (subject.ranks.size() > longest_list) return false;
  if constexpr (std::is_same_v<Query, generations_query>)
    if (subject.marks.size() > longest_list) return false;
  if constexpr (requires { subject.range; })
    if (subject.range.begin > subject.range.end) return false;
  return true;
}

template <class Query>
class make_asked final : public question_desk::asked {
 public:
  explicit make_asked(Query query) : query_(std::move(query)) {}

  state look(engine& source) override {
    const auto now = slot_.ask(source, query_);
    state output;
    output.changed = now.value != reported_;
    output.complete = now.complete;
    output.progress = now.progress;
    output.failure = now.failure;
    value_ = now.value;
    return output;
  }
  std::vector<std::byte> encode() override {
    reported_ = value_;
    return query::encode(*value_);
  }

 private:
  const Query query_;
  slot<Query> slot_;
  std::shared_ptr<const typename Query::result_type> value_;
  std::shared_ptr<const typename Query::result_type> reported_;
};

/// Larger than the numbers of all engine queries.
constexpr std::uint16_t number_of_sql = 0xffff;

class asked_sql final : public question_desk::asked {
 public:
  explicit asked_sql(std::string text) : text_(std::move(text)) {}

  state look(engine& source) override {
    if (!task_)
      task_.emplace(source.snapshot(), text_, sql_task_options{sql_query::max_rows, sql_query::max_bytes, {}});
    state output;
    if (!task_->done()) return output;
    output.complete = true;
    output.failure = task_->found()->failure;
    return output;
  }
  std::vector<std::byte> encode() override {
    const auto found = task_->found();
    sql_rows rows{found->columns, {}, {}, {}, found->rows, found->cut, found->seconds};
    for (const auto& block : found->blocks) {
      rows.cells.insert(rows.cells.end(), block->cells.begin(), block->cells.end());
      rows.values.insert(rows.values.end(), block->values.begin(), block->values.end());
      rows.numbers.insert(rows.numbers.end(), block->numbers.begin(), block->numbers.end());
    }
    return query::encode(rows);
  }

 private:
  const std::string text_;
  std::optional<sql_task> task_;
};

std::unique_ptr<question_desk::asked> sql_from(wire::reader& in) {
  sql_query query;
  in.get(query);
  if (in.failed() || !in.at_end() || query.text.size() > sql_query::longest_text) return nullptr;
  return std::make_unique<asked_sql>(std::move(query.text));
}

template <class Query>
std::unique_ptr<question_desk::asked> asked_from(wire::reader& in) {
  if constexpr (is_answered_elsewhere<Query>) {
    Query query{};
    in.get(query);
    if (in.failed() || !in.at_end() || !is_modest(query)) return nullptr;
    return std::make_unique<make_asked<Query>>(std::move(query));
  } else {
    return nullptr;
  }
}

sql_result make_result(sql_rows came) {
  sql_result result;
  result.columns = std::move(came.columns);
  result.rows = came.rows;
  result.cut = came.cut;
  result.seconds = came.seconds;
  const std::size_t wide = result.columns.size() * sql_result::block_rows;
  for (std::size_t start = 0; start < came.cells.size(); start += wide) {
    const auto begin = static_cast<std::ptrdiff_t>(start);
    const auto end = static_cast<std::ptrdiff_t>(std::min(start + wide, came.cells.size()));
    sql_block block;
    block.cells.assign(std::move_iterator(came.cells.begin() + begin), std::move_iterator(came.cells.begin() + end));
    block.values.assign(came.values.begin() + begin, came.values.begin() + end);
    block.numbers.assign(came.numbers.begin() + begin, came.numbers.begin() + end);
    result.blocks.push_back(std::make_shared<const sql_block>(std::move(block)));
  }
  return result;
}

/// The tables of an outline, as lists of rows.
struct outline_rows {
  std::vector<trace::string_row> strings;
  std::vector<trace::host_row> hosts;
  std::vector<trace::process_row> processes;
  std::vector<trace::thread_row> threads;
  std::vector<trace::device_row> devices;
  std::vector<trace::context_row> contexts;
  std::vector<trace::stream_row> streams;
  std::vector<trace::pool_row> pools;
  std::vector<trace::counter_row> counters;
  std::vector<trace::stack_row> stacks;
  std::vector<trace::frame_row> frames;
  std::vector<trace::module_row> modules;
};
struct sent_outline {
  outline_rows rows;
  std::vector<std::string> warnings;
  std::uint64_t file_bytes = 0;
  trace::time_ns begin = 0;
  trace::time_ns end = -1;
  std::int64_t realtime_origin = 0;
  bool complete = false;
  bool growing = false;
  bool simulated = false;
};

template <class Table, class Rows>
void fill(Table& table, Rows& rows) {
  for (auto& row : rows) table.put(std::move(row));
}

}  // namespace

std::uint64_t layout_of_queries() {
  static const std::uint64_t known = [] {
    std::string text = std::string(version()) + " 1 ";
#define SLUICE_QUERY(Q)                     \
  if constexpr (is_answered_elsewhere<Q>) { \
    wire::describe<Q>(text);                \
    wire::describe<Q::result_type>(text);   \
  }
    SLUICE_FOR_EACH_QUERY(SLUICE_QUERY)
#undef SLUICE_QUERY
    wire::describe<sql_query>(text);
    wire::describe<sql_rows>(text);
    wire::describe<sent_outline>(text);
    return XXH3_64bits(text.data(), text.size());
  }();
  return known;
}

template <class Query>
std::vector<std::byte> encode_query(const Query& query) {
  std::vector<std::byte> bytes;
  if constexpr (is_answered_elsewhere<Query>) {
    wire::writer out(bytes);
    out.put(to_number<Query>());
    out.put(query);
  }
  return bytes;
}

template <class Query>
result<typename Query::result_type> decode_result(std::span<const std::byte> bytes) {
  typename Query::result_type type{};
  if constexpr (is_answered_elsewhere<Query>)
    if (decode(bytes, type) && is_consistent(type)) return type;
  return fail(error_code::corrupt, "an answer that is not valid came");
}

#define SLUICE_QUERY(Q)                                      \
  template std::vector<std::byte> encode_query<Q>(const Q&); \
  template result<Q::result_type> decode_result<Q>(std::span<const std::byte>);
SLUICE_FOR_EACH_QUERY(SLUICE_QUERY)
#undef SLUICE_QUERY

std::vector<std::byte> encode_query(const sql_query& query) {
  std::vector<std::byte> bytes;
  wire::writer out(bytes);
  out.put(number_of_sql);
  out.put(query);
  return bytes;
}

result<sql_rows> decode_sql_rows(std::span<const std::byte> bytes) {
  sql_rows rows;
  if (decode(bytes, rows) && is_consistent(rows)) return rows;
  return fail(error_code::corrupt, "an answer that is not valid came");
}

sql_task::asker make_sql_asker(std::shared_ptr<answerer> by) {
  return [by = std::move(by)](const std::string& text, std::function<void(sql_result)> then) {
    const std::uint64_t id =
        by->ask(encode_query(sql_query{text}), [then = std::move(then)](result<answerer::reply> came) {
          auto rows = came ? decode_sql_rows(came->bytes) : tl::unexpected(came.error());
          sql_result output = rows ? make_result(std::move(*rows)) : sql_result{};
          if (!rows) output.failure = rows.error();
          then(std::move(output));
        });
    return [by, id] { by->withdraw(id); };
  };
}

std::vector<std::byte> encode_outline(const trace::outline& outline) {
  const trace::tables& all_tables = *outline.tables;
  return encode(sent_outline{
      {all_tables.strings.rows(), all_tables.hosts.rows(), all_tables.processes.rows(), all_tables.threads.rows(),
       all_tables.devices.rows(), all_tables.contexts.rows(), all_tables.streams.rows(), all_tables.pools.rows(),
       all_tables.counters.rows(), all_tables.stacks.rows(), all_tables.frames.rows(), all_tables.modules.rows()},
      outline.warnings,
      outline.file_bytes,
      outline.begin,
      outline.end,
      outline.realtime_origin,
      outline.complete,
      outline.growing,
      outline.simulated});
}

result<trace::outline> decode_outline(std::span<const std::byte> bytes, const std::string& path) {
  sent_outline came;
  if (!decode(bytes, came))
    return fail(error_code::corrupt, "the data received about the recording is not valid", path);
  auto tables = std::make_shared<trace::tables>();
  outline_rows& rows = came.rows;
  fill(tables->strings, rows.strings);
  fill(tables->hosts, rows.hosts);
  fill(tables->processes, rows.processes);
  fill(tables->threads, rows.threads);
  fill(tables->devices, rows.devices);
  fill(tables->contexts, rows.contexts);
  fill(tables->streams, rows.streams);
  fill(tables->pools, rows.pools);
  fill(tables->counters, rows.counters);
  fill(tables->stacks, rows.stacks);
  fill(tables->frames, rows.frames);
  fill(tables->modules, rows.modules);
  return trace::outline{path,         std::move(tables), std::move(came.warnings), came.file_bytes,
                        came.begin,   came.end,          came.realtime_origin,     came.complete,
                        came.growing, came.simulated};
}

result<void> question_desk::ask(std::uint64_t id, std::span<const std::byte> query) {
  wire::reader in(query);
  std::uint16_t wanted = 0;
  in.get(wanted);
  std::unique_ptr<asked> output;
#define SLUICE_QUERY(Q) \
  if (wanted == to_number<Q>()) output = asked_from<Q>(in);
  SLUICE_FOR_EACH_QUERY(SLUICE_QUERY)
#undef SLUICE_QUERY
  if (wanted == number_of_sql) output = sql_from(in);
  if (!output) return fail(error_code::invalid_argument, "a question is not valid");
  if (open_.size() >= max_open) return fail(error_code::invalid_argument, "too many queries are open");
  if (!open_.try_emplace(id, entry{std::move(output)}).second)
    return fail(error_code::invalid_argument, "a question with this number is open");
  return {};
}

std::optional<question_desk::outcome> question_desk::next() {
  constexpr auto partial_every = std::chrono::milliseconds(250);
  for (auto at = open_.begin(); at != open_.end(); ++at) {
    entry& each = at->second;
    const asked::state now = each.query->look(from_);
    const bool partial = now.changed && steady::now() - each.reported >= partial_every;
    if (!now.failure && !now.complete && !partial) continue;
    outcome output{at->first, {}, now.complete || now.failure, now.progress, now.failure};
    if (!now.failure) output.bytes = each.query->encode();
    each.reported = steady::now();
    if (output.last) open_.erase(at);
    return output;
  }
  return std::nullopt;
}

}  // namespace sluice::query
