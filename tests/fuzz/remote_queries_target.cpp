// Queries that another machine sends to a server, over a small recording with summaries: every query gets a result or
// is rejected.
// (Queries in SQL have a separate target.)
#include <chrono>
#include <cstring>
#include <thread>

#include "core/base/files/scratch_file.hpp"
#include "core/generate/generate.hpp"
#include "core/query/elsewhere/queries.hpp"
#include "core/query/elsewhere/question_desk.hpp"
#include "core/query/results/result_functions.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/trace/file/reader.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::remote_queries {
namespace {

/// The queried recording: two processes, and several sections that a view must combine.
std::shared_ptr<trace::file> recording() {
  const auto folder = scratch_folder::make().value();
  const std::string plain = folder.path() + "/plain.sluice";
  const std::string text = folder.path() + "/made.sluice";
  generate::generate_options options;
  options.events = 3'000;
  options.processes = 2;
  if (!generate::generate(options, plain)) return nullptr;
  const auto source = trace::file::open(plain).value()->latest();
  auto to = trace::file_writer::create(text).value();
#define SLUICE_COPY(row, kind) \
  if (!source->for_each<trace::row>([&](const trace::row& each) { to.add(each); })) return nullptr;
  SLUICE_FOR_EACH_ROW(SLUICE_COPY)
#undef SLUICE_COPY
  summary::finalize_options summing_up;
  summing_up.min_events = 1;
  summing_up.section_events = 500;
  if (!summary::finalize(to, summing_up)) return nullptr;
  return trace::file::open(text).value();  // The file stays open after its folder is deleted.
}

query::engine& asked() {
  static query::engine engine(recording(), {.threads = 1, .wake = {}, .elsewhere = {}});
  return engine;
}

void run(std::span<const std::uint8_t> input) {
  constexpr std::uint16_t number_of_sql = 0xffff;
  std::uint16_t number = 0;
  if (input.size() < sizeof number) return;
  std::memcpy(&number, input.data(), sizeof number);
  query::question_desk desk(asked());
  if (number == number_of_sql || !desk.ask(1, std::as_bytes(input))) return;
  for (bool answered = false; !answered;) {
    const auto next = desk.next();
    answered = next && next->last;
    if (!next) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

template <class Query>
void add(std::vector<bytes>& to, const Query& query) {
  const std::vector<std::byte> encoded = query::encode_query(query);
  const auto* first = reinterpret_cast<const std::uint8_t*>(encoded.data());
  to.emplace_back(first, first + encoded.size());
}

query::blocks_query blocks_in(time_range range) {
  query::blocks_query blocks_query;
  blocks_query.range = range;
  return blocks_query;
}

/// One query of each type, and one of each kind of track.
std::vector<bytes> seeds() {
  std::vector<bytes> items;
  const auto tracks = asked().ask_now(query::tracks_query{});
  if (!tracks) return {};
  const time_range range = (*tracks)->span;
  const auto blocks = asked().ask_now(blocks_in(range));
  if (!blocks || (*blocks)->rows.empty()) return {};
  const auto& block = (*blocks)->rows.front();
  add(items, query::tracks_query{});
  for (const query::track& each : (*tracks)->tracks) {
    if (asked().ask_now(query::series_query{each.id, range, 50})) {
      add(items, query::series_query{each.id, range, 50, true});
    } else {
      add(items, query::slices_query{each.id, range, 50});
    }
  }
  query::blocks_query with_uses = blocks_in(range);
  with_uses.with_uses = true;
  with_uses.filter = "a";
  add(items, with_uses);
  add(items, query::statistics_query{range});
  add(items, query::report_query{});
  add(items, query::details_query{.event = block.alloc});
  add(items, query::details_query{.block = block.block});
  add(items, query::stacks_query{.range = range});
  add(items, query::messages_query{});
  add(items, query::search_query{"gemm"});
  add(items, query::memory_map_query{.time = block.born, .width = 50, .lone = true, .marks = {block.block}});
  add(items, query::memory_step_query{.time = block.born});
  add(items, query::what_if_query{});
  add(items, query::transfers_query{range});
  add(items, query::idle_gaps_query{range});
  add(items, query::host_stacks_query{.filter = {.range = range}});
  add(items, query::idle_lanes_query{range, 300});
  add(items, query::gap_stacks_query{range.begin, trace::stack_id{1}, trace::stack_id{2}});
  add(items, query::ranks_query{{{trace::process_id{1}, {}}}, range, 50});
  add(items, query::memory_groups_query{.range = range, .width = 50, .device = block.device, .kind = block.kind});
  add(items, query::compared_side_query{range});
  add(items, query::generations_query{.marks = {block.born}, .at = range.end});
  add(items, query::holes_query{.range = range, .samples = 10});
  add(items, query::durations_query{.range = range});
  add(items, query::step_statistics_query{});
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::remote_queries

sluice::fuzz::target sluice::fuzz::remote_queries_target() {
  return {"remote_queries", remote_queries::run, remote_queries::seeds};
}
