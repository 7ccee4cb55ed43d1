#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <set>

#include "core/analysis/crossing_blocks.hpp"
#include "core/analysis/part_store.hpp"
#include "core/analysis/tensors.hpp"
#include "core/generate/generate.hpp"
#include "core/query/answering.hpp"
#include "core/trace/row_references.hpp"
#include "core/trace/visit.hpp"
#include "tests/core/analysis/recording.hpp"

/// An index of a part answers every question about that part as the index of all of the recording does.
namespace sluice::query {
namespace {

using analysis::index;
using analysis::part_store;
using testing::indexed;
using testing::recording;

// --- answers as text ------------------------------------------------------------------------------------------------

/// Sums of products are rounded in another order where trees have another shape.
std::string number(double value) { return fmt::format("{:.8g}", value + 0.0); }

std::string in_words(const block_table& of) {
  std::string text = fmt::format("{} blocks, {} bytes\n", of.count, of.total_bytes);
  for (const block_row& r : of.rows)
    text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", raw(r.block), r.address, r.bytes,
                        static_cast<int>(r.level), static_cast<int>(r.kind), raw(r.device), raw(r.stream), raw(r.pool),
                        raw(r.name), raw(r.alloc), r.born, r.died, static_cast<int>(r.category.what),
                        static_cast<int>(r.category.why));
  return text;
}

std::string in_words(const slice_list& of) {
  std::string text;
  for (const slice& s : of.slices)
    text += fmt::format("{}..{} depth {} kind {} count {} busy {} name {} event {} bytes {} step {}\n", s.begin, s.end,
                        s.depth, static_cast<int>(s.kind), s.count, number(static_cast<double>(s.busy)), raw(s.name),
                        raw(s.event), s.bytes, s.step);
  return text;
}

std::string in_words(const series& of) {
  std::string text = "up to " + number(of.maximum) + "\n";
  for (const band& b : of.bands) {
    text += fmt::format("{} {} {}:", b.label, b.stacked, static_cast<int>(b.category));
    for (const bin& each : b.bins)
      text += fmt::format(" {}/{}/{}", number(each.minimum), number(each.maximum), number(each.mean));
    text += "\n";
  }
  for (const limit_line& l : of.limits) text += l.label + "\n";
  return text;
}

std::string in_words(const event_details& of) {
  std::string text = fmt::format("{} {} {}..{} on {}\n", raw(of.event), of.title, of.span.begin, of.span.end, of.track);
  for (const detail& d : of.details)
    text += fmt::format("{}: {} -> {} {}\n", d.label, d.value, raw(d.link), raw(d.block));
  for (const symbols::frame_line& l : of.stack) text += l.function + " " + l.file + "\n";
  return text;
}

std::string in_words(const stack_view& of) {
  std::string text = fmt::format("at {}, kernels {}, choice {}\n", of.time, of.kernels_known,
                                 of.choice ? static_cast<int>(*of.choice) : -1);
  for (const memory_choice& c : of.choices) text += fmt::format("{} {} {}\n", c.label, c.peak, c.has_stacks);
  for (const analysis::stack_node& n : of.tree.nodes)
    text += fmt::format("{} {}: {} {} {} {} own {} {}\n", n.depth, n.depth == 0 ? "" : of.lines[n.line].function,
                        n.all.bytes, n.all.count, n.all.busy, n.all.alone, n.own.bytes, n.own.count);
  return text;
}

std::string in_words(const analysis::range_statistics& of) {
  std::string text;
  for (const auto& m : of.memory)
    text += fmt::format("memory {} {} {}: {} {} {} {} {} {} {} {} {} {}\n", raw(m.device), static_cast<int>(m.level),
                        static_cast<int>(m.kind), m.at_begin, m.at_end, m.minimum, m.maximum, m.maximum_time,
                        number(m.mean), m.allocations, m.allocated_bytes, m.frees, m.freed_bytes);
  for (const auto& u : of.untracked)
    text += fmt::format("untracked {}: {} {} {} {} {} {} {}\n", raw(u.device), u.samples, u.device_bytes, u.maximum,
                        u.at_end, number(u.mean), u.recorder, u.used_maximum);
  for (const auto& p : of.pools)
    text += fmt::format("pool {}: {} {} {} {} {} {} {} {}\n", raw(p.pool), p.states, p.reserved_maximum,
                        p.reserved_maximum_time, p.reserved_at_end, p.used_maximum, p.used_maximum_time, p.used_at_end,
                        number(p.used_share));
  for (const auto& t : of.transfers) {
    text +=
        fmt::format("transfers {} {}: {} {} {} {} {} {} {} {} {} {}\n", raw(t.device), static_cast<int>(t.direction),
                    t.count, t.migrations, number(t.bytes), t.busy, t.total, number(t.mean_bandwidth),
                    number(t.maximum_bandwidth), number(t.fastest_bandwidth), raw(t.fastest), number(t.link_peak));
    for (const auto& p : t.parts)
      text += fmt::format("  {}: {} {} {} {}\n", static_cast<int>(p.host_side), p.count, number(p.bytes), p.busy,
                          number(p.fastest_bandwidth));
  }
  for (const auto& d : of.devices)
    text += fmt::format("device {}: {} {} {} {} {} {} {} {} {} {} {}\n", raw(d.device), d.kernels, d.kernel_total,
                        d.kernel_busy, d.copy_busy, d.copy_only, d.overlap, d.busy, d.first, d.last, d.memsets,
                        d.memset_busy);
  for (const auto* names : {&of.kernels, &of.calls, &of.ranges})
    for (const auto& n : *names)
      text += fmt::format("name {}: {} {} {} {}\n", raw(n.name), n.count, n.total, n.longest, raw(n.longest_event));
  for (const auto& t : of.threads)
    text += fmt::format("thread {}: {} {} {} {} {} {}\n", raw(t.thread), t.calls, t.call_busy, t.wait_busy,
                        t.file_operations, number(t.file_bytes), t.file_busy);
  return text +
         fmt::format("{} {} {} {}\n", of.kernel_names, of.failed_allocations, of.lost_events, of.lost_memory_events);
}

std::string in_words(const error& of) { return of.to_string(); }

template <class Question>
std::string ask(const Question& question, const index& of, const trace::snapshot& now) {
  const std::atomic<bool> never{false};
  symbols::frame_book frames({{}, now.realtime_origin(), true});
  bool provisional = false;
  auto found = answer_to(
      question, sources{.index = of, .trace = now, .cancelled = never, .frames = frames, .provisional = provisional});
  return found ? in_words(*found) : in_words(found.error());
}

// --- a recording and its parts --------------------------------------------------------------------------------------

class parts {
 public:
  parts(recording& made, std::vector<time_ns> begins) {
    made.flush();
    {
      const indexed before(made.open());
      const time_ns end = before.snapshot->end();
      std::vector<trace::epoch_row> epochs;
      for (std::size_t i = 0; i < begins.size(); ++i)
        epochs.push_back({begins[i], i + 1 < begins.size() ? begins[i + 1] : std::max(begins[i], end), 0});
      made.writer().add_summary<trace::epoch_row>(epochs);
      save_parts(before.index, *before.snapshot, epochs, made.writer());
    }
    made.close();
    whole = std::make_unique<indexed>(made.open());
    auto opened = part_store::open(whole->snapshot, whole->index.tensors(*whole->snapshot)->steps);
    EXPECT_TRUE(opened) << opened.error().to_string();
    store = *opened;
  }

