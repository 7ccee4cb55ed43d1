// Annotations by programs become rows: ranges (also ones without an end), block tags, and thread names. Invalid ones
// are ignored.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

class annotations_test : public record_decoder_test {
 protected:
  void begin(thread& t, time_ns time, const std::string& name, std::uint64_t id = 0, const std::string& domain = "") {
    ring::range_begin_record r{};
    r.id = id;
    r.name = text(t, name);
    r.domain = domain.empty() ? 0 : text(t, domain);
    put(t, time, r);
  }
  void end(thread& t, time_ns time, std::uint64_t id = 0, const std::string& domain = "") {
    ring::range_end_record r{};
    r.id = id;
    r.domain = domain.empty() ? 0 : text(t, domain);
    put(t, time, r);
  }
  void tag(thread& t, time_ns time, std::uint64_t address, const std::string& category, const std::string& name) {
    ring::tag_record r{};
    r.address = address;
    r.category = category.empty() ? 0 : text(t, category);
    r.name = name.empty() ? 0 : text(t, name);
    put(t, time, r);
  }
  void name(thread& t, time_ns time, std::uint64_t tid, const std::string& words) {
    ring::thread_name_record r{};
    r.tid = tid;
    r.name = text(t, words);
    put(t, time, r);
  }
  /// The start and end of each range, by name.
  std::map<std::string, std::pair<time_ns, time_ns>> ranges() {
    const recorded& trace = finish();
    std::map<std::string, std::pair<time_ns, time_ns>> found;
    for (const host_range_event& r : trace.all<host_range_event>()) found[trace.text(r.name)] = {r.time, r.end};
    return found;
  }
  using ends = std::map<std::string, std::pair<time_ns, time_ns>>;
};

TEST_F(annotations_test, a_range_ends_with_the_pop_of_its_own_thread_and_domain) {
  thread& a = add_thread();
  thread& b = add_thread();
  begin(a, 10, "outer");
  begin(a, 20, "of a library", 0, "library");
  begin(b, 25, "of another thread");
  begin(a, 30, "inner");
  end(a, 40);
  end(a, 50);
  end(b, 55);
  end(a, 60, 0, "library");
  EXPECT_EQ(
      ranges(),
      (ends{{"outer", {10, 50}}, {"of a library", {20, 60}}, {"of another thread", {25, 55}}, {"inner", {30, 40}}}));
}

TEST_F(annotations_test, a_started_range_ends_with_its_number_on_any_thread) {
  thread& a = add_thread();
  thread& b = add_thread();
  begin(a, 10, "first", 7);
  begin(a, 20, "second", 8);
  end(b, 30, 7);
  end(b, 40, 99);  // An unknown range.
  EXPECT_EQ(ranges(), (ends{{"first", {10, 30}}, {"second", {20, unknown_time}}}));
}

TEST_F(annotations_test, a_number_that_is_used_again_is_another_range) {
  thread& a = add_thread();
  begin(a, 10, "its end was lost", 7);
  begin(a, 20, "again", 7);
  end(a, 30, 7);
  EXPECT_EQ(ranges(), (ends{{"its end was lost", {10, unknown_time}}, {"again", {20, 30}}}));
}

TEST_F(annotations_test, pushes_without_end_and_pops_without_begin_are_borne) {
  thread& a = add_thread();
  end(a, 1);
  const int pushes = 10'000;
  for (int i = 0; i < pushes; ++i) {
    begin(a, 10 + i, "deep");
    if (i % 1000 == 999) turn();
  }
  turns(2);
  for (int i = 0; i < pushes; ++i) {
    end(a, 20'000 + i);
    if (i % 1000 == 999) turn();
  }
  const auto rows = finish().all<host_range_event>();
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(pushes));
  const auto ended = std::count_if(rows.begin(), rows.end(), [](const auto& r) { return r.end != unknown_time; });
  EXPECT_EQ(ended, 4096) << "the outermost ranges were dropped";
}

TEST_F(annotations_test, a_tag_is_of_the_innermost_block_that_holds_the_address) {
  thread& a = add_thread();
  alloc(a, 10, 0x10000, 0x8000);
  alloc(a, 20, 0x12000, 0x1000, layer::framework);
  tag(a, 30, 0x12800, "weight", "layer1.weight");
  tag(a, 40, 0x17000, "", "the segment");
  tag(a, 50, 0x90000, "input", "nobody's");
  free(a, 60, 0x12000, layer::framework);
  tag(a, 70, 0x12800, "gradient", "");  // The block is freed: the address now belongs to the segment.
  const recorded& trace = finish();
  std::map<event_id, std::uint64_t> address;
  for (const alloc_event& row : trace.all<alloc_event>()) address[row.id] = row.address;
  std::vector<std::tuple<std::uint64_t, std::string, std::string>> tags;
  for (const attribute_event& row : trace.all<attribute_event>()) {
    tags.emplace_back(address[row.target], trace.text(row.key), trace.text(row.text));
  }
  EXPECT_EQ(tags, (decltype(tags){{0x12000, "category", "weight"},
                                  {0x12000, "name", "layer1.weight"},
                                  {0x10000, "name", "the segment"},
                                  {0x10000, "category", "gradient"}}));
}

TEST_F(annotations_test, the_name_that_a_program_gives_a_thread_goes_before_the_systems) {
  thread& a = add_thread();
  ring::thread_record renamed{};
  renamed.tid = 1;
  std::copy_n("python3", 8, renamed.name);
  name(a, 10, 1, "the trainer");
  name(a, 20, 77, "a thread that never speaks");
  turns(2);
  put(a, 30, renamed);
  const recorded& trace = finish();
  std::map<std::uint64_t, std::string> names;
  for (const thread_row& row : trace.tables().threads.rows()) names[row.tid] = trace.text(row.name);
  EXPECT_EQ(names, (std::map<std::uint64_t, std::string>{{1, "the trainer"}, {77, "a thread that never speaks"}}));
}

}  // namespace
}  // namespace sluice::writer
