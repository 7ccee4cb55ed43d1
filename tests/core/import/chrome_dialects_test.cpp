// Device work in Chrome traces of XLA, unitrace, rocprof and Ascend's profiler.
#include <gmock/gmock.h>

#include "tests/core/import/brought_case.hpp"

namespace sluice::importing::chrome_dialects {
namespace {

using testing::brought_file;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::to_number;

constexpr trace::time_ns us = 1000;

/// A trace of these events.
brought_file get_trace(const std::string& events) {
  return brought_file("trace.json", R"j({"displayTimeUnit":"ns","traceEvents":[)j" + events + "]}");
}

const trace::device_row& only_device(const brought_file& file) {
  const auto& devices = file.file().latest()->tables().devices.rows();
  EXPECT_EQ(devices.size(), 1U);
  return devices[0];
}

trace::time_ns busy(const brought_file& file) {
  trace::time_ns total = 0;
  for (const auto& each : file.rows<trace::kernel_event>()) total += each.end - each.time;
  return total;
}

constexpr const char* xla_names =
    R"j({"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:1"}},)j"
    R"j({"ph":"M","pid":1,"tid":13,"name":"thread_name","args":{"name":"Stream #13(Compute)"}},)j"
    R"j({"ph":"M","pid":1,"tid":17,"name":"thread_name","args":{"name":"XLA Modules"}},)j"
    R"j({"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}})j";
constexpr const char* xla_work =
    R"j({"ph":"X","pid":1,"tid":13,"ts":100.5,"dur":40.25,"name":"fusion","args":{"correlation_id":"7","context_id":"$$1",)j"
    R"j("kernel_details":"regs:32 static_shared:16 dynamic_shared:4 grid:256,2,1 block:128,1,3 occ_pct:100"}},)j"
    R"j({"ph":"X","pid":1,"tid":14,"ts":20,"dur":30,"name":"MemcpyH2D","args":{"correlation_id":"8",)j"
    R"j("memcpy_details":"kind_src:pageable kind_dst:device size:4096 dest:0 async:1"}},)j"
    R"j({"ph":"X","pid":1,"tid":14,"ts":60,"dur":3,"name":"Memset","args":{"correlation_id":"9",)j"
    R"j("Memset_details":"kind:device num_bytes:64 async:1"}},)j"
    R"j({"ph":"X","pid":1,"tid":17,"ts":100,"dur":50,"name":"jit_step(1)","args":{"run_id":"3"}},)j"
    R"j({"ph":"X","pid":701,"tid":900,"ts":10,"dur":5,"name":"cuLaunchKernel","args":{"correlation_id":"7"}},)j"
    R"j({"ph":"X","pid":701,"tid":901,"ts":16,"dur":5,"name":"hipMemcpyDtoDAsync","args":{"correlation_id":"8","memcpy_details":"kind:Unknown size:0 dest:512 async:1"}},)j"
    R"j({"ph":"X","pid":701,"tid":900,"ts":0,"dur":800,"name":"PjitFunction(step)"},{})j";

TEST(xla_trace, has_kernels_copies_and_calls) {
  const brought_file file = get_trace(std::string(xla_names) + "," + xla_work);
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(only_device(file).ordinal, 1);
  const auto kernels = file.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(file.text(kernels[0].name), "fusion");
  EXPECT_EQ(kernels[0].end - kernels[0].time, 40250);
  EXPECT_EQ(kernels[0].grid_x, 256U);
  EXPECT_EQ(kernels[0].grid_y, 2U);
  EXPECT_EQ(kernels[0].block_x, 128U);
  EXPECT_EQ(kernels[0].block_z, 3U);
  EXPECT_EQ(kernels[0].registers, 32U);
  EXPECT_EQ(kernels[0].static_shared, 20U);
  EXPECT_NE(kernels[0].call, trace::event_id::none);
  EXPECT_EQ(file.calls(), 2U) << "a call is not a copy";
  EXPECT_EQ(file.copies(trace::direction::h2d).bytes, 4096);
  const auto copies = file.rows<trace::transfer_event>();
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].source_kind, trace::memory_kind::host);
  EXPECT_EQ(copies[0].destination_kind, trace::memory_kind::device);
  const auto memsets = file.rows<trace::memset_event>();
  ASSERT_EQ(memsets.size(), 1U);
  EXPECT_EQ(memsets[0].bytes, 64U);
  EXPECT_EQ(file.range("jit_step(1)").count, 1U);
  EXPECT_EQ(file.range("PjitFunction(step)").total, 800 * us);
  EXPECT_THAT(file.messages(), Not(HasSubstr("without a time")));
}