  const trace::snapshot& now() const { return *whole->snapshot; }

  std::unique_ptr<indexed> whole;
  std::shared_ptr<const part_store> store;
};

/// Asks both about ranges and moments inside a random run of epochs.
class examiner {
 public:
  examiner(const parts& of, std::uint64_t seed) : of_(of), random_(seed) {
    first_ = random_() % of.store->epochs().size();
    last_ = first_ + random_() % std::min<std::size_t>(3, of.store->epochs().size() - first_);
    auto made = of.store->index_of(first_, last_);
    EXPECT_TRUE(made) << made.error().to_string();
    part_ = *made;
    run_ = of.store->run_of(first_, last_);
    run_.begin = std::max(run_.begin, of.now().begin() - 10);
    run_.end = std::min(run_.end, of.now().end() + 10);
    run_.end = std::max(run_.begin + 1, run_.end);
  }

  time_ns moment() { return run_.begin + static_cast<time_ns>(random_() % static_cast<std::uint64_t>(run_.length())); }
  time_range range() {
    if (random_() % 8 == 0) return run_;
    const time_ns a = moment(), b = moment();
    return {std::min(a, b), std::max(a, b) + 1};
  }

  template <class Question>
  void expect_same(const Question& question, const std::string& about) {
    const std::string expected = ask(question, of_.whole->index, of_.now());
    const std::string found = ask(question, *part_, of_.now());
    if (expected == found) return;
    const auto [e, f] = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
    const auto around = [](const std::string& text, auto at) {
      const auto place = static_cast<std::size_t>(at - text.begin());
      return text.substr(place < 300 ? 0 : place - 300, 600);
    };
    ADD_FAILURE() << about << ", epochs " << first_ << ".." << last_ << " [" << run_.begin << ", " << run_.end
                  << ")\nof all: ..." << around(expected, e) << "\nof the part: ..." << around(found, f);
  }

