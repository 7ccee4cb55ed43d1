// Imports heap profiles of pprof, as JAX writes them.
#include <gmock/gmock.h>

#include <functional>
#include <protozero/pbf_writer.hpp>

#include "tests/core/import/brought_file.hpp"
#include "tests/core/import/shared_traces.hpp"

namespace sluice::importing::pprof {
namespace {

using protozero::pbf_writer;
using testing::brought_file;
using ::testing::HasSubstr;
using testing::to_number;

/// A profile with the texts "", "allocations", "count", "space", "bytes", "kind", "buffer", "device", "gpu:1", "f",
/// "/w/a.py", and more.
class profile {
 public:
  explicit profile(bool of_memory = true) {
    type(1, 2);
    type(3, of_memory ? 4 : 2);
  }
  profile& type(std::int64_t value, std::int64_t unit) {
    pbf_writer inner(out_, 1);
    inner.add_int64(1, value);
    inner.add_int64(2, unit);
    return *this;
  }
  profile& sample(const std::vector<std::uint64_t>& places, const std::vector<std::int64_t>& values,
                  bool packed = true) {
    pbf_writer inner(out_, 2);
    if (packed) {
      inner.add_packed_uint64(1, places.begin(), places.end());
      inner.add_packed_int64(2, values.begin(), values.end());
    } else {
      for (const auto each : places) inner.add_uint64(1, each);
      for (const auto each : values) inner.add_int64(2, each);
    }
    for (const auto& [key, value] : {std::pair(5, 6), std::pair(7, 8)}) {
      pbf_writer label(inner, 3);
      label.add_int64(1, key);
      label.add_int64(2, value);
    }
    return *this;
  }
  profile& place(std::uint64_t id, std::uint64_t function, std::int64_t line) {
    pbf_writer inner(out_, 4);
    inner.add_uint64(1, id);
    pbf_writer subject(inner, 4);
    subject.add_uint64(1, function);
    subject.add_int64(2, line);
    return *this;
  }
  profile& function(std::uint64_t id, std::int64_t name, std::int64_t file) {
    pbf_writer inner(out_, 5);
    inner.add_uint64(1, id);
    inner.add_int64(2, name);
    inner.add_int64(4, file);
    return *this;
  }
  std::string end() {
    for (const char* text :
         {"", "allocations", "count", "space", "bytes", "kind", "buffer", "device", "gpu:1", "f", "/w/a.py", "main"})
      out_.add_string(6, text);
    out_.add_int64(9, 1'700'000'000'000'000'000);
    return bytes_;
  }

 private:
  std::string bytes_;
  pbf_writer out_{bytes_};
};

std::string small_profile(bool packed) {
  return profile()
      .sample({1, 2}, {3, 6291457}, packed)
      .sample({2}, {1, 4096}, packed)
      .place(1, 1, 14)
      .place(2, 2, 40)
      .function(1, 9, 10)
      .function(2, 11, 10)
      .end();
}

TEST(pprof_heap, has_blocks_of_stacks) {
  for (const bool packed : {true, false}) {
    const brought_file file("memory.prof", small_profile(packed));
    ASSERT_TRUE(file.is_read()) << file.refusal();
    EXPECT_EQ(file.imported().from, format::pprof);
    EXPECT_EQ(file.framework().maximum, 6291457U + 4096U);
    const auto blocks = file.rows<trace::alloc_event>();
    ASSERT_EQ(blocks.size(), 4U);
    const auto tables = file.file().latest();
    ASSERT_EQ(tables->tables().devices.rows().size(), 1U);
    EXPECT_EQ(tables->tables().devices.rows()[0].ordinal, 1);
    const auto& frames = tables->tables().frames.rows();
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(tables->tables().stacks.rows().size(), 2U) << "main is the caller of f";
    EXPECT_EQ(file.text(blocks[0].name), "buffer");
    EXPECT_TRUE(file.imported().not_understood.empty());
  }
}

TEST(pprof_heap, may_be_gzip) {
  const testing::own_folder folder;
  const brought_file file(folder.write_gzip("memory.prof", small_profile(true)));
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, 6291457U + 4096U);
}

TEST(pprof_heap, counts_what_is_wrong) {
  std::string bytes = profile()
                          .sample({7}, {1, 10})
                          .sample({1}, {1, -5})
                          .sample({1}, {1})
                          .sample({1}, {INT64_MAX, 99})
                          .place(1, 77, -1)
                          .end();
  pbf_writer(bytes).add_string(99, "more");
  const brought_file file("memory.prof", bytes);
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, 109U);
  const auto& counts = file.imported().not_understood;
  EXPECT_EQ(to_number(counts, "frames whose location is not in the file"), 1U);
  EXPECT_EQ(to_number(counts, "frames whose function is not in the file"), 1U);
  EXPECT_EQ(to_number(counts, "samples without a valid size"), 2U);
  EXPECT_EQ(to_number(counts, "samples of very many blocks, which are shown as one"), 1U);
  EXPECT_EQ(to_number(counts, "fields with the number 99"), 1U);
}

