// Writes folded stacks for flamegraph.pl, speedscope and inferno. Each line is one stack, with the outermost frame
// first and ";" between frames, then the bytes or, for samples of the host, the ns.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/export/formats.hpp"
#include "core/query/results/query_operator.hpp"
#include "core/summary/passes/recording_sections.hpp"

namespace sluice::exports {
namespace {

constexpr std::array<std::pair<std::string_view, query::stack_measure>, 4> measures = {
    {{"peak", query::stack_measure::peak},
     {"allocated", query::stack_measure::allocated},
     {"transferred", query::stack_measure::transferred},
     {"host", query::stack_measure::host}}};

result<query::stack_measure> get_measure(const std::string& name) {
  if (name.empty()) return query::stack_measure::peak;
  for (const auto& [word, measure] : measures)
    if (word == name) return measure;
  return fail(error_code::invalid_argument, "unknown measure '" + name + "'", "--measure",
              "choose peak, allocated, transferred or host");
}

/// Returns the metric whose value follows each stack.
metrics::stack_weight get_weight(query::stack_measure measure) {
  return measure == query::stack_measure::host ? metrics::stack_weight::busy : metrics::stack_weight::bytes;
}

/// Returns a frame as "forward (nn/linear.py:114)", without the characters that end a frame or a line.
std::string frame_text(const symbols::frame_line& line, job& export_job) {
  std::string text = symbols::get_name(line);
  std::string place = symbols::get_place(line);
  if (export_job.redactor().active()) {
    place = export_job.text(line.file.empty() ? line.module : line.file, text_role::path);
    if (!line.file.empty() && line.line != 0) place += ":" + std::to_string(line.line);
  }
  text = export_job.text(text, text_role::code);
  if (!place.empty()) text += " (" + place + ")";
  std::replace(text.begin(), text.end(), ';', ',');
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

/// Sums up the stacks over the sections of the recording.
result<query::stack_view> sum_up(job& export_job, const query::stacks_query& query) {
  const std::shared_ptr<const trace::snapshot> trace(std::shared_ptr<void>(), &export_job.trace());
  const auto sections =
      summary::recording_sections::open(trace, [&export_job] { return !export_job.cancelled().load(); });
  if (!sections) return tl::unexpected(sections.error());
  symbols::frame_cache frames(symbols::options_for(*trace));
  bool provisional = false;
  const auto sum = query::make_operator(query);
  result<query::stack_view> view;
  const auto chunks = trace->chunks();
  std::size_t chunks_done = 0;
  const auto add = [&](const index::event_store& store, time_range part) -> result<void> {
    const query::sources source{.index = store,
                                .trace = *trace,
                                .cancelled = export_job.cancelled(),
                                .frames = frames,
                                .provisional = provisional};
    if (auto added = sum->add(source, part); !added) return added;
    for (; chunks_done < chunks.size() && chunks[chunks_done].min_time < part.end; ++chunks_done)
      if (auto on = export_job.chunk_done(chunks[chunks_done]); !on) return on;
    if (part.end >= query.range.end) view = sum->finish(source);
    return {};
  };
  result<void> added;
  const auto read =
      (*sections)->for_each(query::get_scope(query), query.range, [&](const auto& store, time_range part) {
        added = add(store, part);
        return added.has_value();
      });
  if (!read) return tl::unexpected(read.error());
  if (!added) return tl::unexpected(added.error());
  return view;
}

result<query::stack_view> list_stacks(job& export_job, query::stack_measure measure) {
  query::stacks_query query;
  query.range = export_job.range();
  query.measure = measure;
  query.weight = get_weight(measure);
  const bool of_threads = measure == query::stack_measure::host;
  for (const subject& one : export_job.wanted().only) {
    if (of_threads && one.kind == query::id_kind::thread) {
      query.thread = trace::thread_id{one.id};
      continue;
    }
    if (one.kind != query::id_kind::device)
      return fail(error_code::invalid_argument, "folded stacks can only be filtered by one device", "--only",
                  of_threads ? "expected device:ID or thread:ID" : "expected device:ID");
    query.device = trace::device_id{one.id};
  }
  return sum_up(export_job, query);
}

}  // namespace

output_shape shape_of_folded(const options& /*wanted*/) { return output_shape::stream; }

result<void> write_folded(job& export_job, output& to) {
  const auto measure = get_measure(export_job.wanted().measure);
  if (!measure) return tl::unexpected(measure.error());
  const auto view = list_stacks(export_job, *measure);
  if (!view) return tl::unexpected(view.error());
  const metrics::stack_weight weight = get_weight(*measure);
  if (*measure == query::stack_measure::host && view->tree.nodes.front().all.count == 0)
    export_job.note("the recording has no samples of host threads in this range");
  if (!view->recorded) export_job.note("no call stacks were recorded, so the output is a single line");
  if (view->choice) export_job.note("memory: " + view->choices[*view->choice].label);
  if (view->tree.cut) export_job.note("some stacks are truncated, because they are too deep or too many");
  std::vector<std::string> frames;
  for (const symbols::frame_line& line : view->lines) frames.push_back(frame_text(line, export_job));
  std::vector<std::uint32_t> path;  // The lines from the outermost one to the node. Nodes are in preorder.
  for (const metrics::stack_node& node : view->tree.nodes) {
    if (node.depth == 0) continue;
    path.resize(node.depth - 1);
    path.push_back(node.line);
    const std::uint64_t value = metrics::get_weight(node.own, weight);
    if (value == 0) continue;
    std::string text;
    for (const std::uint32_t line : path) text.append(text.empty() ? "" : ";").append(frames[line]);
    text += " " + std::to_string(value) + "\n";
    if (auto written = to.write(text); !written) return written;
    export_job.count_rows(1);
  }
  return {};
}

}  // namespace sluice::exports