  void ask_everything() {
    const time_range asked = range();
    const std::string when = fmt::format("[{}, {})", asked.begin, asked.end);
    expect_same(statistics_question{asked}, "statistics " + when);
    blocks_question blocks{asked, {}, random_() % 4 == 0, static_cast<block_column>(random_() % 9), true, ""};
    if (random_() % 3 == 0) blocks.level = static_cast<trace::layer>(random_() % 4);
    if (random_() % 6 == 0) blocks.filter = "1";
    expect_same(blocks, "blocks " + when);
    ask_stacks(asked, when);
    ask_tracks(asked, when);
  }

  void ask_stacks(time_range asked, const std::string& when) {
    for (const stack_measure measure :
         {stack_measure::peak, stack_measure::live, stack_measure::allocated, stack_measure::transferred}) {
      stacks_question question;
      question.range = asked;
      question.measure = measure;
      question.at = moment();
      if (random_() % 2 == 0) question.level = static_cast<trace::layer>(random_() % 4);
      expect_same(question, fmt::format("stacks {} at {} {}", static_cast<int>(measure), question.at, when));
    }
  }

  void ask_tracks(time_range asked, const std::string& when) {
    const std::atomic<bool> never{false};
    symbols::frame_book frames({{}, 0, true});
    bool provisional = false;
    const auto list = answer_to(tracks_question{}, sources{.index = of_.whole->index,
                                                           .trace = of_.now(),
                                                           .cancelled = never,
                                                           .frames = frames,
                                                           .provisional = provisional});
    for (const track& row : list->tracks) {
      const auto width = static_cast<std::uint32_t>(1 + random_() % 50);
      expect_same(slices_question{row.id, asked, width}, "slices of " + row.label + " " + when);
      for (const bool by_category : {false, true})
        expect_same(series_question{row.id, asked, width, by_category}, "series of " + row.label + " " + when);
    }
  }

  /// Blocks that live in the run, and events that happen in it; at most so many of each.
  void ask_details(std::size_t most) {
    std::vector<details_question> all;
    for (const analysis::block_record& block : of_.whole->index.memory().blocks())
      if (block.allocated && block.live_in(run_)) all.push_back({{}, block.id});
    for (std::size_t i = 0; i < of_.now().chunks().size(); ++i) {
      EXPECT_TRUE(trace::visit_events(of_.now(), i, [&](const auto& row) {
        if (row.time >= run_.begin && row.time < run_.end) all.push_back({row.id, {}});
      }));
    }
    std::shuffle(all.begin(), all.end(), random_);
    if (all.size() > most) all.resize(most);
    for (const details_question& each : all)
      expect_same(each, fmt::format("details of event {} or block {}", raw(each.event), raw(each.block)));
  }

 private:
  const parts& of_;
  std::mt19937_64 random_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  std::shared_ptr<const index> part_;
  time_range run_;
};

// --- recordings of everything, told in random order -----------------------------------------------------------------

constexpr time_ns span = 4000;

class random_recording {
 public:
  random_recording(std::uint64_t seed, bool hostile) : made(1 + seed % 50), random_(seed), hostile_(hostile) {
    made.standard_tables();
    make_stacks();
    for (std::uint64_t id = 1; id <= 120; ++id) tell_block(id);
    for (int i = 0; i < 90; ++i) tell_work();
    for (int i = 0; i < 60; ++i) tell_host();
    for (int i = 0; i < 30; ++i) tell_samples();
    for (int i = 0; i < 80; ++i) tell_touch();
    if (random_() % 2 == 0) tell_checkpoint();
    std::shuffle(rows_.begin(), rows_.end(), random_);
    for (const auto& row : rows_) row();
  }

