#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/query/engine/engine.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/stacks.hpp"

namespace sluice::query {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::gib;
using testing::mib;
using testing::ms;
using testing::recording;
using trace::direction;
using trace::layer;
using trace::memory_kind;

class results : public ::testing::Test {
 protected:
  engine& asked() {
    if (!engine_) {
      made_.close();
      engine_ = std::make_unique<engine>(made_.open());
    }
    return *engine_;
  }
  template <class Query>
  auto ask(const Query& query) {
    auto found = asked().ask_now(query);
    EXPECT_TRUE(found) << found.error().to_string();
    return *found;
  }
  track find(track_kind kind, direction way = direction::unknown, std::size_t number = 0) {
    const auto list = ask(tracks_query{});
    for (const track& t : list->tracks) {
      if (t.kind == kind && t.direction == way && number-- == 0) return t;
    }
    ADD_FAILURE() << "no such track";
    return {};
  }
  static const band* find(const series& whole, band_role role, layer layer = layer::driver) {
    for (const band& b : whole.bands) {
      if (b.role == role && b.layer == layer) return &b;
    }
    return nullptr;
  }
  static std::string value(const event_details& details, std::string_view label) {
    for (const detail& d : details.details) {
      if (d.label == label) return d.value;
    }
    return "";
  }

