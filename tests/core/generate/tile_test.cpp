#include "core/generate/tile.hpp"

#include "core/trace/file/writer.hpp"
#include "tests/core/generate/replay.hpp"

namespace sluice::generate {
namespace {

using namespace testing;

std::uint64_t find_events(const trace::snapshot& recording) {
  std::uint64_t count = 0;
  for (const auto& chunk : recording.chunks()) count += trace::is_event(chunk.type) ? chunk.rows : 0;
  return count;
}

TEST(tile, repeats_a_recording_one_time_after_the_other) {
  const temporary once("tile-once"), thrice("tile-thrice");
  ASSERT_TRUE(generate({.events = 30'000, .pattern = program_pattern::inference, .processes = 2}, once.path()));
  const auto source = read(once.path());
  const auto output = tile(once.path(), 3 * find_events(*source) - 100, thrice.path());
  ASSERT_TRUE(output) << output.error().to_string();
  const auto now = read(thrice.path());
  EXPECT_EQ(find_events(*now), output->events);
  const lives known(*now);
  known.expect_sound();
  expect_work_after_calls(*now);
  expect_touches_of_the_living(*now, known);
  expect_own_ids(*now);

  // The result has three copies of all events, and one copy of the tables.
  const auto count = [](const auto& whole) { return whole.size(); };
  EXPECT_EQ(count(rows<trace::kernel_event>(*now)), 3 * count(rows<trace::kernel_event>(*source)));
  EXPECT_EQ(count(rows<trace::touch_event>(*now)), 3 * count(rows<trace::touch_event>(*source)));
  EXPECT_EQ(count(rows<trace::graph_launch_event>(*now)), 3 * count(rows<trace::graph_launch_event>(*source)));
  EXPECT_EQ(now->tables().strings.rows().size(), source->tables().strings.rows().size());
  EXPECT_EQ(now->tables().stacks.rows().size(), source->tables().stacks.rows().size());
  EXPECT_EQ(now->tables().processes.rows().size(), 2U);

  // Blocks that are live at the end of a repetition are freed in the next one, so as much memory is in use at the end
  // as at the end of the original recording.
  EXPECT_EQ(known.at(now->end()).size(), lives(*source).at(source->end()).size());
  // Step numbers continue from one repetition to the next.
  std::int64_t last = -1;
  std::uint64_t steps = 0;
  for (const auto& row : rows<trace::marker_event>(*now)) {
    last = std::max(last, row.step);
    ++steps;
  }
  EXPECT_EQ(steps, 3 * rows<trace::marker_event>(*source).size());
  EXPECT_GT(last, 2 * static_cast<std::int64_t>(steps) / 3 / 2 - 2);
}

TEST(tile, ends_no_block_twice_of_which_a_checkpoint_tells_after_its_free) {
  const temporary once("tile-freed-once"), thrice("tile-freed-thrice");
  {
    auto file = std::move(trace::file_writer::create(once.path()).value());
    trace::alloc_event birth;
    birth.id = trace::event_id{1};
    birth.block = trace::block_id{1};
    birth.time = 100;
    birth.address = 4096;
    birth.bytes = 64;
    file.add(birth);
    trace::free_event end;
    end.id = trace::event_id{2};
    end.block = trace::block_id{1};
    end.time = 300;
    file.add(end);
    ASSERT_TRUE(file.flush());
    trace::live_block_event known;  // Arrives when the block's end is already in the file.
    known.block = trace::block_id{1};
    known.checkpoint = trace::event_id{3};
    known.time = 200;
    known.born = 100;
    file.add(known);
    ASSERT_TRUE(file.close());
  }
  ASSERT_TRUE(tile(once.path(), 9, thrice.path()));
  EXPECT_EQ(rows<trace::free_event>(*read(thrice.path())).size(), 3U);
}

TEST(tile, moves_every_reference_with_what_it_names) {
  const temporary once("tile-references-once"), twice("tile-references-twice");
  {
    auto file = std::move(trace::file_writer::create(once.path()).value());
    trace::transfer_event copy;
    copy.id = trace::event_id{4};
    copy.time = 100;
    copy.end = 200;
    copy.call = trace::event_id{3};
    copy.source_block = trace::block_id{7};
    copy.source_address = 0x1000;
    copy.correlation = 5;
    file.add(copy);
    trace::link_event link;
    link.id = trace::event_id{6};
    link.time = 150;
    link.from = trace::event_id{3};
    link.to = trace::event_id{4};
    file.add(link);
    trace::attribute_event attribute;
    attribute.id = trace::event_id{8};
    attribute.time = 150;
    attribute.target = trace::event_id{4};
    file.add(attribute);
    trace::graph_launch_event launch;
    launch.id = trace::event_id{9};
    launch.time = 160;
    launch.graph = trace::graph_id{2};
    file.add(launch);
    ASSERT_TRUE(file.close());
  }
  ASSERT_TRUE(tile(once.path(), 8, twice.path()));
  const auto now = read(twice.path());
  const auto copies = rows<trace::transfer_event>(*now);
  const auto links = rows<trace::link_event>(*now);
  const auto attributes = rows<trace::attribute_event>(*now);
  const auto launches = rows<trace::graph_launch_event>(*now);
  ASSERT_EQ(copies.size(), 2U);
  const std::uint64_t distance = raw(copies[1].id) - raw(copies[0].id);
  EXPECT_GE(distance, 9U);
  EXPECT_EQ(raw(copies[1].call), 3 + distance);
  EXPECT_EQ(raw(links[1].to), raw(copies[1].id));
  EXPECT_EQ(raw(links[1].from), raw(copies[1].call));
  EXPECT_EQ(raw(attributes[1].target), raw(copies[1].id));
  EXPECT_GT(raw(launches[1].graph), 2U);
  EXPECT_NE(copies[1].source_block, copies[0].source_block);
  EXPECT_GT(copies[1].source_address, copies[0].source_address);
  EXPECT_EQ(copies[1].end - copies[1].time, 100);
  EXPECT_GT(copies[1].time, copies[0].end);
  EXPECT_NE(copies[1].correlation, copies[0].correlation);
  EXPECT_EQ(copies[1].destination_block, trace::block_id::none);
  EXPECT_EQ(copies[1].enqueued, trace::unknown_time);
}

TEST(tile, refuses_what_cannot_be_repeated) {
  const temporary empty("tile-empty"), huge("tile-huge"), to("tile-to");
  {
    auto file = std::move(trace::file_writer::create(empty.path()).value());
    ASSERT_TRUE(file.close());
    auto other = std::move(trace::file_writer::create(huge.path()).value());
    trace::alloc_event block;
    block.block = trace::block_id{UINT64_MAX - 1};
    block.time = 1;
    other.add(block);
    ASSERT_TRUE(other.close());
  }
  EXPECT_EQ(tile(empty.path(), 10, to.path()).error().code, error_code::invalid_argument);
  EXPECT_EQ(tile(huge.path(), 10, to.path()).error().code, error_code::invalid_argument);
  EXPECT_EQ(tile("/nonexistent.sluice", 10, to.path()).error().code, error_code::not_found);
  EXPECT_FALSE(std::filesystem::exists(to.path()));
}

TEST(tile, is_as_large_an_event_as_the_recording) {
  const temporary many("tile-real");
  const std::string recording = SLUICE_SOURCE_DIR "/assets/recordings/pytorch-training.sluice";
  const auto output = tile(recording, 1'000'000, many.path());
  ASSERT_TRUE(output) << output.error().to_string();
  const auto bytes_an_event = [](const trace::snapshot& snapshot) {
    double bytes = 0;
    for (const trace::chunk_info& chunk : snapshot.chunks()) bytes += chunk.stored_bytes;
    return bytes / static_cast<double>(find_events(snapshot));
  };
  const double before = bytes_an_event(*read(recording));
  EXPECT_NEAR(bytes_an_event(*read(many.path())), before, before / 10);
}

}  // namespace
}  // namespace sluice::generate