  std::vector<time_ns> begins() {
    std::set<time_ns> all{0};
    for (std::size_t i = random_() % 12; i > 0; --i) all.insert(at());
    return {all.begin(), all.end()};
  }

  recording made;

 private:
  time_ns at() { return static_cast<time_ns>(random_() % span); }
  bool one_in(std::uint64_t many) { return random_() % many == 0; }
  trace::block_id some_block() { return one_in(4) ? trace::block_id{} : trace::block_id{1 + random_() % 130}; }
  template <class Row>
  void later(Row row) {
    rows_.push_back([this, row] { made.writer().add(row); });
  }
  template <class Row>
  Row event(time_ns time) {
    Row row = made.event<Row>(time);
    row.id = made.writer().next_event();
    row.thread = trace::thread_id{1 + random_() % 2};
    return row;
  }

  void make_stacks() {
    for (std::uint64_t i = 1; i <= 6; ++i) {
      trace::frame_row frame;
      frame.id = trace::frame_id{i};
      frame.kind = trace::frame_kind::python;
      frame.function = made.text(i == 2 ? "backward" : i == 3 ? "forward" : fmt::format("line {}", i));
      made.writer().add(frame);
      trace::stack_row stack;
      stack.id = trace::stack_id{i};
      stack.parent = trace::stack_id{i / 2};
      stack.frame = frame.id;
      made.writer().add(stack);
    }
  }

  void tell_block(std::uint64_t id) {
    auto row = event<trace::alloc_event>(at());
    row.block = trace::block_id{id};
    row.level = one_in(2) ? trace::layer::framework : static_cast<trace::layer>(random_() % 4);
    row.kind = one_in(4) ? trace::memory_kind::pinned : trace::memory_kind::device;
    row.device = trace::device_id{1 + random_() % 2};
    row.pool = trace::pool_id{random_() % 3};
    row.bytes = random_() % 1000;
    row.reserved_bytes = row.bytes + 10;
    row.address = id << 20;
    row.parent = one_in(3) ? trace::block_id{1 + random_() % 120} : trace::block_id{};
    row.stack = trace::stack_id{random_() % 7};
    row.name = made.text(fmt::format("site {}", random_() % 4));
    if (one_in(12)) row.flags = one_in(2) ? trace::born_before : trace::ipc_import;
    const time_ns length = one_in(3) ? at() : static_cast<time_ns>(random_() % 200);
    later(row);
    if (!one_in(6)) {
      auto freed = event<trace::free_event>(row.time + length);
      freed.block = row.block;
      if (hostile_ && one_in(8)) freed.time = at();
      later(freed);
      if (hostile_ && one_in(8)) freed.id = made.writer().next_event(), freed.time = at(), later(freed);
    }
    if (hostile_ && one_in(10)) row.id = made.writer().next_event(), row.time = at(), later(row);
    if (one_in(6)) tell_attribute(row.id, one_in(2) ? "name" : "category", one_in(2) ? "weight" : "gradient");
    if ((row.flags & trace::ipc_import) != 0) {
      auto link = made.event<trace::link_event>(at());
      link.kind = trace::link_kind::import_to_owner;
      link.from = row.id;
      link.to = trace::event_id{1 + random_() % 200};
      later(link);
    }
  }

  void tell_attribute(trace::event_id target, std::string_view key, std::string_view text) {
    auto row = made.event<trace::attribute_event>(at());
    row.target = target;
    row.key = made.text(key);
    row.text = made.text(text);
    later(row);
  }

  trace::event_id tell_call(time_ns time, std::string_view name) {
    auto call = event<trace::api_call_event>(time);
    call.end = time + static_cast<time_ns>(random_() % 30);
    call.name = made.text(name);
    call.stack = trace::stack_id{random_() % 7};
    later(call);
    return call.id;
  }

