#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/base/format.hpp"
#include "core/query/sql/metric_tables.hpp"
#include "core/summary/sections/store_blocks.hpp"
#include "core/symbols/attribution.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

using type = column_type;

constexpr std::array block_parts = {
    metric_column{"id", "The block", type::id, id_kind::block},
    metric_column{"parent", "The segment of the layer below that contains it, if known", type::id, id_kind::block},
    metric_column{"alloc", "The event of its allocation", type::id, id_kind::event},
    metric_column{"free", "The event of its free", type::id, id_kind::event},
    metric_column{"process", "Its process", type::id, id_kind::process},
    metric_column{"thread", "The host thread that requested it", type::id, id_kind::thread},
    metric_column{"device", "The device; null for host memory", type::id, id_kind::device},
    metric_column{"stream", "The stream it is ordered on", type::id, id_kind::stream},
    metric_column{"pool", "The pool it came from", type::id, id_kind::pool},
    metric_column{"stack", "The call stack that requested it", type::id, id_kind::stack},
    metric_column{"name", "The API that allocated it, or its tag", type::text},
    metric_column{"layer", "Allocator: driver, pool, framework or user. Layers contain one another, so do not add them",
                  type::text},
    metric_column{"kind", "The kind of memory", type::text},
    metric_column{"born", "Time of the allocation", type::time},
    metric_column{"died", "Time of the free request; null: never freed", type::time},
    metric_column{"address", "Its address", type::size},
    metric_column{"bytes", "Requested size", type::size},
    metric_column{"reserved_bytes", "Size in its pool; 0: same as bytes", type::size},
    metric_column{"born_before", "1: allocated before the recording", type::flag},
    metric_column{"imported", "1: its bytes belong to another process and are counted there", type::flag},
    metric_column{"death_inferred", "1: no event frees it, but it is missing in a checkpoint after a loss", type::flag},
    metric_column{"freed_after", "1: freed after the end of the recording, which is part of a longer one", type::flag},
    metric_column{
        "unfreed",
        "1: never freed, as counted in the report: not if allocated before the recording, imported, or allocated in "
        "the last half second before the process was killed or the file was cut",
        type::flag},
    metric_column{"category", "Purpose of a framework's block: weight, gradient, ...; null: unknown", type::text},
    metric_column{"category_why", "Reason for the category; \"set by the program\" is exact, the others are inferred",
                  type::text},
    metric_column{"first_use", "Time when work that uses it was first enqueued; null: unknown", type::time},
    metric_column{"last_use", "Time when it was last enqueued", type::time},
    metric_column{"uses", "Number of uses; null: uses were not recorded", type::size},
};

/// The columns from this one on show the uses of blocks.
constexpr std::size_t first_use_column = block_parts.size() - 3;

constexpr std::array stack_parts = {
    metric_column{"id", "The stack", type::id, id_kind::stack},
    metric_column{"line", "The line that represents the stack: the innermost line of the program's own code",
                  type::text, id_kind::none, text_role::message},
    metric_column{"caller", "The line of the program's own code that called the function of that line", type::text,
                  id_kind::none, text_role::message},
    metric_column{"module", "The innermost Class.forward, or Class.__call__; for native code, the class or namespace",
                  type::text, id_kind::none, text_role::message},
    metric_column{"package", "The Python package that requested it; without Python, the shared library", type::text},
    metric_column{"owner", "The library that called the driver: PyTorch, NCCL, cuBLAS, ...; null: not recorded",
                  type::text},
    metric_column{"text", "All lines of the stack, innermost first, separated by \" < \"", type::text, id_kind::none,
                  text_role::message},
};

constexpr std::array name_parts = {
    metric_column{"symbol", "As recorded", type::text, id_kind::none, text_role::code},
    metric_column{"name", "Demangled", type::text, id_kind::none, text_role::code},
};

cell id_cell(std::uint64_t id) {
  return id == 0 ? cell{} : cell{cell::kind::integer, static_cast<std::int64_t>(id), 0, {}};
}
cell number(std::uint64_t value) { return {cell::kind::integer, static_cast<std::int64_t>(value), 0, {}}; }
cell time_cell(time_ns time) { return time == trace::unknown_time ? cell{} : cell{cell::kind::integer, time, 0, {}}; }
cell text(std::string_view words) { return words.empty() ? cell{} : cell{cell::kind::text, 0, 0, words}; }

/// Some of the blocks in an event store.
class block_rows : public metric_rows {
 public:
  block_rows(const trace::snapshot& trace, std::shared_ptr<const index::event_store> store, bool uses_known,
             std::vector<std::uint32_t> places)
      : trace_(trace),
        store_(std::move(store)),
        blocks_(*store_, trace_),
        uses_known_(uses_known),
        places_(std::move(places)) {}

