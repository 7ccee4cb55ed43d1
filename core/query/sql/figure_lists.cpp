#include <array>
#include <unordered_map>

#include "core/base/format.hpp"
#include "core/figures/unfreed.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/query/sql/figure_tables.hpp"
#include "core/symbols/attribution.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

using type = column_type;

constexpr std::array block_parts = {
    figure_column{"id", "The block", type::id, id_kind::block},
    figure_column{"parent", "The segment of the layer below that holds it, when known", type::id, id_kind::block},
    figure_column{"alloc", "The event of its allocation", type::id, id_kind::event},
    figure_column{"free", "The event of its free", type::id, id_kind::event},
    figure_column{"process", "The process it belongs to", type::id, id_kind::process},
    figure_column{"thread", "The host thread that asked for it", type::id, id_kind::thread},
    figure_column{"device", "The device; null for host memory", type::id, id_kind::device},
    figure_column{"stream", "The stream it is ordered on", type::id, id_kind::stream},
    figure_column{"pool", "The pool it came from", type::id, id_kind::pool},
    figure_column{"stack", "The call stack that asked for it", type::id, id_kind::stack},
    figure_column{"name", "The API or the tag that made it", type::text},
    figure_column{"layer", "Who manages it: driver, pool, framework or user. Layers hold one another: never add two",
                  type::text},
    figure_column{"kind", "The kind of memory", type::text},
    figure_column{"born", "When the host had it", type::time},
    figure_column{"died", "When its free was asked for; null: never freed", type::time},
    figure_column{"address", "Where it is", type::size},
    figure_column{"bytes", "What was asked for", type::size},
    figure_column{"reserved_bytes", "What it takes in its pool; 0: the same as bytes", type::size},
    figure_column{"born_before", "1: it was there before the recording", type::flag},
    figure_column{"imported", "1: its bytes belong to another process and are counted there", type::flag},
    figure_column{"death_inferred", "1: no event frees it, but a checkpoint after a loss knows it no more", type::flag},
    figure_column{"freed_after", "1: it was freed after the end of the recording, which is a part of a longer one",
                  type::flag},
    figure_column{
        "unfreed",
        "1: never freed, as the report counts it: without what was there before, is imported, or was born in the "
        "last half second before the process was killed or the file was cut",
        type::flag},
    figure_column{"category", "What a framework's block is for: weight, gradient, ...; null: not known", type::text},
    figure_column{"category_why", "What led to the category; \"the program said so\" is exact, the others are inferred",
                  type::text},
};

constexpr std::array stack_parts = {
    figure_column{"id", "The stack", type::id, id_kind::stack},
    figure_column{"line", "The line to name it by: the innermost of the program's own code", type::text, id_kind::none,
                  text_role::message},
    figure_column{"caller", "The line of the program's own code that called the function of that line", type::text,
                  id_kind::none, text_role::message},
    figure_column{"module", "The innermost Class.forward, or Class.__call__; of native code the class or namespace",
                  type::text, id_kind::none, text_role::message},
    figure_column{"package", "The Python package that asked; without Python the shared library", type::text},
    figure_column{"owner", "The library that called the driver: PyTorch, NCCL, cuBLAS, ...; null: not recorded",
                  type::text},
    figure_column{"text", "All its lines, innermost first, with \" < \" between", type::text, id_kind::none,
                  text_role::message},
};

constexpr std::array name_parts = {
    figure_column{"symbol", "As recorded", type::text, id_kind::none, text_role::code},
    figure_column{"name", "Demangled", type::text, id_kind::none, text_role::code},
};

cell id_cell(std::uint64_t id) {
  return id == 0 ? cell{} : cell{cell::kind::integer, static_cast<std::int64_t>(id), 0, {}};
}
cell number(std::uint64_t value) { return {cell::kind::integer, static_cast<std::int64_t>(value), 0, {}}; }
cell time_cell(time_ns time) { return time == trace::unknown_time ? cell{} : cell{cell::kind::integer, time, 0, {}}; }
cell text(std::string_view words) { return words.empty() ? cell{} : cell{cell::kind::text, 0, 0, words}; }