  recording made_;
  std::unique_ptr<engine> engine_;
};

// --- tracks ---------------------------------------------------------------------------------------------------------

TEST_F(results, list_tracks_in_order_with_words_for_people) {
  made_.standard_tables();
  made_.add_alloc(1, 1, 100);
  made_.add_alloc(1, 2, 100, memory_kind::pinned);
  made_.add_copy(1, 5, 10);
  made_.add_copy(1, 5, 10, direction::d2d);
  made_.add_kernel(1, 5);
  made_.add_call(1, 5, "cuLaunchKernel");
  trace::counter_row counter;
  counter.id = trace::counter_id{1};
  counter.name = made_.text("queue depth");
  made_.writer().add(counter);
  auto sample = made_.event<trace::counter_event>(3);
  sample.counter = counter.id;
  sample.value = 4;
  made_.writer().add(sample);
  std::vector<std::string> labels;
  const auto list = ask(tracks_query{});
  for (const track& t : list->tracks) labels.push_back(t.label + " | " + t.detail);
  EXPECT_THAT(labels, ElementsAre("Device memory | NVIDIA H200 (GPU 0)", "Stream 7 | NVIDIA H200 (GPU 0)",
                                  "Host to device | NVIDIA H200 (GPU 0)", "Device to device | NVIDIA H200 (GPU 0)",
                                  "Bandwidth | NVIDIA H200 (GPU 0)", "Bandwidth, on device | NVIDIA H200 (GPU 0)",
                                  "Host memory | ", "main (43) | python (42)", "queue depth | "));
}

TEST_F(results, name_what_the_file_never_defined) {
  made_.add_kernel(1, 5, "k", 9);
  made_.add_alloc(1, 1, 100);
  const auto list = ask(tracks_query{});
  for (const track& t : list->tracks) {
    EXPECT_FALSE(t.label.empty());
    EXPECT_NE(t.id, 0U);
  }
}

TEST_F(results, keep_a_tracks_id_while_a_trace_grows) {
  made_.standard_tables();
  made_.add_kernel(1, 5);
  made_.flush();
  engine live(made_.open());
  const std::uint64_t before = live.ask_now(tracks_query{}).value()->tracks.at(0).id;
  made_.add_alloc(1, 1, 100);
  made_.close();
  live.refresh();
  while (live.busy()) std::this_thread::yield();
  const auto after = live.ask_now(tracks_query{}).value();
  EXPECT_EQ(after->tracks.size(), 2U);
  EXPECT_TRUE(std::any_of(after->tracks.begin(), after->tracks.end(), [&](const track& t) { return t.id == before; }));
}

// --- slices ---------------------------------------------------------------------------------------------------------

TEST_F(results, draw_ranges_above_calls_and_nest_them) {
  made_.standard_tables();
  auto outer = made_.event<trace::host_range_event>(0);
  outer.end = 100;
  outer.name = made_.text("step");
  made_.writer().add(outer);
  auto inner = made_.event<trace::host_range_event>(10);
  inner.end = 50;
  inner.name = made_.text("forward");
  made_.writer().add(inner);
  made_.add_call(20, 30, "cuLaunchKernel");
  const track thread = find(track_kind::host_thread);
  EXPECT_EQ(thread.depth, 3U);
  const auto slices = ask(slices_query{thread.id, {0, 100}, 1000});
  ASSERT_EQ(slices->slices.size(), 3U);
  EXPECT_EQ(slices->slices[0].depth, 0U);
  EXPECT_EQ(slices->slices[1].depth, 1U);
  EXPECT_EQ(slices->slices[2].depth, 2U);
  EXPECT_EQ(slices->slices[2].kind, slice_kind::api_call);
}

TEST_F(results, draw_what_has_not_ended_to_the_end_of_the_recording) {
  made_.standard_tables();
  made_.add_kernel(10, trace::unknown_time);
  made_.add_kernel(0, 500, "other", 2);
  const track stream = find(track_kind::stream);
  const auto slices = ask(slices_query{stream.id, {0, 1000}, 100});
  ASSERT_EQ(slices->slices.size(), 1U);
  EXPECT_EQ(slices->slices[0].end, 501);
}

TEST_F(results, merge_slices_that_share_a_pixel) {
  made_.standard_tables();
  for (int i = 0; i < 1000; ++i) made_.add_kernel(i * 10, i * 10 + 5);
  const track stream = find(track_kind::stream);
  const auto slices = ask(slices_query{stream.id, {0, 10'000}, 10});
  std::uint64_t count = 0;
  for (const slice& s : slices->slices) count += s.count;
  EXPECT_EQ(count, 1000U);
  EXPECT_LE(slices->slices.size(), 20U);
  EXPECT_NEAR(slices->slices[0].busy, 0.5, 0.01);
}

// --- series ---------------------------------------------------------------------------------------------------------

TEST_F(results, stack_a_devices_memory_up_to_what_the_whole_device_uses) {
  made_.standard_tables();
  made_.add_alloc(0, 1, 4 * gib);
  made_.add_alloc(0, 2, 1 * gib, memory_kind::device, layer::framework);
  made_.add_alloc(0, 3, 1 * gib, memory_kind::managed);
  made_.add_device_memory(0, 130 * gib, 140 * gib, 1 * gib);
  made_.add_kernel(0, 100);
  const auto curve = ask(series_query{find(track_kind::memory).id, {0, 100}, 4});
  double stacked = 0;
  for (const band& b : curve->bands) {
    ASSERT_EQ(b.bins.size(), 4U);
    if (b.stacked) stacked += b.bins[2].mean;
  }
  EXPECT_EQ(stacked, 10.0 * gib) << "device + not tracked + recorder: total less free";
  EXPECT_EQ(find(*curve, band_role::untracked)->bins[0].mean, 5.0 * gib);
  EXPECT_EQ(find(*curve, band_role::recorder)->bins[0].mean, 1.0 * gib);
  EXPECT_EQ(find(*curve, band_role::total)->bins[0].mean, 10.0 * gib);
  const band* framework = find(*curve, band_role::used, layer::framework);
  ASSERT_NE(framework, nullptr);
  EXPECT_FALSE(framework->stacked) << "it is inside the driver's";
  ASSERT_EQ(curve->limits.size(), 1U);
  EXPECT_EQ(curve->limits[0].label, "Device memory 140 GiB");
  EXPECT_EQ(curve->maximum, 10.0 * gib);
}

TEST_F(results, show_bandwidth_against_the_named_peaks_of_the_link) {
  made_.standard_tables();
  made_.add_copy(0, 10 * ms, 500'000'000);
  made_.add_copy(5 * ms, 15 * ms, 100'000'000, direction::h2d, memory_kind::pinned, 2);
  made_.add_copy(20 * ms, 30 * ms, 400'000'000, direction::d2h);
  const auto curve = ask(series_query{find(track_kind::bandwidth).id, {0, 40 * ms}, 8});
  ASSERT_EQ(curve->bands.size(), 2U);
  EXPECT_EQ(curve->bands[0].direction, direction::h2d);
  EXPECT_DOUBLE_EQ(curve->bands[0].bins[0].mean, 50e9);
  EXPECT_DOUBLE_EQ(curve->bands[0].bins[1].mean, 60e9) << "transfers that overlap add up";
  EXPECT_DOUBLE_EQ(curve->bands[0].bins[2].mean, 10e9);
  EXPECT_EQ(curve->bands[0].bins[3].maximum, 0) << "back to exactly nothing";
  EXPECT_DOUBLE_EQ(curve->bands[1].bins[4].mean, 40e9);
  ASSERT_EQ(curve->limits.size(), 1U);
  EXPECT_EQ(curve->limits[0].label, "PCIe 5 x16 peak 64.0 GB/s");
  EXPECT_DOUBLE_EQ(curve->limits[0].value, 64e9);
  EXPECT_DOUBLE_EQ(curve->maximum, 60e9) << "for the whole trace";
}

TEST_F(results, say_in_what_share_of_each_bin_copies_ran) {
  made_.standard_tables();
  made_.add_copy(0, 25, 1000);
  made_.add_copy(50, 100, 1000);
  made_.add_copy(150, 200, 1000, direction::d2h);
  const track row = find(track_kind::bandwidth);
  const auto output = ask(series_query{row.id, {0, 200}, 2, false});
  ASSERT_EQ(output->bands.size(), 2U);
  for (const band& each : output->bands) {
    ASSERT_EQ(each.busy.size(), each.bins.size());
    const bool to_device = each.direction == direction::h2d;
    ASSERT_EQ(each.busy.size(), 2U);
    EXPECT_NEAR(each.busy[0], to_device ? 0.75F : 0, 0.02F);
    EXPECT_NEAR(each.busy[1], to_device ? 0 : 0.5F, 0.02F);
  }
}

TEST_F(results, know_the_highest_value_of_tracks_of_memory) {
  made_.standard_tables();
  made_.add_alloc(1, 1, 100);
  made_.add_alloc(2, 2, 50);
  made_.add_free(3, 1);
  EXPECT_EQ(find(track_kind::memory).maximum, 150);
}

TEST_F(results, refuse_curves_of_a_track_with_slices) {
  made_.standard_tables();
  made_.add_kernel(0, 10);
  const track stream = find(track_kind::stream);
  EXPECT_EQ(asked().ask_now(series_query{stream.id, {0, 10}, 4}).error().code, error_code::invalid_argument);
}

// --- blocks ---------------------------------------------------------------------------------------------------------

TEST_F(results, list_blocks_by_size_and_by_use) {
  made_.standard_tables();
  for (std::uint64_t i = 1; i <= 4; ++i)
    made_.add_alloc(static_cast<trace::time_ns>(10 * i), i, 100 * i, memory_kind::device, layer::framework, "x");
  made_.add_free(90, 2);
  const auto use = [&](trace::time_ns time, std::uint64_t block) {
    auto row = made_.event<trace::touch_event>(time);
    row.block = trace::block_id{block};
    made_.writer().add(row);
  };
  use(50, 2);
  use(60, 2);
  use(70, 3);
  blocks_query query;
  query.range = {0, 100};
  query.min_bytes = 200;
  EXPECT_EQ(ask(query)->count, 3U);
  EXPECT_FALSE(ask(query)->uses_known) << "not requested";
  query.with_uses = true;
  const auto table = ask(query);
  EXPECT_TRUE(table->uses_known);
  ASSERT_EQ(table->rows.size(), 3U);
  const block_row& second = table->rows[2];
  EXPECT_EQ(second.first_use, 50);
  EXPECT_EQ(second.last_use, 60);
  EXPECT_EQ(second.uses, 2U);
  EXPECT_EQ(idle_at_end(second, 100), 30) << "until its free";
  EXPECT_EQ(idle_at_end(table->rows[1], 100), 30) << "until the end";
  EXPECT_EQ(idle_at_end(table->rows[0], 100), 60) << "from its allocation: it was never used";
  query.min_bytes = 0;
  query.only_unused = true;
  EXPECT_EQ(ask(query)->count, 2U) << "blocks 1 and 4";
}

TEST_F(results, list_blocks_that_were_live_in_a_range) {
  made_.standard_tables();
  made_.add_alloc(10, 1, 100, memory_kind::device, layer::driver, "weights");
  made_.add_alloc(20, 2, 300, memory_kind::device, layer::driver, "activations");
  made_.add_alloc(30, 3, 200, memory_kind::device, layer::framework, "Weights, too");
  made_.add_free(25, 2);
  const auto ids = [&](const blocks_query& query) {
    std::vector<std::uint64_t> found;
    const auto table = ask(query);
    for (const block_row& row : table->rows) found.push_back(raw(row.block));
    return found;
  };
  blocks_query query;
  query.range = {0, 100};
  EXPECT_THAT(ids(query), ElementsAre(2, 3, 1)) << "biggest first";
  EXPECT_EQ(ask(query)->total_bytes, 600U);
  EXPECT_EQ(ask(query)->count, 3U);
  query.range = {22, 23};
  EXPECT_THAT(ids(query), ElementsAre(2, 1));
  query.range = {25, 26};
  EXPECT_THAT(ids(query), ElementsAre(1));
  query.range = {0, 100};
  query.only_unfreed = true;
  EXPECT_THAT(ids(query), ElementsAre(3, 1));
  query.filter = "WEIGHTS";
  query.layer = layer::driver;
  EXPECT_THAT(ids(query), ElementsAre(1));
  query = {};
  query.range = {0, 100};
  query.filter = "0x2000";
  EXPECT_THAT(ids(query), ElementsAre(2)) << "its address is 2 << 32";
  query.filter.clear();
  query.sort = block_column::died;
  EXPECT_THAT(ids(query), ElementsAre(1, 3, 2)) << "blocks never freed end last";
  query.sort = block_column::name;
  query.descending = false;
  EXPECT_THAT(ids(query), ElementsAre(3, 2, 1));
}

// --- details --------------------------------------------------------------------------------------------------------

TEST_F(results, describe_a_transfer_with_its_bandwidth) {
  made_.standard_tables();
  const trace::event_id copy = made_.add_copy(0, 10 * ms, 320'000'000);
  auto note = made_.event<trace::attribute_event>(0);
  note.target = copy;
  note.key = made_.text("tensor");
  note.text = made_.text("embedding");
  made_.writer().add(note);
  const auto subject = ask(details_query{copy, {}});
  EXPECT_EQ(subject->title, "Copy host to device, 305 MiB");
  EXPECT_EQ(subject->span, (time_range{0, 10 * ms}));
  EXPECT_EQ(value(*subject, "Bandwidth"), "32.0 GB/s, 50 % of the link's peak");
  EXPECT_EQ(value(*subject, "From"), "pinned memory");
  EXPECT_EQ(value(*subject, "Stream"), "Stream 7");
  EXPECT_EQ(value(*subject, "tensor"), "embedding");
  EXPECT_EQ(subject->track, find(track_kind::stream).id);
}

TEST_F(results, say_of_a_copy_what_else_moved_the_same) {
  using enum trace::content_check;
  made_.standard_tables();
  const auto copy = [&](trace::time_ns begin, trace::content_check content, std::uint64_t source) {
    auto row = made_.event<trace::transfer_event>(begin);
    row.end = begin + ms;
    row.bytes = 4 * mib;
    row.direction = direction::h2d;
    row.device = trace::device_id{1};
    row.source_address = source;
    row.content = content;
    row.content_hash = 0xabc;
    row.content_bytes = 16384;
    return trace::event_id{made_.writer().add(row)};
  };
  const trace::event_id first = copy(10 * ms, sampled, 0x1000);
  const trace::event_id second = copy(20 * ms, sampled, 0x2000);
  const trace::event_id third = copy(30 * ms, sampled, 0x1000);
  const trace::event_id skipped = copy(40 * ms, over_budget, 0x1000);
  const trace::event_id alone = copy(50 * ms, exact, 0x1000);
  const auto subject = ask(details_query{second, {}});
  EXPECT_EQ(value(*subject, "Content"), "hash 0000000000000abc, of a sample of 16.0 KiB");
  EXPECT_EQ(value(*subject, "Same content before"), "once, first in the copy at 10.000 ms");
  EXPECT_EQ(value(*subject, "Same content again"), "once, next in the copy at 30.000 ms");
  const auto last = ask(details_query{third, {}});
  EXPECT_EQ(value(*last, "Same content before"),
            "2 times, unchanged at the same address, first in the copy at 10.000 ms");
  EXPECT_EQ(value(*last, "Same content again"), "");
  for (const detail& d : last->details) {
    EXPECT_TRUE(d.label != "Same content before" || d.link == first) << "a click leads there";
  }
  EXPECT_EQ(value(*ask(details_query{skipped, {}}), "Content"), "not hashed, to save time");
  const auto lonely = ask(details_query{alone, {}});
  EXPECT_EQ(value(*lonely, "Content"), "hash 0000000000000abc, of all bytes");
  EXPECT_EQ(value(*lonely, "Same content before"), "");
}

TEST_F(results, describe_a_block_and_lead_to_its_events) {
  made_.standard_tables();
  const trace::event_id alloc = made_.add_alloc(5 * ms, 1, 2 * gib);
  made_.add_free(8 * ms, 1);
  const auto subject = ask(details_query{{}, trace::block_id{1}});
  EXPECT_EQ(subject->title, "Block of 2.00 GiB");
  EXPECT_EQ(subject->span, (time_range{5 * ms, 8 * ms}));
  EXPECT_EQ(value(*subject, "Bytes"), "2.00 GiB (2,147,483,648 bytes)");
  EXPECT_EQ(value(*subject, "Lifetime"), "3.00 ms");
  EXPECT_EQ(subject->track, find(track_kind::memory).id);
  const auto born = std::find_if(subject->details.begin(), subject->details.end(),
                                 [](const detail& d) { return d.label == "Allocated"; });
  ASSERT_NE(born, subject->details.end());
  EXPECT_EQ(born->link, alloc);
  EXPECT_EQ(ask(details_query{alloc, {}})->title, "Allocation of 2.00 GiB");
}

TEST_F(results, lead_from_imported_memory_to_its_owners_block) {
  made_.standard_tables();
  const trace::event_id owner = made_.add_alloc(5 * ms, 1, 2 * gib);
  const auto import = [&](trace::time_ns time, std::uint64_t block) {
    auto row = made_.event<trace::alloc_event>(time);
    row.block = trace::block_id{block};
    row.bytes = 2 * gib;
    row.flags = trace::ipc_import;
    return trace::event_id{made_.writer().add(row)};
  };
  auto link = made_.event<trace::link_event>(6 * ms);
  link.kind = trace::link_kind::import_to_owner;
  link.from = import(6 * ms, 2);
  link.to = owner;
  made_.writer().add(link);
  import(7 * ms, 3);
  const auto had = ask(details_query{{}, trace::block_id{2}});
  EXPECT_EQ(value(*had, "Imported"), "from python (42); its bytes are counted there");
  const auto to = std::find_if(had->details.begin(), had->details.end(),
                               [](const detail& d) { return d.label == "Owner's block"; });
  ASSERT_NE(to, had->details.end());
  EXPECT_EQ(to->block, trace::block_id{1});
  EXPECT_EQ(value(*ask(details_query{link.from, {}}), "Owner's block"), "event " + std::to_string(raw(owner)));
  EXPECT_EQ(value(*ask(details_query{{}, trace::block_id{3}}), "Imported"),
            "from another process, which is not in this recording; its bytes are counted for their owner");
}

TEST_F(results, say_what_a_sampled_thread_did) {
  made_.standard_tables();
  auto row = made_.event<trace::host_sample_event>(5 * ms);
  row.length = 2 * ms;
  row.state = trace::host_state::blocked;
  row.system_call = 202;
  row.python_distance = 150'000;
  const trace::event_id blocked{made_.writer().add(row)};
  row.time = 7 * ms;
  row.state = trace::host_state::in_kernel;
  row.system_call = 4000;
  row.python_distance = -1;
  const trace::event_id unknown{made_.writer().add(row)};
  const auto found = ask(details_query{blocked, {}});
  EXPECT_EQ(found->title, "Sample of a thread");
  EXPECT_EQ(found->span, (time_range{5 * ms, 7 * ms}));
  EXPECT_EQ(value(*found, "State"), "waiting, off the CPU");
  EXPECT_EQ(value(*found, "System call"), "futex");
  EXPECT_EQ(value(*found, "Python frames"), "read 150 µs apart from the native frames");
  EXPECT_EQ(value(*found, "Thread"), "main (43)");
  const auto other = ask(details_query{unknown, {}});
  EXPECT_EQ(value(*other, "State"), "running code of the operating system");
  EXPECT_EQ(value(*other, "System call"), "number 4000");
  EXPECT_EQ(value(*other, "Python frames"), "");
}

TEST_F(results, survive_stacks_that_form_a_ring) {
  made_.standard_tables();
  for (std::uint64_t i = 1; i <= 2; ++i) {
    trace::frame_row frame;
    frame.id = trace::frame_id{i};
    frame.function = made_.text("f" + std::to_string(i));
    made_.writer().add(frame);
    trace::stack_row stack;
    stack.id = trace::stack_id{i};
    stack.parent = trace::stack_id{3 - i};
    stack.frame = frame.id;
    made_.writer().add(stack);
  }
  auto row = made_.event<trace::alloc_event>(1);
  row.block = trace::block_id{1};
  row.bytes = 10;
  row.stack = trace::stack_id{1};
  made_.writer().add(row);
  const auto found = ask(details_query{{}, trace::block_id{1}});
  ASSERT_EQ(found->stack.size(), 3U);
  EXPECT_EQ(symbols::to_text(found->stack[0]), "f1");
  EXPECT_EQ(symbols::to_text(found->stack[1]), "f2");
  EXPECT_EQ(symbols::to_text(found->stack[2]), symbols::cut_remark);
}

// --- memory by stack ------------------------------------------------------------------------------------------------

class who_asked : public results {
 protected:
  who_asked() {
    made_.standard_tables();
    testing::stack_maker stack(made_);
    const auto train = testing::python("<module>", "/home/me/train.py", 9);
    const auto hold = [&](std::uint64_t block, std::uint64_t bytes, std::string_view module) {
      auto row = made_.event<trace::alloc_event>(static_cast<time_ns>(block));
      row.block = trace::block_id{block};
      row.bytes = bytes;
      row.layer = trace::layer::framework;
      row.kind = trace::memory_kind::device;
      row.device = trace::device_id{1};
      row.name = made_.text("PyTorch");
      row.stack = stack({testing::python(module, "/x/site-packages/transformers/gpt2.py", 5), train});
      made_.writer().add(row);
    };
    hold(1, 60, "GPT2MLP.forward");
    hold(2, 40, "GPT2Attention.forward");
  }
};

TEST_F(who_asked, begins_the_tree_of_stacks_where_that_is_wanted) {
  stacks_query query{.range = {0, 100}};
  auto found = ask(query);
  EXPECT_FALSE(found->grouped_by);
  EXPECT_EQ(symbols::get_name(found->lines[found->tree.nodes[1].line]), "<module>");
  query.grouping.grouped = true;
  found = ask(query);
  EXPECT_EQ(found->grouped_by, symbols::attribution::module) << "one line holds everything";
  EXPECT_EQ(symbols::get_name(found->lines[found->tree.nodes[1].line]), "GPT2MLP.forward");
  EXPECT_EQ(found->tree.nodes[1].all.bytes, 60U);
  query.grouping.by = symbols::attribution::package;
  found = ask(query);
  EXPECT_EQ(symbols::get_name(found->lines[found->tree.nodes[1].line]), "transformers");
  EXPECT_EQ(found->tree.nodes[1].all.bytes, 100U);
}

TEST_F(who_asked, is_said_of_each_block) {
  blocks_query query;
  query.range = {0, 100};
  const auto asked_by = [&] {
    const auto found = ask(query);
    std::vector<std::string> strings{std::string(get_name(found->by))};
    for (const std::uint32_t place : found->asked_by) strings.push_back(found->names[place]);
    return strings;
  };
  EXPECT_THAT(asked_by(), ::testing::ElementsAre("module", "transformers/gpt2.py, GPT2MLP.forward",
                                                 "transformers/gpt2.py, GPT2Attention.forward"));
  query.by = symbols::attribution::line;
  EXPECT_THAT(asked_by(), ::testing::ElementsAre("line", "me/train.py:9, <module>", "me/train.py:9, <module>"));
  query.by = symbols::attribution::owner;
  EXPECT_THAT(asked_by(), ::testing::ElementsAre("owner", "PyTorch", "PyTorch"));
}

TEST_F(who_asked, is_found_by_line_function_or_module_whatever_the_case) {
  blocks_query query;
  query.range = {0, 100};
  const auto count = [&](const char* text) {
    query.filter = text;
    return ask(query)->count;
  };
  EXPECT_EQ(count("me/train.py:9"), 2U);
  EXPECT_EQ(count("gpt2mlp.FORWARD"), 1U);
  EXPECT_EQ(count("gpt2.py"), 2U);
  EXPECT_EQ(count("transformers/gpt2.py, GPT2MLP"), 1U) << "as a link from its module does";
  EXPECT_EQ(count("no/such.py"), 0U);
}

// --- messages -------------------------------------------------------------------------------------------------------

TEST_F(results, gather_what_the_user_should_read) {
  made_.standard_tables();
  auto said = made_.event<trace::message_event>(50);
  said.severity = trace::severity::error;
  said.text = made_.text("another profiler took over");
  made_.writer().add(said);
  auto loss = made_.event<trace::loss_event>(20);
  loss.end = 30;
  loss.events = 3;
  made_.writer().add(loss);
  const auto whole = ask(messages_query{});
  ASSERT_EQ(whole->size(), 2U);
  EXPECT_EQ((*whole)[0].text, "the recorder lost 3 events");
  EXPECT_EQ((*whole)[1].severity, trace::severity::error);
  EXPECT_EQ((*whole)[1].text, "another profiler took over");
}

}  // namespace
}  // namespace sluice::query