  [[nodiscard]] std::size_t size() const override { return places_.size(); }
  [[nodiscard]] std::int64_t id_of(std::size_t row) const override {
    return static_cast<std::int64_t>(raw(blocks_.records()[places_[row]].id));
  }

  [[nodiscard]] cell at(std::size_t row, std::size_t column, std::string& /*scratch*/) const override {
    const std::size_t place = places_[row];
    const index::block_record& b = blocks_.records()[place];
    using read = cell (*)(const index::block_record&, const trace::tables&);
    static constexpr std::array<read, 22> cells = {
        [](const auto& block, const auto&) { return id_cell(raw(block.id)); },
        [](const auto& block, const auto&) { return id_cell(raw(block.parent)); },
        [](const auto& block, const auto&) { return id_cell(raw(block.alloc)); },
        [](const auto& block, const auto&) { return id_cell(raw(block.free)); },
        [](const auto& block, const auto&) { return id_cell(raw(block.process)); },
        [](const auto& block, const auto&) { return id_cell(raw(block.thread)); },
        [](const auto& block, const auto&) { return id_cell(raw(block.device)); },
        [](const auto& block, const auto&) { return id_cell(raw(block.stream)); },
        [](const auto& block, const auto&) { return id_cell(raw(block.pool)); },
        [](const auto& block, const auto&) { return id_cell(raw(block.stack)); },
        [](const auto& block, const auto& whole) { return text(whole.text(block.name)); },
        [](const auto& block, const auto&) { return text(get_name(block.layer)); },
        [](const auto& block, const auto&) { return text(get_name(block.kind)); },
        [](const auto& block, const auto&) { return time_cell(block.born); },
        [](const auto& block, const auto&) { return time_cell(block.died); },
        [](const auto& block, const auto&) { return number(block.address); },
        [](const auto& block, const auto&) { return number(block.bytes); },
        [](const auto& block, const auto&) { return number(block.reserved_bytes); },
        [](const auto& block, const auto&) { return number(block.born_before() ? 1 : 0); },
        [](const auto& block, const auto&) { return number(block.imported() ? 1 : 0); },
        [](const auto& block, const auto&) { return number(block.death_inferred ? 1 : 0); },
        [](const auto& block, const auto&) { return number(block.freed_after() ? 1 : 0); },
    };
    if (column < cells.size()) return cells[column](b, trace_.tables());
    if (column == cells.size()) return number(blocks_.unfreed(place) ? 1 : 0);
    if (column > cells.size() + 2) return find_use(place, column - cells.size() - 3);
    const index::block_category category = blocks_.category(place);
    if (category.kind == index::category::none) return {};
    return text(column == cells.size() + 1 ? index::category_name(category.kind) : index::get_words(category.why));
  }

 private:
  /// Returns the time of the first use, that of the last use, or the number of uses.
  [[nodiscard]] cell find_use(std::size_t place, std::size_t which) const {
    if (!uses_known_) return {};
    const index::block_touches uses = blocks_.uses(place);
    if (which == 2) return number(uses.count());
    const auto& end = which == 0 ? uses.first : uses.last;
    return end.known() ? time_cell(end.time) : cell{};
  }

  const trace::snapshot& trace_;
  const std::shared_ptr<const index::event_store> store_;
  const summary::store_blocks blocks_;
  const bool uses_known_;  ///< The recording has uses of blocks.
  const std::vector<std::uint32_t> places_;
};

class stack_rows : public metric_rows {
 public:
  explicit stack_rows(const sql_context& context)
      : frames_(*context.frames),
        tables_(context.trace->tables()),
        who_(frames_, tables_, symbols::frame_cache::lookup::at_once) {}

  [[nodiscard]] std::size_t size() const override { return tables_.stacks.rows().size(); }

  [[nodiscard]] cell at(std::size_t row, std::size_t column, std::string& scratch) const override {
    const trace::stack_id id = tables_.stacks.rows()[row].id;
    constexpr auto once = symbols::frame_cache::lookup::at_once;
    if (column == 0) return id_cell(raw(id));
    scratch.clear();
    if (column <= symbols::attribution_count) {
      const auto by = static_cast<symbols::attribution>(column - 1);
      const symbols::line_id line = who_.of(id, by);
      if (line != who_.unknown(by)) scratch = symbols::to_text(frames_.line(line));
    } else {
      for (const symbols::frame_line& line : frames_.stack(id, tables_, once)) {
        if (!scratch.empty()) scratch += " < ";
        scratch += symbols::to_text(line);
      }
    }
    return text(scratch);
  }

  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> find(std::size_t column,
                                                                        const cell& value) const override {
    if (column != 0 || value.type != cell::kind::integer) return std::nullopt;
    const trace::stack_row* found = tables_.stacks.find(trace::stack_id{static_cast<std::uint64_t>(value.integer)});
    if (found == nullptr) return std::pair(std::size_t{0}, std::size_t{0});
    const auto row = static_cast<std::size_t>(found - tables_.stacks.rows().data());
    return std::pair(row, row + 1);
  }

