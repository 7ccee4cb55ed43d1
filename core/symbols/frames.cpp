#include "core/symbols/frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "core/base/format.hpp"
#include "core/base/recorded_path.hpp"
#include "core/symbols/code_files.hpp"
#include "core/symbols/untrusted_symbols.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::symbols {
namespace {

using trace::frame_kind;

std::string reason(verdict why, std::string_view module) {
  const std::string_view file = file_name(module);
  switch (why) {
    case verdict::found:
      break;
    case verdict::no_symbols:
      return fmt::format("no symbols in {}", file);
    case verdict::other_build:
      return fmt::format("another build of {} is here", file);
    case verdict::no_file:
      return fmt::format("{} is not on this machine", file);
    case verdict::unreadable:
      return fmt::format("{} cannot be read", file);
    case verdict::untrusted:
      return std::string(file).append(untrusted_symbols);
  }
  return {};
}

/// True for the frames between a call and the recorder. These are not part of the program.
bool is_of_recorder(std::string_view module) {
  const std::string_view file = file_name(module);
  return file.starts_with("libcupti") || file.starts_with("libsluice_capture");
}

}  // namespace

std::string get_name(const frame_line& line) {
  if (!line.function.empty()) return line.function;
  if (line.kind == frame_kind::native && !line.module.empty())
    return fmt::format("{}+0x{:x}", file_name(line.module), line.address);
  if (line.kind == frame_kind::native && line.address != 0) return format_address(line.address);
  return "unknown frame";
}

std::string get_place(const frame_line& line) {
  if (!line.file.empty())
    return line.line > 0 ? fmt::format("{}:{}", last_parts(line.file, 2), line.line)
                         : std::string(last_parts(line.file, 2));
  return line.function.empty() ? std::string() : std::string(file_name(line.module));
}

std::string format_place_and_name(const frame_line& line) {
  const std::string name = get_name(line);
  const std::string place = get_place(line);
  return place.empty() || place == name ? name : fmt::format("{}, {}", place, name);
}

std::string to_text(const frame_line& line) {
  std::string text = get_name(line);
  if (!line.file.empty()) {
    text += fmt::format(" at {}", line.file);
    if (line.line > 0) text += fmt::format(":{}", line.line);
  } else if (!line.module.empty()) {
    text += fmt::format(" in {}", line.module);
  }
  if (line.inlined) text += " (inlined)";
  if (!line.missing.empty()) text += fmt::format(" ({})", line.missing);
  return text;
}

std::size_t line_to_name(std::span<const frame_line* const> stack) {
  const auto first = [&](auto&& wanted) {
    return static_cast<std::size_t>(std::find_if(stack.begin(), stack.end(), wanted) - stack.begin());
  };
  std::size_t found = first([](const frame_line* l) { return l->kind == frame_kind::python && l->own; });
  if (found == stack.size()) found = first([](const frame_line* l) { return l->own && !l->function.empty(); });
  if (found == stack.size()) found = first([](const frame_line* l) { return l->own; });
  if (found == stack.size()) found = first([](const frame_line* l) { return l->kind == frame_kind::python; });
  if (found == stack.size()) found = first([](const frame_line* l) { return !l->function.empty(); });
  return found == stack.size() && !stack.empty() ? 0 : found;
}

namespace {

/// True for the statically linked CUDA runtime (the default of nvcc), which is not code of the program itself.
bool is_linked_runtime(const code_location& at) {
  const std::string_view name = at.function;
  constexpr std::string_view api = "cuda";  // A function is named cudaMemcpyAsync, for example, if there is no debug
                                            // information.
  const bool of_api = at.file.empty() && name.starts_with(api) && name.size() > api.size() && name[4] >= 'A' &&
                      name[4] <= 'Z' && name.find_first_of("(:") == std::string_view::npos;
  return name.starts_with("libcudart_static_") || of_api;
}

}  // namespace

frame_cache_options options_for(const trace::snapshot& trace) {
  return {.symbols = {.local = trace.local()}, .recorded_at = trace.realtime_origin()};
}

