// Records of graphs, of blocks that launches touch, and of GPU faults.
#include <algorithm>
#include <cstring>

#include "core/trace/model/driver_results.hpp"
#include "instrumentation/writer/record_decoder/record_decoder.hpp"

namespace sluice::writer {

using namespace trace;

void record_decoder::on(const context& c, const ring::graph_launch_record& r) {
  process_names& names = c.process.names;
  auto row = begin<graph_launch_event>(c);
  row.end = end_time(c, r.end);
  row.graph = c.process.graphs.launched(r.correlation, r.graph);
  row.device = names_.device(names, r.device);
  row.stream = names_.stream(names, r.stream);
  row.correlation = r.correlation;
  file_.add(row);
}

void record_decoder::on(const context& c, const ring::graph_call_record& r) {
  c.process.graphs.launch(r.graph, r.correlation, begin<graph_launch_event>(c));
}

void record_decoder::on(const context& c, const ring::graph_definition_record& r) {
  auto row = begin<graph_definition_event>(c);
  if (r.source != 0) c.process.blocks.add_graph(r.source, r.graph);
  row.graph = r.source != 0 ? c.process.graphs.make(r.graph, r.source, row) : c.process.graphs.begin(r.graph);
  row.nodes = r.nodes;
  row.name = names_.text(r.name);
  file_.add(row);
}

namespace {
/// Calls `use` for each of the words after the record, at most `count`.
template <class Record, class Use>
void for_each_word(const record_view& record, std::uint32_t count, Use&& use) {
  const std::span<const std::byte> words = record.bytes.subspan(std::min(record.bytes.size(), sizeof(Record)));
  const std::size_t there = std::min<std::size_t>(count, words.size() / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < there; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, words.data() + i * sizeof word, sizeof word);
    use(word);
  }
}
}  // namespace

void record_decoder::on_touch(const context& c, const record_view& record) {
  const auto r = decode<ring::touch_record>(record);
  auto row = begin<touch_event>(c);
  row.stream = names_.stream(c.process.names, r.stream);
  row.correlation = r.correlation;
  row.name = names_.text(r.name);
  launch_.continue_with(row);
  for_each_word<ring::touch_record>(record, r.count, [&](std::uint64_t word) {
    const block_id block = c.process.blocks.find_at(word, c.time);
    if (block != block_id::none && launch_.is_new(block)) file_.start(row).block = block;
  });
}

void record_decoder::on_node_touch(const context& c, const record_view& record) {
  const auto r = decode<ring::node_touch_record>(record);
  graph_nodes::use what;
  what.row = begin<touch_event>(c);
  what.row.stream = names_.stream(c.process.names, r.stream);
  what.row.correlation = r.correlation;
  what.row.name = names_.text(r.name);
  for_each_word<ring::node_touch_record>(record, r.count, [&](std::uint64_t address) {
    const block_id block = c.process.blocks.find(address);
    if (block != block_id::none) what.blocks.push_back(block);
  });
  c.process.graphs.set(r.graph, r.node, std::move(what), r.more != 0);
}

/// Writes a message for people; attributes contain the same data for programs (core/index/memory/faults.hpp).
void record_decoder::on_fault(const context& c, const record_view& record) {
  const auto r = decode<ring::fault_record>(record);
  process_names& names = c.process.names;
  const stream_id stream = names_.stream(names, r.stream);
  const string_id call = names_.text(r.name);
  auto row = begin<message_event>(c);
  row.severity = severity::error;
  const char* error = name_of_result(r.status);
  row.text = names_.text_id(std::string("the GPU faulted: ") + (error == nullptr ? "error " : error) + " (" +
                            std::to_string(r.status) + ") in process " + std::to_string(names.row.pid) +
                            "; every later CUDA call in that context fails");
  const auto message = static_cast<event_id>(file_.add(row));
  const auto say = [&](std::string_view key, time_ns time, std::int64_t number, string_id word) {
    auto about = begin<attribute_event>(c);
    about.time = time;
    about.target = message;
    about.key = names_.text_id(key);
    about.integer = number;
    about.text = word;
    file_.add(about);
  };
  say("gpu fault", c.time, r.status, string_id::none);
  say("seen by", c.time, static_cast<std::int64_t>(stream), call);
  constexpr std::size_t words_each = 3;
  const std::span<const std::byte> words = record.bytes.subspan(std::min(record.bytes.size(), sizeof r));
  const std::size_t count = std::min<std::size_t>(r.count, words.size() / (words_each * sizeof(std::uint64_t)));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word[words_each];
    std::memcpy(word, words.data() + i * sizeof word, sizeof word);
    say("launched before", convert(c, word[0]), static_cast<std::int64_t>(names_.stream(names, word[2])),
        names_.text(word[1]));
  }
}

}  // namespace sluice::writer