/// The trace is like those that JAX 0.11 writes on an H200.
TEST(xla_trace, rows_of_threads_hold_calls_though_they_have_the_names_of_work) {
  const brought_file file = get_trace(
      std::string(xla_names) +
      R"j(,{"ph":"X","pid":1,"tid":13,"ts":100,"dur":40,"name":"gemm","args":{"correlation_id":"7","kernel_details":"regs:32 grid:1,1,1 block:1,1,1"}},)j"
      R"j({"ph":"X","pid":1,"tid":14,"ts":20,"dur":30,"name":"MemcpyH2D","args":{"correlation_id":"8","memcpy_details":"kind_src:pinned kind_dst:device size:4096 dest:0 async:1"}},)j"
      R"j({"ph":"X","pid":1,"tid":14,"ts":60,"dur":3,"name":"Memset","args":{"correlation_id":"9","Memset_details":"kind:device num_bytes:64 async:1"}},)j"
      R"j({"ph":"X","pid":701,"tid":9,"ts":90,"dur":4,"name":"gemm","args":{"correlation_id":"7","context_id":"$$1","device_id":"1"}},)j"
      R"j({"ph":"X","pid":701,"tid":9,"ts":10,"dur":5,"name":"MemcpyH2D","args":{"correlation_id":"8","device_id":"1","memcpy_details":"kind_src:unknown kind_dst:unknown size:4096 dest:0 async:1"}},)j"
      R"j({"ph":"X","pid":701,"tid":9,"ts":50,"dur":5,"name":"Memset","args":{"correlation_id":"9","device_id":"1","Memset_details":"kind:unknown num_bytes:64 async:1"}})j");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(only_device(file).ordinal, 1);
  EXPECT_EQ(file.calls(), 3U);
  EXPECT_EQ(file.copies(trace::direction::h2d).bytes, 4096);
  EXPECT_EQ(file.rows<trace::memset_event>().size(), 1U);
  const auto kernels = file.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_NE(kernels[0].call, trace::event_id::none);
}

TEST(xla_trace, may_have_its_names_last) {
  const brought_file file = get_trace(std::string(xla_work) + "," + xla_names);
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(only_device(file).ordinal, 1);
  EXPECT_EQ(file.kernels(), 1U);
  EXPECT_EQ(file.copies(trace::direction::h2d).bytes, 4096);
}

TEST(xla_trace, two_devices_of_one_name_stay_two) {
  const brought_file file = get_trace(
      R"j({"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},)j"
      R"j({"ph":"M","pid":2,"name":"process_name","args":{"name":"/host:b/device:GPU:0"}},)j"
      R"j({"ph":"X","pid":1,"tid":3,"ts":1,"dur":1,"name":"a","args":{"correlation_id":1,"kernel_details":"regs:1"}},)j"
      R"j({"ph":"X","pid":2,"tid":3,"ts":1,"dur":1,"name":"a","args":{"correlation_id":1,"kernel_details":"regs:1"}})j");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  const auto& devices = file.file().latest()->tables().devices.rows();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_NE(devices[0].ordinal, devices[1].ordinal);
}

TEST(xla_trace, details_may_be_anything) {
  const brought_file file = get_trace(
      R"j({"ph":"X","pid":1,"tid":3,"ts":1,"dur":1,"name":"a","args":{"correlation_id":"x","kernel_details":"regs:1"}},)j"
      R"j({"ph":"X","pid":1,"tid":3,"ts":2,"dur":1,"name":"b","args":{"correlation_id":1,"kernel_details":"regs: grid:,, block:-1,9999999999999,z"}},)j"
      R"j({"ph":"X","pid":1,"tid":3,"ts":3,"dur":1,"name":"MemcpyD2H","args":{"correlation_id":2,"memcpy_details":"kind_src kind_dst:"}},)j"
      R"j({"ph":"X","pid":1,"tid":3,"ts":4,"dur":1,"name":"Memset","args":{"correlation_id":3,"Memset_details":"size:99999999999999999999999"}},)j"
      R"j({"ph":"X","pid":1,"tid":3,"ts":5,"dur":1,"name":"c","args":[1,2]},{"ph":"X","pid":1,"tid":3,"ts":6,"dur":1,"name":"d","args":{}})j");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.rows<trace::kernel_event>().size(), 1U);
  EXPECT_EQ(file.rows<trace::transfer_event>().size(), 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "copies and memsets whose size is not in the file"), 2U);
  EXPECT_EQ(to_number(file.imported().not_understood, "event arguments that a recording cannot represent"), 2U);
}

