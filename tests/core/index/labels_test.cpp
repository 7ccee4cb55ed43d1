#include "core/index/labels.hpp"

#include <gtest/gtest.h>

namespace sluice::index {
namespace {

/// Fixture with two machines, "node1" and "node2", each with one process and a device on which that process has a
/// context.
class two_machines : public ::testing::Test {
 protected:
  void SetUp() override {
    put_text(1, "node1");
    put_text(2, "node2");
    put_text(3, "NVIDIA H100");
    put_machine(1, 0);
    put_machine(2, 0);
  }

  void put_text(std::uint64_t id, std::string text) {
    all.strings.put({.id = trace::string_id{id}, .text = std::move(text)});
  }
  /// Adds a machine, whose process and device also have the number `id`. The machine's name is the text with that id.
  void put_machine(std::uint64_t id, std::int64_t ordinal) {
    all.hosts.put({.id = trace::host_id{id}, .name = trace::string_id{id}});
    all.processes.put({.id = trace::process_id{id}, .host = trace::host_id{id}});
    put_device(id, ordinal);
    all.contexts.put({.id = trace::context_id{id}, .process = trace::process_id{id}, .device = trace::device_id{id}});
  }
  void put_device(std::uint64_t id, std::int64_t ordinal) {
    trace::device_row row;
    row.id = trace::device_id{id};
    row.name = trace::string_id{3};
    row.ordinal = ordinal;
    all.devices.put(row);
  }

  trace::tables all;
};

TEST_F(two_machines, name_the_machine_of_gpus_with_the_same_number) {
  EXPECT_EQ(short_label(trace::device_id{1}, all), "GPU 0 of node1");
  EXPECT_EQ(device_label(trace::device_id{2}, all), "NVIDIA H100 (GPU 0 of node2)");
}

TEST_F(two_machines, need_no_name_for_gpus_with_a_number_of_their_own) {
  put_device(3, 1);
  EXPECT_EQ(short_label(trace::device_id{3}, all), "GPU 1");
}

TEST_F(two_machines, of_which_a_device_is_not_known_leave_it_unsaid) {
  put_device(3, 0);
  EXPECT_EQ(short_label(trace::device_id{3}, all), "GPU 0");
}

TEST_F(two_machines, say_the_rank_where_the_ranks_of_a_machine_each_see_one_gpu) {
  for (const std::uint64_t id : {1, 2})
    all.processes.put({.id = trace::process_id{id}, .host = trace::host_id{1}, .rank = static_cast<std::int64_t>(id)});
  EXPECT_EQ(short_label(trace::device_id{1}, all), "GPU 0 of rank 1");
  EXPECT_EQ(short_label(trace::device_id{2}, all), "GPU 0 of rank 2");
  EXPECT_EQ(label_beside_rank(trace::device_id{2}, all), "GPU 0");
}

TEST_F(two_machines, say_the_process_where_processes_without_a_rank_each_see_one_gpu) {
  for (const std::uint64_t id : {1, 2})
    all.processes.put({.id = trace::process_id{id}, .host = trace::host_id{1}, .pid = 100 * id});
  EXPECT_EQ(short_label(trace::device_id{1}, all), "GPU 0 of process 100");
  EXPECT_EQ(device_label(trace::device_id{2}, all), "NVIDIA H100 (GPU 0 of process 200)");
}

TEST_F(two_machines, know_the_process_of_a_gpu_by_its_stream) {
  all.contexts = {};
  for (const std::uint64_t id : {1, 2}) {
    all.processes.put({.id = trace::process_id{id}, .host = trace::host_id{1}, .pid = 100 * id});
    trace::stream_row stream;
    stream.id = trace::stream_id{id};
    stream.process = trace::process_id{id};
    stream.device = trace::device_id{id};
    all.streams.put(stream);
  }
  EXPECT_EQ(short_label(trace::device_id{1}, all), "GPU 0 of process 100");
}

TEST_F(two_machines, have_devices_of_one_name_that_are_counted) {
  EXPECT_EQ(device_names(all, true), "2 x NVIDIA H100");
  put_text(4, "NVIDIA A100");
  trace::device_row other;
  other.id = trace::device_id{5};
  other.name = trace::string_id{4};
  all.devices.put(other);
  put_device(6, 1);
  EXPECT_EQ(device_names(all, true), "3 x NVIDIA H100, NVIDIA A100");
  other.id = trace::device_id{7};
  other.kind = trace::device_kind::simulated;
  all.devices.put(other);
  EXPECT_EQ(device_names(all, true), "3 x NVIDIA H100, 2 x NVIDIA A100");
  EXPECT_EQ(device_names(all, false), "3 x NVIDIA H100, NVIDIA A100");
}

TEST(labels, of_gpus_of_one_machine_name_no_machine) {
  trace::tables all_tables;
  all_tables.hosts.put({.id = trace::host_id{1}});
  trace::device_row row;
  row.id = trace::device_id{1};
  row.ordinal = 0;
  all_tables.devices.put(row);
  EXPECT_EQ(short_label(trace::device_id{1}, all_tables), "GPU 0");
}

}  // namespace
}  // namespace sluice::index