 private:
  symbols::frame_cache& frames_;
  const trace::tables& tables_;
  mutable symbols::attributor who_;  ///< Looks up each stack only once.
};

/// The names whose readable form differs from the recorded one.
class name_rows : public metric_rows {
 public:
  explicit name_rows(const trace::tables& tables) {
    for (const trace::string_row& row : tables.strings.rows()) {
      if (!row.text.starts_with("_Z")) continue;
      std::string readable = readable_name(row.text);
      if (readable == row.text || !places_.emplace(row.text, names_.size()).second) continue;
      names_.emplace_back(row.text, std::move(readable));
    }
  }

  [[nodiscard]] std::size_t size() const override { return names_.size(); }
  [[nodiscard]] cell at(std::size_t row, std::size_t column, std::string& /*scratch*/) const override {
    return column == 0 ? text(names_[row].first) : text(names_[row].second);
  }
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> find(std::size_t column,
                                                                        const cell& value) const override {
    if (column != 0 || value.type != cell::kind::text) return std::nullopt;
    const auto found = places_.find(value.text);
    if (found == places_.end()) return std::pair(std::size_t{0}, std::size_t{0});
    return std::pair(found->second, found->second + 1);
  }

 private:
  std::vector<std::pair<std::string_view, std::string>> names_;
  std::unordered_map<std::string_view, std::size_t> places_;
};

}  // namespace

const std::span<const metric_column> block_columns = block_parts;
const std::span<const metric_column> call_stack_columns = stack_parts;
const std::span<const metric_column> readable_name_columns = name_parts;

namespace {

std::shared_ptr<const metric_rows> make_rows(const sql_context& context, const summary::recording_sections& sections,
                                             std::shared_ptr<const index::event_store> store,
                                             std::vector<std::uint32_t> places) {
  const bool uses_known = sections.stored() ? sections.stored()->uses_known : !store->touches().empty();
  return std::make_shared<const block_rows>(*context.trace, std::move(store), uses_known, std::move(places));
}

}  // namespace

made_rows make_blocks(sql_context& context, std::size_t run, std::uint64_t read) {
  const auto sections = context.sections();
  if (!sections) return tl::unexpected(sections.error());
  // As the window's table of blocks, this reads the uses of blocks only if they are wanted.
  const auto scope = read >> first_use_column == 0 ? index::section_scope::memory : index::section_scope::everything;
  auto store = (*sections)->get(run, scope);
  if (!store) return tl::unexpected(store.error());
  const auto blocks = (*store)->memory().blocks();
  std::vector<std::uint32_t> places =
      summary::store_blocks(**store, *context.trace).begun_in((*sections)->range_of(run));
  // A part of the recording has the blocks that live on after it before all others.
  if ((*store)->is_part())
    std::sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(blocks[a].born, blocks[a].alloc) < std::pair(blocks[b].born, blocks[b].alloc);
    });
  return make_rows(context, **sections, std::move(*store), std::move(places));
}

made_rows look_up_block(sql_context& context, const cell& id) {
  if (id.type != cell::kind::integer) return std::make_shared<const held_rows>();
  const auto sections = context.sections();
  if (!sections) return tl::unexpected(sections.error());
  const trace::block_id wanted{static_cast<std::uint64_t>(id.integer)};
  auto store = (*sections)->find(wanted);
  if (!store) return tl::unexpected(store.error());
  if (*store == nullptr) return std::make_shared<const held_rows>();
  const index::memory_use& memory = (*store)->memory();
  const auto place = static_cast<std::uint32_t>(memory.find(wanted) - memory.blocks().data());
  return make_rows(context, **sections, std::move(*store), {place});
}

made_rows make_call_stacks(sql_context& context, std::optional<time_range> /*range*/) {
  return std::make_shared<const stack_rows>(context);
}

made_rows make_readable_names(sql_context& context, std::optional<time_range> /*range*/) {
  return std::make_shared<const name_rows>(context.trace->tables());
}

}  // namespace sluice::query