  void tell_work() {
    const time_ns asked = at();
    const time_ns begin = asked + static_cast<time_ns>(random_() % 300);
    const time_ns end =
        one_in(25) ? trace::unknown_time : begin + static_cast<time_ns>(random_() % (one_in(5) ? 900 : 40));
    const auto fill = [&](auto& row) {
      row.end = end;
      row.device = trace::device_id{1 + random_() % 2};
      row.stream = trace::stream_id{1 + random_() % 2};
    };
    switch (random_() % 5) {
      case 0: {
        auto row = event<trace::kernel_event>(begin);
        fill(row);
        row.name = made.text(fmt::format("kernel {}", random_() % 30));
        row.call = tell_call(asked, "cuLaunchKernel");
        row.correlation = 1 + random_() % 20;
        row.enqueued = asked;
        return later(row);
      }
      case 1: {
        auto row = event<trace::memset_event>(begin);
        fill(row);
        row.block = some_block();
        return later(row);
      }
      case 2: {
        auto row = event<trace::graph_launch_event>(begin);
        fill(row);
        row.graph = trace::graph_id{1 + random_() % 2};
        return later(row);
      }
      case 3: {
        auto row = event<trace::migration_event>(begin);
        row.end = end;
        row.device = trace::device_id{1};
        row.bytes = random_() % 5000;
        row.direction = trace::direction::h2d;
        return later(row);
      }
      default: {
        auto row = event<trace::transfer_event>(begin);
        fill(row);
        const trace::direction ways[] = {trace::direction::h2d, trace::direction::d2h, trace::direction::d2d};
        row.direction = ways[random_() % 3];
        row.source_kind = one_in(2) ? trace::memory_kind::host : trace::memory_kind::pinned;
        row.bytes = random_() % 10'000;
        row.source_block = some_block();
        row.destination_block = some_block();
        row.source_address = random_() % 4;
        row.call = tell_call(asked, "cuMemcpyAsync");
        row.enqueued = one_in(4) ? trace::unknown_time : asked;
        if (row.direction == trace::direction::h2d) row.content = trace::content_check::exact;
        row.content_hash = random_() % 3;
        return later(row);
      }
    }
  }

  void tell_host() {
    const time_ns begin = at();
    const time_ns end = begin + static_cast<time_ns>(random_() % (one_in(4) ? 1500 : 60));
    switch (random_() % 4) {
      case 0: {
        auto row = event<trace::host_range_event>(begin);
        row.end = one_in(10) ? trace::unknown_time : end;
        row.name = made.text(one_in(3) ? "step" : "work");
        return later(row);
      }
      case 1: {
        auto row = event<trace::sync_event>(begin);
        row.end = end;
        return later(row);
      }
      case 2: {
        auto row = event<trace::file_io_event>(begin);
        row.end = end;
        row.bytes = random_() % 100;
        row.operation = trace::file_operation::read;
        return later(row);
      }
      default: {
        auto row = event<trace::marker_event>(begin);
        row.step = one_in(2) ? static_cast<std::int64_t>(random_() % 10) : -1;
        return later(row);
      }
    }
  }

  void tell_samples() {
    switch (random_() % 4) {
      case 0: {
        auto row = event<trace::pool_event>(at());
        row.pool = trace::pool_id{1 + random_() % 3};
        row.reserved = random_() % 9000;
        row.used = random_() % (row.reserved + 1);
        return later(row);
      }
      case 1: {
        auto row = event<trace::device_memory_event>(at());
        row.device = trace::device_id{1};
        row.total = 100'000;
        row.free = random_() % row.total;
        row.recorder = random_() % 100;
        return later(row);
      }
      case 2: {
        auto row = event<trace::counter_event>(at());
        row.counter = trace::counter_id{1 + random_() % 2};
        row.value = static_cast<double>(random_() % 100);
        return later(row);
      }
      default: {
        auto row = event<trace::alloc_failed_event>(at());
        row.bytes = 5;
        return later(row);
      }
    }
  }

  void tell_touch() {
    auto row = event<trace::touch_event>(at());
    row.block = some_block();
    row.correlation = 1 + random_() % 20;
    row.name = made.text(one_in(3) ? "cuMemcpyAsync" : "gemm");
    if (one_in(5)) row.graph = trace::graph_id{1 + random_() % 2};
    later(row);
  }