class block_rows : public figure_rows {
 public:
  block_rows(const sql_context& context, const analysis::index& index)
      : trace_(*context.trace), index_(index), cut_(trace_), facts_(index.tensors(*context.trace)) {
    const auto blocks = index.memory().blocks();
    places_.reserve(blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i].allocated) places_.push_back(i);
  }

  [[nodiscard]] std::size_t size() const override { return places_.size(); }

  [[nodiscard]] cell at(std::size_t row, std::size_t column, std::string& /*scratch*/) const override {
    const std::size_t place = places_[row];
    const analysis::block_record& b = index_.memory().blocks()[place];
    using read = cell (*)(const analysis::block_record&, const trace::tables&);
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
        [](const auto& block, const auto& all) { return text(all.text(block.name)); },
        [](const auto& block, const auto&) { return text(name_of(block.layer)); },
        [](const auto& block, const auto&) { return text(name_of(block.kind)); },
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
    if (column == cells.size()) return number(analysis::is_unfreed(b, cut_) ? 1 : 0);
    if (!facts_ || place >= facts_->categories.size()) return {};
    const analysis::block_category& what = facts_->categories[place];
    if (what.what == analysis::category::none) return {};
    return text(column == cells.size() + 1 ? analysis::category_name(what.what) : analysis::words_of(what.why));
  }

  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> find(std::size_t column,
                                                                        const cell& value) const override {
    if (column != 0 || value.is != cell::kind::integer) return std::nullopt;
    const auto blocks = index_.memory().blocks();
    const analysis::block_record* found =
        index_.memory().find(trace::block_id{static_cast<std::uint64_t>(value.integer)});
    if (found == nullptr) return std::pair(std::size_t{0}, std::size_t{0});
    const auto place =
        std::lower_bound(places_.begin(), places_.end(), static_cast<std::size_t>(found - blocks.data()));
    const auto row = static_cast<std::size_t>(place - places_.begin());
    return std::pair(row, std::min(row + 1, places_.size()));
  }

 private:
  const trace::snapshot& trace_;
  const analysis::index& index_;
  const analysis::cut_end cut_;
  std::shared_ptr<const analysis::tensor_facts> facts_;
  std::vector<std::size_t> places_;
};

class stack_rows : public figure_rows {
 public:
  explicit stack_rows(const sql_context& context)
      : frames_(*context.frames),
        tables_(context.trace->tables()),
        who_(frames_, tables_, symbols::frame_book::lookup::at_once) {}

  [[nodiscard]] std::size_t size() const override { return tables_.stacks.rows().size(); }

  [[nodiscard]] cell at(std::size_t row, std::size_t column, std::string& scratch) const override {
    const trace::stack_id id = tables_.stacks.rows()[row].id;
    constexpr auto how = symbols::frame_book::lookup::at_once;
    if (column == 0) return id_cell(raw(id));
    scratch.clear();
    if (column <= symbols::attribution_count) {
      const auto by = static_cast<symbols::attribution>(column - 1);
      const symbols::line_id line = who_.of(id, by);
      if (line != who_.unknown(by)) scratch = symbols::text_of(frames_.line(line));
    } else {
      for (const symbols::frame_line& line : frames_.stack(id, tables_, how)) {
        if (!scratch.empty()) scratch += " < ";
        scratch += symbols::text_of(line);
      }
    }
    return text(scratch);
  }

  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> find(std::size_t column,
                                                                        const cell& value) const override {
    if (column != 0 || value.is != cell::kind::integer) return std::nullopt;
    const trace::stack_row* found = tables_.stacks.find(trace::stack_id{static_cast<std::uint64_t>(value.integer)});
    if (found == nullptr) return std::pair(std::size_t{0}, std::size_t{0});
    const auto row = static_cast<std::size_t>(found - tables_.stacks.rows().data());
    return std::pair(row, row + 1);
  }

 private:
  symbols::frame_book& frames_;
  const trace::tables& tables_;
  mutable symbols::attributor who_;  ///< Looks each stack up once.
};

/// Names whose readable form differs from the recorded one.
class name_rows : public figure_rows {
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
    if (column != 0 || value.is != cell::kind::text) return std::nullopt;
    const auto found = places_.find(value.text);
    if (found == places_.end()) return std::pair(std::size_t{0}, std::size_t{0});
    return std::pair(found->second, found->second + 1);
  }

 private:
  std::vector<std::pair<std::string_view, std::string>> names_;
  std::unordered_map<std::string_view, std::size_t> places_;
};

}  // namespace

const std::span<const figure_column> block_columns = block_parts;
const std::span<const figure_column> call_stack_columns = stack_parts;
const std::span<const figure_column> readable_name_columns = name_parts;

made_rows make_blocks(sql_context& context, std::optional<analysis::time_range> /*range*/) {
  const analysis::index* index = context.analysed();
  if (index == nullptr) return tl::unexpected(context.stop_reason());
  return std::make_shared<const block_rows>(context, *index);
}

made_rows make_call_stacks(sql_context& context, std::optional<analysis::time_range> /*range*/) {
  return std::make_shared<const stack_rows>(context);
}

made_rows make_readable_names(sql_context& context, std::optional<analysis::time_range> /*range*/) {
  return std::make_shared<const name_rows>(context.trace->tables());
}

}  // namespace sluice::query
