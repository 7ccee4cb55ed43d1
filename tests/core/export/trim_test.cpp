#include "core/export/recording/trim.hpp"

#include <atomic>
#include <sstream>

#include "core/generate/generate.hpp"
#include "core/generate/random.hpp"
#include "core/index/growing_index.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "core/metrics/statistics/range_statistics.hpp"
#include "core/trace/file/visit.hpp"
#include "core/trace/file/writer.hpp"
#include "tests/core/generate/replay.hpp"

namespace sluice::exports {
namespace {

using generate::testing::read;
using generate::testing::rows;
using generate::testing::temporary;
using trace::raw;

/// Every metric of a range, as text.
std::string metrics(const trace::snapshot& recording, time_range range) {
  index::growing_index index;
  while (!index.absorb(recording, 1 << 20)) {
  }
  const auto measure = metrics::measure(index, recording.tables(), range);
  std::ostringstream out;
  const auto names = [&](const char* subject, const auto& list) {
    for (const auto& each : list)
      out << subject << recording.tables().text(each.name) << ' ' << each.count << ' ' << each.total << ' '
          << each.longest << ' ' << raw(each.longest_event) << '\n';
  };
  for (const auto& m : measure.memory) {
    out << "memory " << raw(m.device) << ' ' << int(m.layer) << ' ' << int(m.kind) << ' ' << m.at_begin << ' '
        << m.at_end << ' ' << m.minimum << ' ' << m.maximum << ' ' << m.maximum_time << ' ' << m.mean << ' '
        << m.allocations << ' ' << m.allocated_bytes << ' ' << m.frees << ' ' << m.freed_bytes << '\n';
  }
  // A sample before the range measured untracked memory relative to the memory that was tracked at the time of the
  // sample.
  for (const auto& u : measure.untracked)
    out << "untracked " << u.samples << ' ' << u.recorder << ' ' << u.used_maximum << '\n';
  for (const auto& p : measure.pools)
    out << "pool " << raw(p.pool) << ' ' << p.states << ' ' << p.reserved_maximum << ' ' << p.reserved_at_end << ' '
        << p.used_maximum << ' ' << p.used_at_end << ' ' << p.used_share << '\n';
  for (const auto& t : measure.transfers) {
    out << "transfers " << raw(t.device) << ' ' << int(t.direction) << ' ' << t.count << ' ' << t.migrations << ' '
        << t.bytes << ' ' << t.busy << ' ' << t.total << ' ' << t.mean_bandwidth << ' ' << t.maximum_bandwidth << ' '
        << t.fastest_bandwidth << ' ' << raw(t.fastest) << ' ' << t.parts.size() << '\n';
  }
  for (const auto& d : measure.devices) {
    out << "device " << raw(d.device) << ' ' << d.kernels << ' ' << d.kernel_total << ' ' << d.kernel_busy << ' '
        << d.copy_busy << ' ' << d.copy_only << ' ' << d.overlap << ' ' << d.busy << ' ' << d.first << ' ' << d.last
        << ' ' << d.memsets << ' ' << d.memset_busy << '\n';
  }
  names("kernel ", measure.kernels);
  names("call ", measure.calls);
  names("range ", measure.ranges);
  for (const auto& t : measure.threads)
    out << "thread " << raw(t.thread) << ' ' << t.calls << ' ' << t.call_busy << ' ' << t.wait_busy << ' '
        << t.file_operations << ' ' << t.file_bytes << '\n';
  out << measure.kernel_names << ' ' << measure.failed_allocations << ' ' << measure.lost_events << ' '
      << measure.lost_memory_events << '\n';
  return out.str();
}

/// Expects that the tables contain everything that rows refer to.
void expect_complete_tables(const trace::snapshot& recording) {
  std::set<std::string> missing;
  const auto need = [&](const char* subject, bool there, std::uint64_t id) {
    if (id != 0 && !there) missing.insert(std::string(subject) + " " + std::to_string(id));
  };
  const trace::tables& all_tables = recording.tables();
  for (std::size_t chunk = 0; chunk < recording.chunks().size(); ++chunk) {
    ASSERT_TRUE(trace::visit_events(recording, chunk, [&](const auto& row) {
      need("process", all_tables.processes.find(row.process) != nullptr, raw(row.process));
      need("thread", all_tables.threads.find(row.thread) != nullptr, raw(row.thread));
      if constexpr (requires { row.name; }) need("string", all_tables.strings.find(row.name) != nullptr, raw(row.name));
      if constexpr (requires { row.stack; })
        need("stack", all_tables.stacks.find(row.stack) != nullptr, raw(row.stack));
      if constexpr (requires { row.stream; })
        need("stream", all_tables.streams.find(row.stream) != nullptr, raw(row.stream));
      if constexpr (requires { row.device; })
        need("device", all_tables.devices.find(row.device) != nullptr, raw(row.device));
    }));
  }
  for (const auto& row : all_tables.stacks.rows()) {
    need("stack", all_tables.stacks.find(row.parent) != nullptr, raw(row.parent));
    need("frame", all_tables.frames.find(row.frame) != nullptr, raw(row.frame));
  }
  for (const auto& row : all_tables.frames.rows())
    need("string", all_tables.strings.find(row.function) != nullptr, raw(row.function));
  EXPECT_TRUE(missing.empty()) << *missing.begin() << " and " << missing.size() - 1 << " more";
}

/// The recorded tags of each block that is live in a range, as text.
std::string tags(const trace::snapshot& recording, time_range range) {
  index::growing_index index;
  while (!index.absorb(recording, 1 << 20)) {
  }
  const auto facts = index.tensors(recording);
  std::map<std::uint64_t, std::string> texts;
  const auto blocks = index.memory().blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const index::block_record& block = blocks[i];
    if (!block.allocated || !block.live_in(range)) continue;
    std::string& text = texts[raw(block.id)];
    if (const auto name = index.name_tags().find(raw(block.alloc)); name != index.name_tags().end())
      text += recording.tables().text(name->second);
    if (i < facts->categories.size() && facts->categories[i].why == index::category_reason::tag)
      text.append(" ").append(index::category_name(facts->categories[i].kind));
    if (const auto owner = index.import_owners().find(raw(block.alloc)); owner != index.import_owners().end())
      text += " imported";
  }
  std::string text;
  for (const auto& [block, said] : texts) text += std::to_string(block) + ":" + said + "\n";
  return text;
}

/// Blocks allocated in a range and never freed, according to the whole recording.
std::set<std::uint64_t> never_freed(const trace::snapshot& whole, time_range range) {
  std::set<std::uint64_t> values;
  for (const auto& row : rows<trace::alloc_event>(whole))
    if (row.time >= range.begin && row.time < range.end && (row.flags & (trace::born_before | trace::ipc_import)) == 0)
      values.insert(raw(row.block));
  for (const auto& row : rows<trace::free_event>(whole)) values.erase(raw(row.block));
  return values;
}

void expect_same_unfreed(const trace::snapshot& part, const trace::snapshot& whole, time_range range) {
  index::growing_index index;
  while (!index.absorb(part, 1 << 20)) {
  }
  std::set<std::uint64_t> found;
  std::uint64_t count = 0;
  for (const auto& block : index.memory().blocks()) {
    const bool born_here = block.born >= range.begin && block.born < range.end;
    const bool ours = block.allocated && born_here && !block.born_before() && !block.imported();
    if (ours && !block.freed() && !block.freed_after()) found.insert(raw(block.id));
  }
  for (const auto& group : metrics::compute_metrics(index, part).unfreed) count += group.count;
  const auto known = never_freed(whole, range);
  EXPECT_EQ(found, known);
  // `count` may include blocks that were allocated before the range.
  EXPECT_GE(count, known.size());
}

/// Cuts random ranges out of `path`, and compares each metric with the whole recording's metric for that range.
void expect_same_metrics(const std::string& path, std::uint64_t seed, int cuts) {
  const auto whole = read(path);
  const auto span = index::recorded_range(*whole);
  generate::random chance(seed);
  for (int i = 0; i < cuts; ++i) {
    const auto length = static_cast<std::uint64_t>(span.length());
    const auto begin = span.begin + static_cast<trace::time_ns>(chance.below(length - 1));
    const auto end = begin + 1 + static_cast<trace::time_ns>(chance.below(i % 3 == 0 ? 2'000'000 : length));
    const temporary cut("trimmed-" + std::to_string(seed) + "-" + std::to_string(i));
    const auto output = trim(*whole, {.range = {begin, end}, .redact = {}}, cut.path());
    ASSERT_TRUE(output) << output.error().to_string();
    const auto part = read(cut.path());
    EXPECT_TRUE(part->complete());
    EXPECT_EQ(metrics(*part, {begin, end}), metrics(*whole, {begin, end}))
        << path << " from " << begin << " to " << end;
    EXPECT_EQ(tags(*part, {begin, end}), tags(*whole, {begin, end})) << path << " from " << begin << " to " << end;
    expect_same_unfreed(*part, *whole, {begin, end});
    expect_complete_tables(*part);
    generate::testing::expect_own_ids(*part);
  }
}

TEST(trim, leaves_every_metric_of_the_range_as_it_was) {
  const generate::generate_options shapes[] = {
      {.events = 40'000, .seed = 2},
      {.events = 40'000,
       .seed = 4,
       .pattern = generate::program_pattern::inference,
       .stacks = generate::stack_choice::all},
      {.events = 60'000, .seed = 5, .pattern = generate::program_pattern::inference, .processes = 2},
      {.events = 60'000, .seed = 6, .timeline = false, .processes = 2}};
  for (const auto& shape : shapes) {
    const temporary output("to-trim-" + std::to_string(shape.seed));
    ASSERT_TRUE(generate::generate(shape, output.path()));
    expect_same_metrics(output.path(), shape.seed, 5);
  }
}

TEST(trim, leaves_the_metrics_of_real_recordings_as_they_were) {
  const std::string folder = SLUICE_SOURCE_DIR "/assets/recordings/";
  for (const char* name : {"overlap", "managed-migration", "pool-churn", "leak", "chunked-file"})
    expect_same_metrics(folder + name + ".sluice", 3, 3);
  expect_same_metrics(folder + "pytorch-training.sluice", 3, 2);
}

/// A synthetic recording with a fault of each kind.
class small_recording {
 public:
  small_recording() : file_("trim-small") {
    auto to = std::move(trace::file_writer::create(file_.path()).value());
    trace::host_row host;
    host.id = trace::host_id{1};
    host.name = to.intern("secret-machine");
    to.add(host);
    trace::process_row process;
    process.id = trace::process_id{1};
    process.host = host.id;
    process.command = to.intern("/home/someone/bin/train --token hush");
    to.add(process);
    trace::frame_row frame;
    frame.id = trace::frame_id{1};
    frame.kind = trace::frame_kind::python;
    frame.function = to.intern("step");
    frame.file = to.intern("/home/someone/work/train.py");
    to.add(frame);
    frame.id = trace::frame_id{2};
    frame.function = to.intern("never in the range");
    to.add(frame);
    to.add(trace::stack_row{trace::stack_id{1}, {}, trace::frame_id{1}});
    to.add(trace::stack_row{trace::stack_id{2}, trace::stack_id{1}, trace::frame_id{1}});
    to.add(trace::stack_row{trace::stack_id{3}, trace::stack_id{1}, trace::frame_id{2}});
    // Block 1 is live from 100 to 900, block 2 from 200 to 300, and block 3 from 600.
    const auto alloc = [&](trace::time_ns time, std::uint64_t block, std::uint64_t stack) {
      trace::alloc_event row;
      row.process = process.id;
      row.time = time;
      row.block = trace::block_id{block};
      row.bytes = 1000 * block;
      row.address = block << 20;
      row.stack = trace::stack_id{stack};
      row.device = {};
      to.add(row);
    };
    const auto free = [&](trace::time_ns time, std::uint64_t block) {
      trace::free_event row;
      row.process = process.id;
      row.time = time;
      row.block = trace::block_id{block};
      to.add(row);
    };
    alloc(100, 1, 2);
    alloc(200, 2, 3);
    free(300, 2);
    trace::api_call_event call;
    call.process = process.id;
    call.time = 400;
    call.end = 410;
    call.name = to.intern("cuLaunchKernel");
    const auto asked = trace::event_id{to.add(call)};
    trace::graph_definition_event graph;
    graph.process = process.id;
    graph.time = 150;
    graph.graph = trace::graph_id{7};
    to.add(graph);
    graph.graph = trace::graph_id{8};
    to.add(graph);
    trace::graph_launch_event launch;
    launch.process = process.id;
    launch.time = 650;
    launch.graph = trace::graph_id{7};
    to.add(launch);
    alloc(600, 3, 2);
    free(900, 1);
    trace::host_sample_event sample;
    sample.process = process.id;
    for (const trace::time_ns time : {440, 490, 790, 800}) {
      sample.time = time;
      sample.length = 50;
      sample.stack = trace::stack_id{time == 440 ? 3U : 2U};
      to.add(sample);
    }
    // Late: a kernel that ran across the start of the range is written last.
    trace::kernel_event kernel;
    kernel.process = process.id;
    kernel.time = 450;
    kernel.end = 550;
    kernel.call = asked;
    kernel.enqueued = 400;
    kernel.name = to.intern("late kernel");
    to.add(kernel);
    trace::message_event message;
    message.time = 10;
    message.severity = trace::severity::warning;
    message.text = to.intern("HOME=/home/someone on secret-machine was odd");
    to.add(message);
    EXPECT_TRUE(to.close());
  }
  [[nodiscard]] const std::string& path() const { return file_.path(); }

 private:
  temporary file_;
};

TEST(trim, keeps_what_the_range_needs_and_nothing_else) {
  const small_recording recording;
  const temporary cut("trim-kept");
  const auto output = trim(*read(recording.path()), {.range = {500, 800}, .redact = {}}, cut.path());
  ASSERT_TRUE(output) << output.error().to_string();
  EXPECT_EQ(output->live, 1U);
  const auto part = read(cut.path());
  const auto live = rows<trace::live_block_event>(*part);
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(raw(live[0].block), 1U);
  EXPECT_EQ(live[0].born, 100);
  EXPECT_EQ(live[0].time, 499);
  EXPECT_EQ(rows<trace::alloc_event>(*part).size(), 1U);
  EXPECT_TRUE(rows<trace::free_event>(*part).empty());
  EXPECT_EQ(rows<trace::kernel_event>(*part).size(), 1U);
  const auto calls = rows<trace::api_call_event>(*part);
  ASSERT_EQ(calls.size(), 1U) << "the call that launched the kernel";
  EXPECT_EQ(calls[0].id, rows<trace::kernel_event>(*part)[0].call);
  const auto graphs = rows<trace::graph_definition_event>(*part);
  ASSERT_EQ(graphs.size(), 1U) << "the graph that is launched";
  EXPECT_EQ(raw(graphs[0].graph), 7U);
  std::vector<trace::time_ns> samples;
  for (const auto& row : rows<trace::host_sample_event>(*part)) samples.push_back(row.time);
  EXPECT_EQ(samples, (std::vector<trace::time_ns>{490, 790})) << "those that overlap the range";
  EXPECT_EQ(part->tables().stacks.rows().size(), 2U);
  EXPECT_EQ(part->tables().frames.rows().size(), 1U);
  for (const auto& text : part->tables().strings.rows())
    EXPECT_EQ(text.text.find("never in the range"), std::string::npos);
  EXPECT_EQ(part->tables().processes.rows().size(), 1U);
  ASSERT_EQ(rows<trace::message_event>(*part).size(), 2U) << "the warning, and the note that it is a part";
}

TEST(trim, of_the_beginning_begins_with_the_recording) {
  const std::string leak = SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice";
  const auto whole = read(leak);
  ASSERT_EQ(whole->begin(), 0);
  for (const time_range range : {time_range{0, 200'000'000}, all_time}) {
    const temporary cut("trim-begin");
    ASSERT_TRUE(trim(*whole, {.range = range, .redact = {}}, cut.path()));
    EXPECT_EQ(read(cut.path())->begin(), 0) << "nothing precedes it";
  }
  const temporary cut("trim-later");
  ASSERT_TRUE(trim(*whole, {.range = {100'000'000, 200'000'000}, .redact = {}}, cut.path()));
  EXPECT_EQ(read(cut.path())->begin(), 99'999'999) << "blocks that were already live";
}

TEST(trim, keeps_what_is_said_of_what_it_keeps_whenever_it_was_said) {
  const temporary file("trim-said"), cut("trim-said-part"), again("trim-said-again");
  std::map<std::uint64_t, std::uint64_t> allocs;  // By block.
  {
    auto to = std::move(trace::file_writer::create(file.path()).value());
    trace::process_row process;
    process.id = trace::process_id{1};
    to.add(process);
    const auto alloc = [&](trace::time_ns time, std::uint64_t block) {
      trace::alloc_event row;
      row.process = process.id;
      row.time = time;
      row.block = trace::block_id{block};
      row.layer = trace::layer::framework;
      row.bytes = 100;
      allocs[block] = to.add(row);
    };
    const auto say = [&](trace::time_ns time, std::uint64_t block, const char* key, const char* text) {
      trace::attribute_event row;
      row.process = process.id;
      row.time = time;
      row.target = trace::event_id{allocs[block]};
      row.key = to.intern(key);
      row.text = to.intern(text);
      to.add(row);
    };
    const auto link = [&](trace::time_ns time, std::uint64_t from_block, std::uint64_t to_block) {
      trace::link_event row;
      row.process = process.id;
      row.time = time;
      row.kind = trace::link_kind::import_to_owner;
      row.from = trace::event_id{allocs[from_block]};
      row.to = trace::event_id{allocs[to_block]};
      to.add(row);
    };
    const auto free = [&](trace::time_ns time, std::uint64_t block) {
      trace::free_event row;
      row.process = process.id;
      row.time = time;
      row.block = trace::block_id{block};
      row.layer = trace::layer::framework;
      to.add(row);
    };
    for (std::uint64_t block = 1; block <= 3; ++block) alloc(100, block);
    say(110, 1, "category", "weight");  // Tagged before the range; the block is live in the range.
    say(110, 2, "name", "gone");        // The block is freed before the range.
    link(120, 1, 3);
    free(300, 2);
    link(310, 1, 2);
    alloc(600, 4);
    alloc(610, 5);
    say(900, 4, "name", "said late");
    say(910, 3, "name", "said later still");
    free(950, 4);
    free(960, 1);
    EXPECT_TRUE(to.close());
  }
  const auto whole = read(file.path());
  ASSERT_TRUE(trim(*whole, {.range = {500, 800}, .redact = {}}, cut.path()));
  const auto check = [&](const trace::snapshot& part) {
    EXPECT_EQ(tags(part, {500, 800}), "1: weight imported\n3:said later still\n4:said late\n5:\n");
    EXPECT_GE(part.begin(), 499);
    EXPECT_LE(part.end(), 800);
    for (const auto& row : rows<trace::attribute_event>(part))
      EXPECT_NE(part.tables().text(row.text), "gone") << "it refers to nothing that is kept";
    EXPECT_EQ(rows<trace::link_event>(part).size(), 1U);
    std::map<std::uint64_t, std::uint64_t> flags;
    for (const auto& row : rows<trace::live_block_event>(part)) flags[raw(row.block)] = row.flags;
    for (const auto& row : rows<trace::alloc_event>(part)) flags[raw(row.block)] = row.flags;
    const std::map<std::uint64_t, std::uint64_t> expected = {
        {1, trace::freed_after}, {3, 0}, {4, trace::freed_after}, {5, 0}};
    EXPECT_EQ(flags, expected);
    index::growing_index index;
    while (!index.absorb(part, 1 << 20)) {
    }
    EXPECT_EQ(raw(index.memory().find(trace::block_id{1})->alloc), allocs[1]);
    std::uint64_t unfreed = 0;
    for (const auto& group : metrics::compute_metrics(index, part).unfreed) unfreed += group.count;
    EXPECT_EQ(unfreed, 1U) << "block 5 alone";
  };
  check(*read(cut.path()));
  // Trimming the trimmed file again gives the same result as trimming the whole once.
  ASSERT_TRUE(trim(*read(cut.path()), {.range = {500, 800}, .redact = {}}, again.path()));
  check(*read(again.path()));
}

TEST(trim, leaves_out_what_redacting_is_for) {
  const small_recording recording;
  const temporary cut("trim-redacted");
  ASSERT_TRUE(trim(*read(recording.path()), {.range = {0, 1000}, .redact = redaction::all()}, cut.path()));
  const auto part = read(cut.path());
  std::size_t kept = 0;
  for (const auto& row : part->tables().strings.rows()) {
    for (const char* secret : {"secret-machine", "/home/someone", "hush", "someone"})
      EXPECT_EQ(row.text.find(secret), std::string::npos) << row.text;
    kept += row.text == "late kernel" || row.text == "step" ? 1 : 0;
    kept += row.text.ends_with("train.py") ? 1 : 0;
  }
  EXPECT_EQ(kept, 3U);
}

TEST(trim, refuses_what_makes_no_sense) {
  const small_recording recording;
  const temporary cut("trim-refused");
  const auto whole = read(recording.path());
  EXPECT_EQ(trim(*whole, {.range = {500, 500}, .redact = {}}, cut.path()).error().code, error_code::invalid_argument);
  EXPECT_EQ(trim(*whole, {.range = {0, 500}, .redact = {}}, recording.path()).error().code,
            error_code::invalid_argument);
  EXPECT_EQ(trim(*whole, {.range = {0, 500}, .redact = {}}, "/nonexistent/x.sluice").error().code, error_code::io);
  const std::atomic<bool> cancelled{true};
  EXPECT_EQ(trim(*whole, {.range = {0, 500}, .redact = {}, .task = {.cancelled = &cancelled}}, cut.path()).error().code,
            error_code::cancelled);
  // Times at the ends of the recording.
  EXPECT_TRUE(trim(*whole, {.range = {INT64_MIN, INT64_MAX}, .redact = {}}, cut.path()));
  EXPECT_EQ(rows<trace::alloc_event>(*read(cut.path())).size(), 3U);
  EXPECT_TRUE(trim(*whole, {.range = {5000, 6000}, .redact = {}}, cut.path()));
  EXPECT_EQ(rows<trace::live_block_event>(*read(cut.path())).size(), 1U);
}

}  // namespace
}  // namespace sluice::exports