  void tell_checkpoint() {
    auto lost = event<trace::loss_event>(at());
    lost.memory_events = 3;
    lost.events = 5;
    later(lost);
    auto about = event<trace::checkpoint_event>(at());
    about.blocks = 10;
    later(about);
    for (std::uint64_t i = 0; i < about.blocks; ++i) {
      auto row = event<trace::live_block_event>(about.time);
      row.checkpoint = about.id;
      row.block = trace::block_id{i < 5 ? 200 + i : 1 + random_() % 120};
      row.born = i < 5 || hostile_ ? std::min(at(), about.time) : about.time;
      row.bytes = 77;
      row.level = trace::layer::framework;
      row.kind = trace::memory_kind::device;
      row.device = trace::device_id{1};
      if (i < 5 || hostile_) later(row);
    }
  }

  std::mt19937_64 random_;
  bool hostile_;
  std::vector<std::function<void()>> rows_;
};

class part_of_a_random_recording : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(part_of_a_random_recording, answers_as_the_whole_does) {
  random_recording told(GetParam(), GetParam() % 4 == 0);
  const parts all(told.made, told.begins());
  for (std::uint64_t i = 0; i < 6 && !HasFailure(); ++i) {
    examiner of(all, GetParam() * 100 + i);
    for (int questions = 0; questions < 4 && !HasFailure(); ++questions) of.ask_everything();
    of.ask_details(150);
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, part_of_a_random_recording, ::testing::Range<std::uint64_t>(1, 60));

// --- files that lie --------------------------------------------------------------------------------------------------

/// Rows of a kind with random numbers in all members.
template <class Row>
void lie(trace::file_writer& to, std::mt19937_64& random, std::pair<time_ns, time_ns> over) {
  std::vector<Row> rows(20);
  for (Row& row : rows) {
    trace::for_each_member(row, [&](auto& member) {
      using member_type = std::remove_cvref_t<decltype(member)>;
      const std::uint64_t number = random() >> (random() % 64);
      if constexpr (std::is_same_v<member_type, bool>) {
        member = number % 2 == 0;
      } else if constexpr (std::is_enum_v<member_type> && trace::enum_values < member_type >> 0) {
        member = static_cast<member_type>(number % trace::enum_values<member_type>);
      } else {
        member = static_cast<member_type>(number);
      }
    });
  }
  to.add_summary<Row>(rows, over);
}

TEST(part_of_a_lying_file, answers_something_and_does_not_break) {
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    random_recording told(seed, true);
    told.made.flush();
    std::mt19937_64 random(seed);
    trace::file_writer& to = told.made.writer();
    {
      const indexed before(told.made.open());
      const std::vector<trace::epoch_row> epochs{{0, 1000, 5}, {1000, 2500, 5}, {2500, 9000, 5}};
      to.add_summary<trace::epoch_row>(epochs);
      lie<trace::crossing_block_row>(to, random, {INT64_MIN, INT64_MAX});
      lie<trace::crossing_block_row>(to, random, {500, 1500});
      lie<trace::block_uses_row>(to, random, {0, 5000});
      lie<trace::block_category_row>(to, random, {0, 5000});
      lie<trace::open_slice_row>(to, random, {1000, 1000});
      save_parts(before.index, *before.snapshot, epochs, to);
    }
    told.made.close();
    const auto file = told.made.open();
    const auto store = part_store::open(file->latest(), {});
    ASSERT_TRUE(store) << store.error().to_string();
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
      const auto found = (*store)->index_of(epoch, epoch);
      ASSERT_TRUE(found) << found.error().to_string();
      const time_range all{-analysis::latest_time, analysis::latest_time};
      static_cast<void>(ask(statistics_question{all}, **found, *file->latest()));
      static_cast<void>(ask(blocks_question{all}, **found, *file->latest()));
      stacks_question stacks;
      stacks.range = all;
      static_cast<void>(ask(stacks, **found, *file->latest()));
      for (const analysis::block_record& block : (*found)->memory().blocks())
        static_cast<void>(ask(details_question{{}, block.id}, **found, *file->latest()));
    }
  }
}

