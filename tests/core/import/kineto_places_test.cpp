// Information that an import must infer from a torch.profiler trace: the GPU, the kind of memory, the line. Also
// metadata beside the events.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/import/graph_parts.hpp"
#include "core/trace/model/inferred_frames.hpp"
#include "tests/core/import/brought_case.hpp"

namespace sluice::importing::kineto_places {
namespace {

using testing::brought_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::to_number;

constexpr std::int64_t t0 = 1'700'000'000'000'000;  // us

std::string event(const std::string& category, const std::string& name, std::int64_t at, std::int64_t duration,
                  const std::string& args = {}, int thread = 1) {
  return R"({"ph":"X","cat":")" + category + R"(","name":")" + name + R"(","pid":1,"tid":)" + std::to_string(thread) +
         R"(,"ts":)" + std::to_string(t0 + at) + R"(,"dur":)" + std::to_string(duration) + R"(,"args":{)" + args + "}}";
}

std::string kernel_on(int device, std::int64_t at = 0) {
  return event("kernel", "k", at, 5, R"("device":)" + std::to_string(device) + R"(,"stream":0,"correlation":1)");
}

std::string memory(std::int64_t bytes, std::int64_t at, int device = 0, int thread = 1) {
  return R"({"ph":"i","s":"t","name":"[memory]","pid":1,"tid":)" + std::to_string(thread) + R"(,"ts":)" +
         std::to_string(t0 + at) + R"(,"args":{"Device Type":1,"Device Id":)" + std::to_string(device) +
         R"(,"Bytes":)" + std::to_string(bytes) + R"(,"Addr":)" + std::to_string(4096 + at) + "}}";
}

std::string properties(int gpus) {
  std::string text;
  for (int i = 0; i < gpus; ++i)
    text += (i == 0 ? "" : ",") + (R"({"id":)" + std::to_string(i) + R"(,"name":"AMD Instinct MI300X"})");
  return R"("deviceProperties":[)" + text + "]";
}

std::string document(const std::vector<std::string>& members, const std::vector<std::string>& events,
                     bool members_last = false) {
  std::string before, all;
  for (const std::string& each : members) before += (before.empty() ? "" : ",") + each;
  for (const std::string& each : events) all += (all.empty() ? "" : ",") + each;
  all = R"("traceEvents":[)" + all + "]";
  return "{" + (members_last ? all + "," + before : before + "," + all) + "}";
}

/// The ordinals of the devices that kernels ran on, and the number of devices.
std::pair<std::vector<std::int64_t>, std::size_t> get_devices(const brought_file& file) {
  const auto& tables = file.file().latest()->tables();
  std::vector<std::int64_t> used;
  for (const auto& each : file.rows<trace::kernel_event>()) used.push_back(tables.devices.find(each.device)->ordinal);
  return {used, tables.devices.rows().size()};
}

// --- GPUs -------------------------------------------------------------------------------------------------------------

TEST(kineto_gpus, are_found_by_their_nodes_wherever_they_are_described) {
  for (const bool last : {false, true}) {
    const brought_file one("trace.json", document({properties(1)}, {kernel_on(2), memory(1024, 1)}, last));
    EXPECT_EQ(get_devices(one), std::pair(std::vector<std::int64_t>{0}, std::size_t{1}));
    EXPECT_EQ(one.framework().device, one.rows<trace::kernel_event>()[0].device);
    const brought_file eighth("trace.json", document({properties(8)}, {kernel_on(9)}, last));
    EXPECT_EQ(get_devices(eighth), std::pair(std::vector<std::int64_t>{7}, std::size_t{8}));
    const brought_file seventh("trace.json", document({properties(8)}, {kernel_on(8)}, last));
    EXPECT_EQ(get_devices(seventh), std::pair(std::vector<std::int64_t>{6}, std::size_t{8}));
    // The file looks as if there were four processors.
    const brought_file four("trace.json", document({properties(8)}, {kernel_on(4), kernel_on(11)}, last));
    EXPECT_EQ(get_devices(four), std::pair(std::vector<std::int64_t>{0, 7}, std::size_t{8}));
  }
}

TEST(kineto_gpus, keep_numbers_that_are_described) {
  for (const bool last : {false, true}) {
    const brought_file file("trace.json", document({properties(4)}, {kernel_on(2), kernel_on(3)}, last));
    EXPECT_EQ(get_devices(file), std::pair(std::vector<std::int64_t>{2, 3}, std::size_t{4}));
  }
  const brought_file alone("trace.json", document({R"("schemaVersion":1)"}, {kernel_on(5)}));
  EXPECT_EQ(get_devices(alone), std::pair(std::vector<std::int64_t>{5}, std::size_t{1}));
}

TEST(kineto_gpus, are_listed_by_number) {
  const brought_file file("trace.json", document({properties(3)}, {kernel_on(2), kernel_on(0)}));
  std::vector<std::int64_t> listed;
  for (const auto& each : file.file().latest()->tables().devices.rows()) listed.push_back(each.ordinal);
  EXPECT_THAT(listed, ElementsAre(0, 1, 2));
}

// --- copies -----------------------------------------------------------------------------------------------------------

TEST(kineto_copies, of_which_amd_says_host_are_neither_pinned_nor_pageable) {
  const brought_file file(
      "trace.json", document({R"("schemaVersion":1)"},
                             {event("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0, 10, R"("device":0,"bytes":64)"),
                              event("gpu_memcpy", "CopyDeviceToHost", 20, 10, R"("device":0,"bytes":64)")}));
  const auto copies = file.rows<trace::transfer_event>();
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0].source_kind, trace::memory_kind::unknown);
  EXPECT_EQ(copies[0].destination_kind, trace::memory_kind::device);
  EXPECT_EQ(copies[1].direction, trace::direction::d2h);
  EXPECT_EQ(copies[1].source_kind, trace::memory_kind::device);
  EXPECT_EQ(copies[1].destination_kind, trace::memory_kind::unknown);
}

TEST(kineto_copies, without_a_size_are_counted) {
  const brought_file file(
      "trace.json",
      document({R"("schemaVersion":1)"}, {event("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0, 10, R"("device":0)"),
                                          event("gpu_memset", "Memset (Device)", 20, 10, R"("device":0)"),
                                          event("gpu_memset", "Memset (Device)", 40, 10, R"("device":0,"bytes":0)")}));
  EXPECT_EQ(to_number(file.imported().not_understood, "copies and memsets whose size is not in the file"), 2U);
  EXPECT_THAT(file.messages(), HasSubstr("2 copies and memsets whose size is not in the file"));
}

TEST(kineto_copies, of_a_graph_in_two_parts_are_one) {
  const auto part = [](std::int64_t at, std::int64_t duration, int launch) {
    return event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", at, duration,
                 R"("device":0,"stream":7,"bytes":4096,"graph node id":9,"correlation":)" + std::to_string(launch));
  };
  const brought_file file("trace.json", document({R"("schemaVersion":1)"},
                                                 {part(0, 10, 1), part(11, 5, 1), part(100, 10, 2),  // the next launch
                                                  part(150, 10, 2)}));                               // again, in a loop
  const auto copies = file.rows<trace::transfer_event>();
  ASSERT_EQ(copies.size(), 3U);
  EXPECT_EQ(copies[0].end - copies[0].time, 16'000);
  EXPECT_EQ(file.copies(trace::direction::d2d).bytes, 3 * 4096.0);
  EXPECT_EQ(to_number(file.imported().not_understood, graph_parts::words), 1U);
}

// --- lines ------------------------------------------------------------------------------------------------------------

/// The functions of a stack, innermost first.
std::vector<std::string> list_functions(const brought_file& file, trace::stack_id stack) {
  const auto& tables = file.file().latest()->tables();
  std::vector<std::string> strings;
  for (const trace::stack_row* at = tables.stacks.find(stack); at != nullptr; at = tables.stacks.find(at->parent)) {
    const trace::frame_row& frame = *tables.frames.find(at->frame);
    const std::string line = frame.line == 0 ? "" : file.text(frame.file) + ":" + std::to_string(frame.line) + " ";
    strings.push_back(line + file.text(frame.function));
  }
  return strings;
}

TEST(kineto_memory, is_of_the_python_functions_that_ran_then) {
  const auto python = [](const char* name, std::int64_t at, std::int64_t duration, int thread = 1) {
    return event("python_function", name, at, duration, "", thread);
  };
  const brought_file file(
      "trace.json", document({R"("with_stack":1)"},
                             {memory(1000, 50), python("<built-in method mm of type object at 0x7f00>", 40, 20),
                              python("run.py(9): <module>", 0, 1000), python("net.py(33): forward", 10, 500),
                              memory(2000, 200), python("C:\\\\a (b)\\\\opt.py(7): step", 600, 10), memory(3000, 605),
                              memory(4000, 2000), memory(5000, 50, 0, 2), python("other.py(1): f", 0, 10, 2)}));
  const std::string mark = std::string(trace::inferred_mark) + "while this ran]";
  std::map<std::uint64_t, std::vector<std::string>> by_size;
  for (const auto& each : file.rows<trace::alloc_event>()) by_size[each.bytes] = list_functions(file, each.stack);
  EXPECT_THAT(by_size[1000],
              ElementsAre(mark, "<built-in method mm of type object>", "net.py:33 forward", "run.py:9 <module>"));
  EXPECT_THAT(by_size[2000], ElementsAre(mark, "net.py:33 forward", "run.py:9 <module>"));
  EXPECT_THAT(by_size[3000], ElementsAre(mark, "C:\\a (b)\\opt.py:7 step", "run.py:9 <module>"));
  EXPECT_TRUE(by_size[4000].empty());
  EXPECT_TRUE(by_size[5000].empty());
}

// --- the document -----------------------------------------------------------------------------------------------------

TEST(chrome_document, begins_with_its_first_event_wherever_that_is) {
  std::vector<std::string> events;
  for (int i = 0; i < 8000; ++i) events.push_back(event("cpu_op", "op" + std::to_string(i), 1000 + i, 1));
  events.push_back(event("cpu_op", "first", -75'000, 1));
  // The times of these metadata events do not count.
  events.push_back(R"({"ph":"M","name":"process_name","pid":1,"ts":)" + std::to_string(t0 - 90'000) +
                   R"(,"args":{"name":"python"}})");
  events.push_back(event("kernel", "k", 5, 1, R"("device":0,"ts":)" + std::to_string(t0 - 80'000)));
  events.push_back(event("cpu_op", "never read", -t0, 1));
  const std::string text = document({R"("schemaVersion":1)"}, events);
  const brought_file plain("trace.json", text);
  EXPECT_EQ(plain.ranges(), 8001U);
  auto ranges = plain.rows<trace::host_range_event>();
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  EXPECT_EQ(plain.text(ranges.at(0).name), "first");
  EXPECT_EQ(ranges.at(0).time, 0);
  EXPECT_EQ(plain.file().latest()->realtime_origin(), (t0 - 75'000) * 1000);
  EXPECT_EQ(to_number(plain.imported().read, "operators"), 8001U);
  EXPECT_EQ(plain.file().latest()->begin(), 0);
}

TEST(chrome_document, has_metadata_that_become_attributes) {
  const brought_file file("trace.json", document({R"("job":"train \"7\"")", R"("batch":32)", R"("lr":0.5)",
                                                  R"("with_stack":true)", R"("plan":{"a":1})", R"("nothing":null)"},
                                                 {event("cpu_op", "a", 0, 1)}));
  std::map<std::string, std::tuple<std::string, std::int64_t, double>> table;
  for (const auto& each : file.rows<trace::attribute_event>())
    table[file.text(each.key)] = {file.text(each.text), each.integer, each.real};
  EXPECT_EQ(table["job"], std::tuple("train \"7\"", 0, 0.0));
  EXPECT_EQ(table["batch"], std::tuple("", 32, 0.0));
  EXPECT_EQ(table["lr"], std::tuple("", 0, 0.5));
  EXPECT_EQ(std::get<0>(table["with_stack"]), "true");
  EXPECT_EQ(table.size(), 4U);
  EXPECT_EQ(to_number(file.imported().not_understood, "member 'plan' of the document"), 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "member 'nothing' of the document"), 1U);
}

TEST(chrome_document, holds_few_of_its_members) {
  std::string text = "{";
  const std::string long_value(std::size_t{3} << 20, 'x');
  for (int i = 0; i < 40; ++i) text += "\"deviceProperties\":\"" + long_value + "\",";
  const brought_file file("trace.json", text + R"("traceEvents":[)" + event("cpu_op", "a", 0, 1) + "]}");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_GE(to_number(file.imported().not_understood, "members of the document beyond the memory limit"), 30U);
}

}  // namespace
}  // namespace sluice::importing::kineto_places