std::optional<std::string> untrusted_note(const trace::snapshot& trace) {
  if (trace.local().any()) return std::nullopt;
  const trace::tables& tables = trace.tables();
  const auto& frames = tables.frames.rows();
  const bool wants = std::any_of(frames.begin(), frames.end(), [&](const trace::frame_row& frame) {
    return frame.kind == frame_kind::native ? frame.function == trace::string_id::none
                                            : is_absolute_path(tables.text(frame.file));
  });
  return wants ? std::optional<std::string>(untrusted_remark) : std::nullopt;
}

frame_cache::frame_cache(frame_cache_options options) : options_(std::move(options)), resolver_(options_.symbols) {}

line_id frame_cache::put(frame_line&& line) {
  std::string key =
      fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}", static_cast<int>(line.kind), line.function, line.file,
                  line.line, line.module, line.function.empty() ? line.address : 0, line.inlined, line.missing);
  const auto [place, fresh] = by_text_.try_emplace(std::move(key), static_cast<line_id>(lines_.size()));
  if (fresh) lines_.push_back(std::move(line));
  return place->second;
}

line_id frame_cache::remark(std::string_view words) {
  const std::scoped_lock lock(mutex_);
  frame_line line;
  line.function = words;
  return put(std::move(line));
}

line_id frame_cache::add(frame_line line) {
  const std::scoped_lock lock(mutex_);
  return put(std::move(line));
}

frame_line frame_cache::line(line_id id) {
  const std::scoped_lock lock(mutex_);
  return id < lines_.size() ? lines_[id] : frame_line{};
}

void frame_cache::learn_modules(const trace::tables& tables) {
  const auto& rows = tables.modules.rows();
  for (; modules_seen_ < rows.size(); ++modules_seen_) {
    const trace::module_row& row = rows[modules_seen_];
    build_ids_[raw(row.path)] = std::string(tables.text(row.build_id));
  }
}

const frame_cache::frame_lines& frame_cache::put_native(const wish& about, const resolution* found) {
  frame_lines& lines = by_frame_[about.frame];
  lines = {};
  lines.provisional = found == nullptr;
  frame_line line;
  line.kind = frame_kind::native;
  line.module = about.module;
  line.address = about.address;
  line.function = about.name;
  if (found != nullptr)
    for (const code_location& at : found->places) {
      frame_line each = line;
      each.function = at.function;
      each.file = at.file;
      each.line = at.line;
      each.inlined = at.inlined;
      each.own = is_own_file(frame_kind::native, about.module) && !is_linked_runtime(at) &&
                 (at.file.empty() || is_own_file(frame_kind::native, at.file));
      lines.ids.push_back(put(std::move(each)));
    }
  if (lines.ids.empty()) {
    line.own = is_own_file(frame_kind::native, about.module);
    if (found != nullptr && line.function.empty()) line.missing = reason(found->why, about.module);
    lines.ids.push_back(put(std::move(line)));
  }
  return lines;
}

frame_cache::frame_lines frame_cache::get_lines(trace::frame_id frame, const trace::tables& tables, lookup options) {
  wish about;
  {
    const std::scoped_lock lock(mutex_);
    const auto known = by_frame_.find(raw(frame));
    if (known != by_frame_.end() && (!known->second.provisional || options == lookup::later)) return known->second;
    const trace::frame_row* row = tables.frames.find(frame);
    if (row == nullptr) return {{put({})}, false};
    const std::string_view function = tables.text(row->function);
    // A recorded name serves if the code is not on this machine. Here, its file may have source lines, too.
    const bool looked_up = row->kind == frame_kind::native && (function.empty() || row->address != 0);
    if (!looked_up) {
      frame_line line;
      line.kind = row->kind;
      line.function = readable_name(function);
      line.file = tables.text(row->file);
      line.line = row->line;
      line.module = tables.text(row->module);
      line.address = row->address;
      line.own = is_own_file(row->kind, line.file.empty() ? line.module : line.file);
      if (const auto origin = find_origin(tables.text(row->file))) {
        line.function = origin->function;
        line.file = origin->file;
        line.line = origin->line;
      }
      return by_frame_[raw(frame)] = {{put(std::move(line))}, false};
    }
    if (is_of_recorder(tables.text(row->module))) return by_frame_[raw(frame)] = {};
    learn_modules(tables);
    const auto build_id = build_ids_.find(raw(row->module));
    about = {raw(frame), std::string(tables.text(row->module)),
             build_id == build_ids_.end() ? std::string() : build_id->second, row->address, readable_name(function)};
    if (options == lookup::later) {
      const frame_lines& lines = put_native(about, nullptr);
      wishes_.push_back(std::move(about));
      return lines;
    }
  }
  // Recorded addresses are return addresses. The call ends one byte before.
  const resolution found = resolver_.find(about.module, about.build_id, about.address - (about.address > 0 ? 1 : 0));
  const std::scoped_lock lock(mutex_);
  return put_native(about, &found);
}