TEST(pprof_heap, ignores_fields_of_another_wire_type) {
  std::string bytes = small_profile(true);
  const auto add = [&](std::uint32_t table, const std::function<void(pbf_writer&)>& fields) {
    pbf_writer out(bytes);
    pbf_writer inner(out, table);
    fields(inner);
  };
  const auto add_unlike = [](pbf_writer& to) {
    for (const std::uint32_t field : {1, 2, 3, 4}) to.add_fixed64(field, 3);
  };
  add(1, add_unlike);
  add(2, [&](pbf_writer& sample) {
    for (const std::int64_t value : {1, 64}) sample.add_int64(2, value);
    add_unlike(sample);
    pbf_writer label(sample, 3);
    label.add_int64(1, 7);
    label.add_int64(2, 8);
    add_unlike(label);
  });
  add(4, [&](pbf_writer& place) {
    add_unlike(place);
    place.add_string(1, "1");
    place.add_uint64(4, 7);
    pbf_writer line(place, 4);
    add_unlike(line);
  });
  add(5, add_unlike);
  const brought_file file("memory.prof", bytes);
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, 6291457U + 4096U + 64U);
  EXPECT_TRUE(file.imported().not_understood.empty());
}

TEST(pprof_heap, that_is_cut_off_is_an_error_with_its_offset) {
  const std::string whole = small_profile(true);
  for (std::size_t size = 13; size < whole.size(); size += 7) {
    const brought_file file("memory.prof", whole.substr(0, size));
    EXPECT_TRUE(file.is_read() || file.refusal().find("memory.prof") != std::string::npos) << size;
  }
  const brought_file cut("memory.prof", whole.substr(0, 20));
  EXPECT_THAT(cut.refusal(), HasSubstr("ends inside a field"));
}

TEST(pprof_heap, of_no_memory_is_refused) {
  const brought_file file("cpu.prof", profile(false).sample({1}, {1, 2}).end());
  EXPECT_FALSE(file.is_read());
  EXPECT_THAT(file.refusal(), HasSubstr("save_device_memory_profile"));
}

TEST(foreign_pprof, memory_of_jax) {
  const auto path = testing::shared_case("r26a-jax-memory.prof");
  if (!path) GTEST_SKIP() << "there is no shared/cases/r26a-jax-memory.prof";
  const brought_file file(*path);
  ASSERT_TRUE(file.is_read()) << file.refusal();
  std::map<std::uint64_t, std::uint64_t> by_line;
  const auto snapshot = file.file().latest();
  for (const auto& each : file.rows<trace::alloc_event>())
    for (const auto& stack : snapshot->tables().stacks.rows())
      for (const auto& frame : snapshot->tables().frames.rows())
        if (stack.id == each.stack && frame.id == stack.frame) by_line[frame.line] += each.bytes;
  EXPECT_EQ(by_line, (std::map<std::uint64_t, std::uint64_t>{{14, 6291456}, {40, 41943040}}));
}

}  // namespace
}  // namespace sluice::importing::pprof