TEST(xla_trace, operations_of_a_tpu_are_its_work) {
  const brought_file file =
      get_trace(R"j({"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0"}},)j"
                R"j({"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Modules"}},)j"
                R"j({"ph":"M","pid":3,"tid":2,"name":"thread_name","args":{"name":"XLA Ops"}},)j"
                R"j({"ph":"X","pid":3,"tid":1,"ts":1,"dur":9,"name":"jit_f"},)j"
                R"j({"ph":"X","pid":3,"tid":2,"ts":1,"dur":4,"name":"fusion.1","args":{"hlo_category":"fusion"}},)j"
                R"j({"ph":"X","pid":3,"tid":2,"ts":5,"dur":4,"name":"fusion.2"})j");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.kernels(), 2U);
  EXPECT_EQ(busy(file), 8 * us);
  EXPECT_EQ(file.range("jit_f").count, 1U);
}

TEST(xla_trace, its_allocator_tells_of_memory) {
  const brought_file file = get_trace(
      R"j({"ph":"X","pid":7,"tid":1,"ts":1,"dur":0.001,"name":"MemoryAllocation","args":{"allocator_name":"GPU_0_bfc",)j"
      R"j("allocation_bytes":"4096","addr":"1024","bytes_allocated":"4096","bytes_reserved":"1000000"}},)j"
      R"j({"ph":"X","pid":7,"tid":1,"ts":2,"dur":0.001,"name":"MemoryAllocation","args":{"allocator_name":"GPU_0_bfc",)j"
      R"j("allocation_bytes":"512","addr":"8192","bytes_allocated":"4608","bytes_reserved":"1000000"}},)j"
      R"j({"ph":"X","pid":7,"tid":1,"ts":3,"dur":0.001,"name":"MemoryDeallocation","args":{"allocator_name":"GPU_0_bfc",)j"
      R"j("allocation_bytes":"4096","addr":"1024","bytes_allocated":"512","bytes_reserved":"1000000"}},)j"
      R"j({"ph":"X","pid":7,"tid":1,"ts":4,"dur":0.001,"name":"MemoryAllocation","args":{"allocator_name":"cpu"}})j");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, 4608U);
  EXPECT_EQ(file.framework().at_end, 512U);
  EXPECT_EQ(only_device(file).ordinal, 0);
}

TEST(unitrace_trace, has_kernels_copies_and_fills) {
  const std::string head =
      R"j({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"DEVICE<Intel Max 1550>[2]"}},)j";
  const brought_file file = get_trace(
      head +
      R"j({"ph":"X","tid":2,"pid":1,"name":"f(int)[SIMD32 {8; 4; 1} {32; 1; 1}]","cat":"gpu_op","ts":100,"dur":20,"args":{"id":"0"}},)j"
      R"j({"ph":"X","tid":2,"pid":1,"name":"Tile #1: g","cat":"gpu_op","ts":130,"dur":20},)j"
      R"j({"ph":"X","tid":2,"pid":1,"name":"zeCommandListAppendMemoryCopy(M2D)[8192 bytes]","cat":"gpu_op","ts":10,"dur":4},)j"
      R"j({"ph":"X","tid":2,"pid":1,"name":"zeCommandListAppendMemoryCopy(D2M)","cat":"gpu_op","ts":20,"dur":4},)j"
      R"j({"ph":"X","tid":2,"pid":1,"name":"zeCommandListAppendMemoryFill(D)[64 bytes]","cat":"gpu_op","ts":30,"dur":4},)j"
      R"j({"ph":"X","tid":2,"pid":1,"name":"zeCommandListAppendBarrier","cat":"gpu_op","ts":40,"dur":4},)j"
      R"j({"ph":"X","tid":2,"pid":1,"name":"Tile #","cat":"gpu_op","ts":50,"dur":1},)j"
      R"j({"ph":"X","tid":2,"pid":1,"name":"zeCommandX)([ bytes]","cat":"gpu_op","ts":50,"dur":1})j");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(only_device(file).ordinal, 2);
  EXPECT_EQ(file.text(only_device(file).name), "Intel Max 1550");
  const auto kernels = file.rows<trace::kernel_event>();
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(file.text(kernels[0].name), "f(int)");
  EXPECT_EQ(kernels[0].grid_y, 4U);
  EXPECT_EQ(kernels[0].block_x, 32U);
  EXPECT_EQ(file.text(kernels[1].name), "g");
  EXPECT_EQ(file.copies(trace::direction::h2d).bytes, 8192);
  EXPECT_EQ(file.copies(trace::direction::d2h).count, 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "copies and memsets whose size is not in the file"), 1U);
  EXPECT_EQ(file.rows<trace::memset_event>().size(), 1U);
  EXPECT_EQ(file.range("zeCommandListAppendBarrier").count, 1U);
}