TEST(part_of_a_lying_file, is_refused_if_what_is_saved_of_the_whole_is_cut_or_changed) {
  random_recording told(5, false);
  told.made.flush();
  std::string saved;
  {
    recording other;
    const indexed before(told.made.open());
    const std::vector<trace::epoch_row> epochs{{0, 1000, 5}, {1000, 9000, 5}};
    save_parts(before.index, *before.snapshot, epochs, other.writer());
    other.close();
    const auto now = other.open()->latest();
    std::vector<trace::saved_row> rows;
    for (const trace::chunk_info& chunk : now->summaries())
      if (chunk.type == trace::row_type::saved) ASSERT_TRUE(now->read_summary(chunk, rows));
    ASSERT_EQ(rows.size(), 1U);
    saved = rows[0].bytes;
  }
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < 60; ++i) {
    recording made;
    made.add_alloc(5, 1, 10);
    trace::saved_row lies{"parts", 1, saved};
    if (i % 2 == 0) {
      lies.bytes.resize(random() % saved.size());
    } else {
      for (int changes = 0; changes < 5; ++changes) lies.bytes[random() % saved.size()] = static_cast<char>(random());
    }
    const std::vector<trace::epoch_row> epochs{{0, 1000, 5}, {1000, 9000, 5}};
    made.writer().add_summary<trace::epoch_row>(epochs);
    made.writer().add_summary<trace::saved_row>(std::span(&lies, 1));
    made.close();
    const auto store = part_store::open(made.open()->latest(), {});
    if (i % 2 == 0) {
      EXPECT_FALSE(store);
    } else if (store) {
      EXPECT_TRUE((*store)->index_of(1, 1));
    }
  }
}

TEST(part_of_a_file_without_summaries, is_not_found) {
  recording made;
  made.add_alloc(5, 1, 10);
  made.close();
  const auto store = part_store::open(made.open()->latest(), {});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, error_code::not_found);
}

// --- recordings of programs -----------------------------------------------------------------------------------------

/// The same rows in a file that is still open.
void copy(const trace::snapshot& from, trace::file_writer& to) {
  for (std::size_t i = 0; i < from.chunks().size(); ++i) {
    switch (from.chunks()[i].type) {
#define SLUICE_COPY(row_struct, kind)                      \
  case trace::row_type::kind: {                            \
    std::vector<trace::row_struct> rows;                   \
    ASSERT_TRUE(from.read_into(i, rows));                  \
    for (const trace::row_struct& row : rows) to.add(row); \
    break;                                                 \
  }
      SLUICE_FOR_EACH_ROW(SLUICE_COPY)
#undef SLUICE_COPY
      default:
        break;
    }
  }
}

class part_of_a_generated_recording : public ::testing::TestWithParam<generate::generate_options> {};

TEST_P(part_of_a_generated_recording, answers_as_the_whole_does) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("sluice-parts-{}.sluice", ::getpid())).string();
  ASSERT_TRUE(generate::generate(GetParam(), path));
  recording made(2048);
  {
    const auto file = trace::file::open(path).value();
    copy(*file->latest(), made.writer());
  }
  std::filesystem::remove(path);
  std::mt19937_64 random(GetParam().seed);
  made.flush();
  const auto flushed = made.open()->latest();
  const time_ns begin = flushed->begin(), end = flushed->end();
  std::set<time_ns> begins{begin};
  for (int i = 0; i < 9; ++i)
    begins.insert(begin + static_cast<time_ns>(random() % static_cast<std::uint64_t>(end - begin)));
  const parts all(made, {begins.begin(), begins.end()});
  for (std::uint64_t i = 0; i < 3 && !HasFailure(); ++i) {
    examiner of(all, GetParam().seed * 10 + i);
    for (int questions = 0; questions < 2 && !HasFailure(); ++questions) of.ask_everything();
    of.ask_details(60);
  }
}

INSTANTIATE_TEST_SUITE_P(
    programs, part_of_a_generated_recording,
    ::testing::Values(generate::generate_options{.events = 60'000, .seed = 1},
                      generate::generate_options{.events = 60'000, .seed = 2, .timeline = false, .processes = 2},
                      generate::generate_options{
                          .events = 60'000, .seed = 3, .pattern = generate::program_pattern::inference}));

}  // namespace
}  // namespace sluice::query
