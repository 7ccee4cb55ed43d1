#include "app/gui/views/uses_table.hpp"

#include "app/gui/views/timeline/track_row.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

query::slice_kind get_slice_kind(const query::block_use& use) {
  if (use.kind == query::use_kind::fill) return query::slice_kind::memset;
  if (use.kind == query::use_kind::graph) return query::slice_kind::graph;
  return query::slice_kind::kernel;
}

ImU32 choose_colour(const query::block_use& use, const theme& colours) {
  if (use.kind == query::use_kind::copy) return colours.directions[static_cast<std::size_t>(use.direction)];
  return colours.slice(get_slice_kind(use));
}

/// A short name, and the full one.
std::pair<std::string, std::string> get_names(const query::block_use& use) {
  const std::string size = use.bytes > 0 ? ", " + format_bytes(use.bytes) : std::string();
  const std::string name = use.name.empty() ? "kernel" : short_name(use.name);
  switch (use.kind) {
    case query::use_kind::copy:
      return {std::string(get_name(use.direction)) + size, std::string(get_name(use.direction))};
    case query::use_kind::fill:
      return {"memset" + size, "memset"};
    case query::use_kind::graph:
      return {name + " (graph)", use.name};
    case query::use_kind::kernel:
      break;
  }
  return {name, use.name};
}

}  // namespace

time_range get_time(const query::block_use& use) {
  return use.device.begin == trace::unknown_time ? time_range{use.enqueued, use.enqueued} : use.device;
}

table_of<query::block_use> make_table_of_uses(const query::block_use_list& uses, const theme& colours) {
  table_of<query::block_use> table("Uses", uses.uses);
  table.text("used by", "used_by", [&colours](const auto& each) {
    const auto [brief, full] = get_names(each);
    return table_cell::words(brief, full).marked(choose_colour(each, colours)).in(tone::link);
  });
  table.moment("at", "at_ns", [](const auto& each) { return get_time(each).begin; })
      .tip("When the device ran it. If that was not recorded, when the program enqueued it.")
      .wide(84);
  table.text("line", "line", [](const auto& each) { return each.line; })
      .tip("The line of code that issued it.")
      .wide(150);
  table.text("stream", "stream", [](const auto& each) { return each.stream; }).wide(100);
  table.duration("", "duration_ns", [](const auto& each) {
    return each.device.begin == trace::unknown_time ? std::nullopt : std::optional(each.device.end - each.device.begin);
  });
  table.bytes("", "bytes", [](const auto& each) { return each.bytes; });
  return table;
}

std::vector<std::string> describe(const query::block_use_list& uses) {
  std::vector<std::string> words;
  if (uses.more) words.push_back("Only the first " + format_count(uses.uses.size()) + " uses are listed.");
  if (!uses.kernels_known) {
    words.emplace_back(
        "Uses by kernels were not recorded. A recording made by Sluice has them (File, Record a program), unless "
        "they were turned off.");
  } else if (uses.uses.empty()) {
    words.emplace_back("No kernel with this block as an argument, and no copy, was recorded.");
  }
  return words;
}

}  // namespace sluice::gui