TEST(rocprof_trace, has_kernels_copies_and_calls) {
  const brought_file file = get_trace(
      R"j({"args":{"name":"0 GPU1"},"ph":"M","pid":"6","name":"process_name"},)j"
      R"j({"ph":"X","name":"add","pid":"6","tid":"1","ts":"1000.0","dur":"20","args":{"BeginNs":"1","dev-id":"1","queue-id":"3"}},)j"
      R"j({"ph":"X","name":"CopyHostToDevice","pid":"6","tid":"1","ts":"900","dur":"20","args":{"BeginNs":"1","dev-id":"1","queue-id":"0"}},)j"
      R"j({"ph":"X","name":"CopyDeviceToHost","pid":"1","tid":"1","ts":"1900","dur":"20","args":{"BeginNs":"1"}},)j"
      R"j({"ph":"X","name":"hipMemcpy","pid":"2","tid":"77","ts":"970","dur":"15","args":{"BeginNs":"970000"}},)j"
      R"j({"ph":"X","name":"my range","pid":"2","tid":"77","ts":"970","dur":"15","args":{"BeginNs":"970000"}})j");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(only_device(file).ordinal, 1);
  EXPECT_EQ(file.kernels(), 1U);
  EXPECT_EQ(file.copies(trace::direction::h2d).count, 1U);
  EXPECT_EQ(file.copies(trace::direction::d2h).count, 1U);
  EXPECT_EQ(to_number(file.imported().not_understood, "copies and memsets whose size is not in the file"), 2U);
  EXPECT_EQ(file.calls(), 1U);
  EXPECT_EQ(file.range("my range").count, 1U);
}

TEST(ascend_trace, has_kernels_copies_and_waits) {
  const brought_file file(
      "trace_view.json",
      R"j([{"ph":"M","name":"process_name","pid":800,"args":{"name":"Ascend Hardware"}},)j"
      R"j({"ph":"M","name":"process_labels","pid":800,"args":{"labels":"NPU 5"}},)j"
      R"j({"ph":"X","name":"MatMulV2","pid":800,"tid":2,"ts":"1700000000000000.250","dur":40.5,"args":{"Task Type":"AI_CORE","Physic Stream Id":4}},)j"
      R"j({"ph":"X","name":"Add","pid":800,"tid":2,"ts":"1700000000000060.250","dur":1,"args":{"Task Type":"KERNEL_AIVEC"}},)j"
      R"j({"ph":"X","name":"MEMCPY_ASYNC","pid":800,"tid":2,"ts":"1700000000000070","dur":5,"args":{"Task Type":"MEMCPY_ASYNC","size(B)":65536,"operation":"host to device"}},)j"
      R"j({"ph":"X","name":"MEMCPY_ASYNC","pid":800,"tid":2,"ts":"1700000000000080","dur":5,"args":{"Task Type":"MEMCPY_ASYNC"}},)j"
      R"j({"ph":"X","name":"EVENT_WAIT","pid":800,"tid":2,"ts":"1700000000000090","dur":5,"args":{"Task Type":"EVENT_WAIT"}}])j");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(only_device(file).ordinal, 5);
  EXPECT_EQ(file.text(only_device(file).name), "Ascend NPU");
  EXPECT_EQ(file.kernels(), 2U);
  EXPECT_EQ(file.copies(trace::direction::h2d).bytes, 65536);
  EXPECT_EQ(file.rows<trace::transfer_event>().size(), 2U);
  EXPECT_EQ(to_number(file.imported().not_understood, "copies and memsets whose size is not in the file"), 1U);
  EXPECT_EQ(file.range("EVENT_WAIT").count, 1U);
}

// --- the shared cases -------------------------------------------------------------------------------------------------

TEST(foreign_dialects, jax) {
  SLUICE_BRING_CASE("r20-jax-trace.json");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(only_device(file).ordinal, 0);
  EXPECT_EQ(file.kernels(), 10U);
  EXPECT_EQ(busy(file), 402'500);
  EXPECT_EQ(file.copies(trace::direction::h2d).bytes, 4194304);
  EXPECT_EQ(file.copies(trace::direction::d2h).bytes, 1048576);
}

TEST(foreign_dialects, unitrace) {
  SLUICE_BRING_CASE("r20b-unitrace.json");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.kernels(), 4U);
  EXPECT_EQ(busy(file), 81'000);
  EXPECT_EQ(file.copies(trace::direction::h2d).bytes, 8388608);
}

TEST(foreign_dialects, rocprof) {
  SLUICE_BRING_CASE("r20c-rocprof-v1.json");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(only_device(file).ordinal, 0);
  EXPECT_EQ(file.kernels(), 5U);
  EXPECT_EQ(busy(file), 100'000);
  EXPECT_EQ(file.calls(), 1U);
}

TEST(foreign_dialects, ascend) {
  SLUICE_BRING_CASE("r21-ascend-trace_view.json");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.kernels(), 6U);
  EXPECT_EQ(busy(file), 243'000);
  const auto copies = file.rows<trace::transfer_event>();
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].bytes, 65536U);
}

}  // namespace
}  // namespace sluice::importing::chrome_dialects
