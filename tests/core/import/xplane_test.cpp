// Imports XSpace files (xplane.pb) of XLA's profiler.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <protozero/pbf_writer.hpp>

#include "tests/core/import/brought_file.hpp"
#include "tests/core/import/shared_traces.hpp"

namespace sluice::importing::xplane {
namespace {

using protozero::pbf_writer;
using testing::brought_file;
using ::testing::HasSubstr;
using testing::to_number;

struct value {
  std::int64_t name = 0;
  std::string text;
  std::int64_t reference = 0;
};

/// Adds an event to a line. `offset` (from the line's start) and `duration` are in picoseconds.
void add_event(pbf_writer& line, std::int64_t name, std::int64_t offset, std::int64_t duration,
               const std::vector<value>& values = {}) {
  pbf_writer event(line, 4);
  event.add_int64(1, name);
  event.add_int64(2, offset);
  event.add_int64(3, duration);
  for (const value& each : values) {
    pbf_writer stat(event, 4);
    stat.add_int64(1, each.name);
    if (each.reference != 0) {
      stat.add_uint64(7, static_cast<std::uint64_t>(each.reference));
    } else {
      stat.add_string(5, each.text);
    }
  }
}

void add_name(pbf_writer& plane, std::uint32_t map, std::int64_t id, const std::string& name) {
  pbf_writer item(plane, map);
  item.add_int64(1, id);
  pbf_writer inner(item, 2);
  inner.add_int64(1, id);
  inner.add_string(2, name);
}

void add_line(pbf_writer& plane, std::int64_t id, const std::string& name,
              const std::function<void(pbf_writer&)>& events) {
  pbf_writer line(plane, 3);
  line.add_int64(1, id);
  line.add_string(2, name);
  line.add_int64(3, 1'700'000'000'000'000'000);
  events(line);
}

std::string small_space() {
  std::string bytes;
  pbf_writer space(bytes);
  {
    pbf_writer plane(space, 1);
    plane.add_int64(1, 1);
    plane.add_string(2, "/device:GPU:2");
    add_line(plane, 13, "Stream #13(Compute)", [](pbf_writer& line) {
      add_event(line, 1, 100'000'500, 40'250'000, {{1, "", 5}, {2, "7"}, {4, "unused"}});
      add_event(line, 3, 200'000'000, 1'000'000);
    });
    add_line(plane, 14, "Stream #14(MemcpyH2D)", [](pbf_writer& line) {
      add_event(line, 2, 0, 30'000'000, {{3, "kind_src:pinned kind_dst:device size:4096 dest:0 async:1"}, {2, "8"}});
    });
    add_line(plane, 15, "XLA Modules", [](pbf_writer& line) { add_event(line, 4, 0, 500'000'000); });
    add_name(plane, 4, 1, "fusion \"1\"");
    add_name(plane, 4, 2, "MemcpyH2D");
    add_name(plane, 4, 3, "bare");
    add_name(plane, 4, 4, "jit_f");
    add_name(plane, 5, 1, "kernel_details");
    add_name(plane, 5, 2, "correlation_id");
    add_name(plane, 5, 3, "memcpy_details");
    add_name(plane, 5, 4, "hlo_op");
    add_name(plane, 5, 5, "regs:32 static_shared:0 dynamic_shared:0 grid:256,1,1 block:128,1,1 occ_pct:100");
  }
  pbf_writer plane(space, 1);
  plane.add_string(2, "/host:CPU");
  add_line(plane, 900, "python", [](pbf_writer& line) {
    add_event(line, 1, 0, 800'000'000);
    add_event(line, 2, 90'000'000, 4'000'000, {{1, "7"}, {2, "2"}});
  });
  add_name(plane, 4, 1, "PjitFunction(f)");
  add_name(plane, 4, 2, "fusion \"1\"");
  add_name(plane, 5, 1, "correlation_id");
  add_name(plane, 5, 2, "device_id");
  return bytes;
}

TEST(xplane_file, has_kernels_copies_and_ranges) {
  const brought_file file("a.xplane.pb", small_space());
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.imported().from, format::xspace);
  const auto& devices = file.file().latest()->tables().devices.rows();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].ordinal, 2);
  auto kernels = file.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 2U);
  std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  EXPECT_EQ(file.text(kernels[0].name), "fusion \"1\"");
  EXPECT_EQ(kernels[0].time, 100'001);
  EXPECT_EQ(kernels[0].end - kernels[0].time, 40'250);
  EXPECT_EQ(kernels[0].registers, 32U);
  EXPECT_EQ(file.calls(), 1U);
  EXPECT_NE(kernels[0].call, trace::event_id::none) << "on a thread is the call with the kernel's name";
  EXPECT_EQ(file.text(kernels[1].name), "bare") << "on a stream every event is work";
  EXPECT_EQ(file.copies(trace::direction::h2d).bytes, 4096);
  EXPECT_EQ(file.rows<trace::transfer_event>()[0].source_kind, trace::memory_kind::pinned);
  EXPECT_EQ(file.range("jit_f").count, 1U);
  EXPECT_EQ(file.range("PjitFunction(f)").total, 800'000);
  EXPECT_EQ(to_number(file.imported().not_understood, "event values that a recording cannot represent"), 1U);
}

TEST(xplane_file, counts_what_is_wrong) {
  std::string bytes;
  {
    pbf_writer space(bytes);
    {
      pbf_writer plane(space, 1);
      plane.add_string(2, "/device:GPU:0");
      add_line(plane, 1, "Stream #1", [](pbf_writer& line) {
        add_event(line, 77, 0, 5);
        add_event(line, 1, -1, 5);
        pbf_writer sum(line, 4);
        sum.add_int64(1, 1);
        sum.add_int64(5, 9);
      });
      add_line(plane, 1, "Stream #1", [](pbf_writer& line) { line.add_bytes(4, "\x08\xff", 2); });
      plane.add_int64(99, 1);
    }
    space.add_string(2, "the buffer was full");
    space.add_int64(50, 1);
  }
  const brought_file file("a.xplane.pb", bytes);
  ASSERT_TRUE(file.is_read()) << file.refusal();
  const auto& counts = file.imported().not_understood;
  EXPECT_EQ(to_number(counts, "events whose name is not in the file"), 1U);
  EXPECT_EQ(to_number(counts, "events with an impossible time"), 1U);
  EXPECT_EQ(to_number(counts, "aggregated events, which have no time"), 1U);
  EXPECT_EQ(to_number(counts, "events that are not protocol buffers"), 1U);
  EXPECT_EQ(to_number(counts, "fields of planes with the number 99"), 1U);
  EXPECT_EQ(to_number(counts, "fields with the number 50"), 1U);
  EXPECT_THAT(file.messages(), HasSubstr("the buffer was full"));
}

TEST(xplane_file, ignores_fields_of_another_wire_type) {
  std::string bytes;
  {
    pbf_writer space(bytes);
    pbf_writer plane(space, 1);
    plane.add_string(2, "/device:GPU:0");
    add_line(plane, 1, "Stream #1", [](pbf_writer& line) {
      line.add_fixed64(2, 9);
      line.add_fixed64(11, 9);
      pbf_writer event(line, 4);
      event.add_int64(1, 1);
      event.add_int64(2, 1'000);
      event.add_int64(3, 5'000);
      for (const std::uint32_t field : {1, 2, 3, 4, 5}) event.add_fixed64(field, 9);
      pbf_writer value(event, 4);
      value.add_int64(1, 1);
      value.add_string(5, "7");
      for (const std::uint32_t field : {1, 3, 4, 5, 7}) value.add_fixed64(field, 9);
      value.add_int64(2, 9);
    });
    add_name(plane, 4, 1, "bare");
    add_name(plane, 5, 1, "correlation_id");
  }
  const brought_file file("a.xplane.pb", bytes);
  ASSERT_TRUE(file.is_read()) << file.refusal();
  const auto kernels = file.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(file.text(kernels[0].name), "bare");
  EXPECT_EQ(kernels[0].end - kernels[0].time, 5);
  EXPECT_EQ(file.imported().not_understood.size(), 1U) << "only the missing call";
}

TEST(xplane_file, that_is_cut_off_is_an_error_with_its_offset) {
  const std::string whole = small_space();
  const brought_file cut("a.xplane.pb", whole.substr(0, whole.size() - 20));
  ASSERT_FALSE(cut.is_read());
  EXPECT_THAT(cut.refusal(), HasSubstr("ends inside a field"));
  const brought_file longer("a.xplane.pb", std::string("\x0a\x13\x12\x0d/device:GPU:0\x1a\x50\x08", 19));
  ASSERT_FALSE(longer.is_read());
  EXPECT_THAT(longer.refusal(), HasSubstr("longer than its message"));
}

TEST(foreign_xplane, of_jax) {
  const auto path = testing::shared_case("r26b-xplane.pb");
  if (!path) GTEST_SKIP() << "there is no shared/cases/r26b-xplane.pb";
  const brought_file file(*path);
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.kernels(), 1U);
  const auto kernels = file.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(file.text(kernels[0].name), "loop_fusion");
  EXPECT_EQ(kernels[0].end - kernels[0].time, 40'000);
}

}  // namespace
}  // namespace sluice::importing::xplane
