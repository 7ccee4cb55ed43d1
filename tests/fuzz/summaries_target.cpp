// Opens bytes as a recording with summaries, with corrected checksums, and makes a window's queries: the results come
// from the file's own summaries, which may contain anything.
#include "core/base/files/scratch_file.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/memory_map.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/trace/file/writer.hpp"
#include "tests/fuzz/paged_index.hpp"
#include "tests/fuzz/trace_bytes.hpp"

namespace sluice::fuzz::summaries {
namespace {

template <class Query>
void ask(query::engine& engine, const Query& query) {
  (void)engine.ask_now(query);
}

void ask_for_track(query::engine& engine, const query::track& track, time_range range) {
  constexpr std::uint32_t width = 100;
  ask(engine, query::slices_query{track.id, range, width});
  ask(engine, query::series_query{track.id, range, width});
}

void ask_about(query::engine& engine, time_range range) {
  query::blocks_query blocks;
  blocks.range = range;
  ask(engine, blocks);
  ask(engine, query::statistics_query{range});
  query::stacks_query stacks;
  stacks.range = range;
  ask(engine, stacks);
  query::memory_map_query map;
  map.time = range.begin;
  map.width = 100;
  map.lone = true;
  map.marks = {trace::block_id{2}, trace::block_id{3}};
  ask(engine, map);
  ask(engine, query::memory_step_query{range.begin, true, {}});
  ask(engine, query::memory_step_query{range.end, false, {}});
}

void run(std::span<const std::uint8_t> input) {
  const memory_file file(mended(input));
  trace::reader_options reading;
  reading.cache_bytes = std::size_t{1} << 20;
  const auto opened = trace::file::open(file.path(), reading);
  if (!opened || (*opened)->latest()->summaries().empty()) return;
  query::engine_options options;
  options.threads = 1;
  query::engine engine(*opened, options);
  const auto tracks = engine.ask_now(query::tracks_query{});
  if (!tracks) return;
  const time_range range = (*tracks)->span;
  const time_range part{range.begin + range.length() / 2, range.begin + range.length() / 2 + range.length() / 50 + 1};
  for (const query::track& track : (*tracks)->tracks) {
    ask_for_track(engine, track, range);
    ask_for_track(engine, track, part);
  }
  ask_about(engine, range);
  ask_about(engine, part);
  ask(engine, query::report_query{});
  ask(engine, query::messages_query{});
  ask(engine, query::details_query{trace::event_id{3}, {}});
  ask(engine, query::details_query{{}, trace::block_id{2}});
}

/// Adds blocks, copies, kernels and ranges that are spread over some sections.
void tell(trace::file_writer& file_writer) {
  trace::process_row process;
  process.id = trace::process_id{1};
  file_writer.add(process);
  const auto with = [](auto row, trace::time_ns time) {
    row.time = time;
    row.process = trace::process_id{1};
    row.thread = trace::thread_id{1};
    return row;
  };
  for (int i = 0; i < 40; ++i) {
    const trace::time_ns now = 1000 + i * 1000;
    auto born = with(trace::alloc_event{}, now);
    born.block = static_cast<trace::block_id>(i + 1);
    born.address = 0x1000U * static_cast<unsigned>(i % 8);
    born.bytes = 0x1000;
    born.kind = trace::memory_kind::device;
    born.layer = trace::layer::pool;
    born.device = trace::device_id{1};
    file_writer.add(born);
    auto copy = with(trace::transfer_event{}, now + 50);
    copy.end = now + 90;
    copy.bytes = 1 << 21;
    copy.direction = trace::direction::h2d;
    copy.device = trace::device_id{1};
    file_writer.add(copy);
    auto kernel = with(trace::kernel_event{}, now + 100);
    kernel.end = now + 1300;
    kernel.name = file_writer.intern("gemm");
    kernel.device = trace::device_id{1};
    file_writer.add(kernel);
    auto range = with(trace::host_range_event{}, now);
    range.end = now + 900;
    file_writer.add(range);
    auto sample = with(trace::host_sample_event{}, now);
    sample.length = 1000;
    sample.state = trace::host_state::running;
    file_writer.add(sample);
    if (i < 5) continue;
    auto freed = with(trace::free_event{}, now + 400);
    freed.block = static_cast<trace::block_id>(i - 4);
    file_writer.add(freed);
  }
}

std::vector<bytes> seeds() {
  const auto folder = scratch_folder::make().value();
  auto output = trace::file_writer::create(folder.path() + "/seed.sluice");
  if (!output) return {};
  tell(*output);
  summary::finalize_options options;
  options.min_events = 1;
  options.section_events = 40;
  if (!summary::finalize(*output, options)) return {};
  const bytes file = make_content(output->path());
  return {file, with_index_in_pages(file, 16)};
}

}  // namespace
}  // namespace sluice::fuzz::summaries

sluice::fuzz::target sluice::fuzz::summaries_target() { return {"summaries", summaries::run, summaries::seeds}; }