bool frame_cache::work(std::chrono::steady_clock::time_point deadline) {
  for (bool more = true; more;) {
    wish about;
    {
      const std::scoped_lock lock(mutex_);
      if (wishes_.empty()) {
        working_ = false;
        return false;
      }
      about = std::move(wishes_.front());
      wishes_.pop_front();
    }
    const resolution found = resolver_.find(about.module, about.build_id, about.address - (about.address > 0 ? 1 : 0));
    const std::scoped_lock lock(mutex_);
    put_native(about, &found);
    // The generation is increased only once, at the end, so that callers are not notified of every single symbol.
    more = std::chrono::steady_clock::now() < deadline && !wishes_.empty();
  }
  generation_.fetch_add(1, std::memory_order_release);
  const std::scoped_lock lock(mutex_);
  working_ = !wishes_.empty();
  return working_;
}

bool frame_cache::wants_work() {
  const std::scoped_lock lock(mutex_);
  if (wishes_.empty() || working_) return false;
  working_ = true;
  return true;
}

bool frame_cache::is_own(line_id id) {
  const std::scoped_lock lock(mutex_);
  return id < lines_.size() && (lines_[id].own || lines_[id].kind == frame_kind::unknown);
}

std::vector<frame_line> frame_cache::describe(std::span<const line_id> ids, const trace::tables& tables) {
  std::vector<frame_line> lines;
  lines.reserve(ids.size());
  {
    const std::scoped_lock lock(mutex_);
    for (const line_id id : ids) lines.push_back(id < lines_.size() ? lines_[id] : frame_line{});
  }
  put_sources(lines, tables);
  return lines;
}

std::vector<line_id> frame_cache::lines_of_stack(trace::stack_id id, const trace::tables& tables, lookup options,
                                                 bool* provisional) {
  std::vector<line_id> ids;
  std::unordered_set<std::uint64_t> seen;
  for (std::size_t depth = 0; id != trace::stack_id::none; ++depth) {
    const trace::stack_row* row = tables.stacks.find(id);
    if (row == nullptr) break;
    if (depth >= deepest || !seen.insert(raw(id)).second) {
      ids.push_back(remark(cut_remark));
      break;
    }
    const frame_lines lines = get_lines(row->frame, tables, options);
    ids.insert(ids.end(), lines.ids.begin(), lines.ids.end());
    if (lines.provisional && provisional != nullptr) *provisional = true;
    id = row->parent;
  }
  return ids;
}

std::vector<frame_line> frame_cache::stack(trace::stack_id id, const trace::tables& tables, lookup options,
                                           bool* provisional) {
  return describe(lines_of_stack(id, tables, options, provisional), tables);
}

line_id frame_cache::get_line(trace::stack_id id, const trace::tables& tables, lookup options, bool* provisional) {
  std::unordered_set<std::uint64_t> seen;
  for (trace::stack_id at = id; at != trace::stack_id::none && seen.size() < deepest && seen.insert(raw(at)).second;) {
    const trace::stack_row* row = tables.stacks.find(at);
    const trace::frame_row* frame = row == nullptr ? nullptr : tables.frames.find(row->frame);
    if (frame == nullptr) break;
    if (frame->kind == frame_kind::python && is_own_file(frame->kind, tables.text(frame->file)))
      return get_lines(row->frame, tables, options).ids.front();
    at = row->parent;
  }
  const std::vector<line_id> ids = lines_of_stack(id, tables, options, provisional);
  if (ids.empty()) return remark("unknown stack");
  const std::scoped_lock lock(mutex_);
  std::vector<const frame_line*> lines;
  for (const line_id each : ids) lines.push_back(&lines_[each]);  // The elements of a deque do not move.
  return ids[line_to_name(lines)];
}

}  // namespace sluice::symbols
