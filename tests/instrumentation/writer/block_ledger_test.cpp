// The ledger of live blocks without a file: the rows that it finishes, their order and their ids.
#include "instrumentation/writer/blocks/block_ledger.hpp"

#include <gtest/gtest.h>

#include <variant>

namespace sluice::writer {
namespace {

using namespace trace;

class block_ledger_test : public testing::Test {
 protected:
  static constexpr std::uint64_t first_address = 0x1000;
  static constexpr std::uint64_t last_event = 41;  ///< The last id that the file has assigned.

  block_ledger_test() { rows_.restart(last_event); }

  static alloc_event allocation(time_ns time, std::uint64_t address, layer layer = layer::driver,
                                memory_kind kind = memory_kind::device) {
    alloc_event row;
    row.time = time;
    row.address = address;
    row.bytes = 256;
    row.layer = layer;
    row.kind = kind;
    return row;
  }
  alloc_event add(alloc_event row, const block_ties& ties = {}) {
    EXPECT_TRUE(ledger_.add(row, ties, now_, rows_));
    return row;
  }
  void remove(time_ns time, std::uint64_t address, layer layer = layer::driver,
              memory_kind kind = memory_kind::device) {
    free_request request;
    request.row.time = time;
    request.row.address = address;
    request.row.layer = layer;
    request.kind = kind;
    ledger_.remove(request, now_, rows_);
  }
  /// The finished rows that are frees.
  [[nodiscard]] std::vector<free_event> frees() const {
    std::vector<free_event> found;
    for (const block_rows::row& row : rows_) {
      if (const auto* const free = std::get_if<free_event>(&row)) found.push_back(*free);
    }
    return found;
  }

  turn_clock now_;
  block_rows rows_;
  std::uint64_t last_block_ = 0;
  block_ledger ledger_{last_block_};
};

TEST_F(block_ledger_test, leaves_the_row_of_a_new_block_to_the_caller) {
  const alloc_event row = add(allocation(10, first_address));
  EXPECT_EQ(raw(row.id), last_event + 1);
  EXPECT_EQ(raw(row.block), 1u);
  EXPECT_TRUE(rows_.empty());
  EXPECT_EQ(ledger_.find(first_address), row.block);
}

TEST_F(block_ledger_test, takes_no_id_for_a_block_that_it_knows) {
  add(allocation(10, first_address));
  alloc_event again = allocation(20, first_address);
  EXPECT_FALSE(ledger_.add(again, {.shared = true}, now_, rows_));
  const alloc_event next = add(allocation(30, first_address + 0x1000));
  EXPECT_EQ(raw(next.id), last_event + 2);
}

TEST_F(block_ledger_test, finishes_the_free_of_a_framework_at_once) {
  const alloc_event block = add(allocation(10, first_address, layer::framework));
  remove(20, first_address, layer::framework);
  ASSERT_EQ(frees().size(), 1u);
  EXPECT_EQ(frees()[0].block, block.block);
  EXPECT_EQ(raw(frees()[0].id), last_event + 2);
  EXPECT_EQ(ledger_.live_blocks(), 0u);
}

TEST_F(block_ledger_test, finishes_the_free_of_the_driver_when_it_completes) {
  add(allocation(10, first_address));
  remove(20, first_address);
  EXPECT_TRUE(rows_.empty());
  ledger_.complete(layer::driver, first_address, 25, now_, rows_);
  ASSERT_EQ(frees().size(), 1u);
  EXPECT_EQ(frees()[0].completed, 25);
}

TEST_F(block_ledger_test, adds_a_row_for_a_completion_that_comes_late) {
  add(allocation(10, first_address));
  remove(20, first_address);
  ledger_.write_freed(rows_);
  ASSERT_EQ(frees().size(), 1u);
  const event_id free = frees()[0].id;
  rows_.restart(50);
  ledger_.complete(layer::driver, first_address, 25, now_, rows_);
  ASSERT_EQ(rows_.size(), 1u);
  const auto& completion = std::get<late_completion>(*rows_.begin());
  EXPECT_EQ(completion.free, free);
  EXPECT_EQ(completion.time, 25);
}

TEST_F(block_ledger_test, puts_a_free_that_came_first_behind_its_allocation) {
  remove(20, first_address, layer::framework);
  EXPECT_TRUE(rows_.empty());
  const alloc_event block = add(allocation(10, first_address, layer::framework));
  ASSERT_EQ(frees().size(), 1u);
  EXPECT_EQ(frees()[0].block, block.block);
  EXPECT_EQ(raw(frees()[0].id), raw(block.id) + 1);
}

TEST_F(block_ledger_test, keeps_physical_memory_until_it_is_released_and_unmapped) {
  constexpr std::uint64_t handle = 7;
  const alloc_event memory = add(allocation(10, handle, layer::driver, memory_kind::physical));
  add(allocation(11, first_address, layer::driver, memory_kind::mapping), {.owner = handle});
  add(allocation(12, first_address + 0x1000, layer::driver, memory_kind::mapping), {.owner = handle});
  remove(20, handle, layer::driver, memory_kind::physical);
  remove(21, first_address, layer::driver, memory_kind::mapping);
  EXPECT_NE(ledger_.find_physical(handle), nullptr);
  remove(22, first_address + 0x1000, layer::driver, memory_kind::mapping);
  EXPECT_EQ(ledger_.find_physical(handle), nullptr);
  ASSERT_EQ(frees().size(), 1u) << "the frees of the mappings wait for their completion";
  EXPECT_EQ(frees()[0].block, memory.block);
  EXPECT_EQ(frees()[0].source, provenance::inferred);
}

TEST_F(block_ledger_test, keeps_the_memory_of_a_graph_until_its_last_copy_ends) {
  alloc_event node = allocation(10, first_address);
  node.flags = graph_memory;
  add(node, {.owner = 3});
  ledger_.add_graph(3, 4);
  ledger_.end_graph(3, 20, rows_);
  EXPECT_EQ(ledger_.live_blocks(), 1u);
  ledger_.end_graph(4, 30, rows_);
  EXPECT_EQ(ledger_.live_blocks(), 0u);
  EXPECT_EQ(frees().size(), 1u);
}

// The file assigns ids in the order of the rows, so a row that is inserted later must have taken its id earlier.
TEST_F(block_ledger_test, gives_ids_in_the_order_of_the_rows) {
  constexpr time_ns sent = 1'000'000'000;
  add(allocation(10, first_address, layer::framework));
  remove(sent, first_address + 0x1000, layer::framework);
  remove(sent, first_address + 0x2000, layer::framework);
  block_ledger::known_set live;
  live.time = sent;
  for (const std::uint64_t address : {first_address + 0x1000, first_address + 0x2000})
    live.blocks.push_back({address, 256, layer::framework, memory_kind::device, device_id::none});
  rows_.restart(last_event);
  ledger_.reconcile(live, process_id{1}, now_, rows_);
  ASSERT_EQ(rows_.size(), 5u) << "a free of the missing block; twice an allocation and its early free";
  std::uint64_t id = last_event;
  for (const block_rows::row& row : rows_) {
    const auto* const alloc = std::get_if<alloc_event>(&row);
    EXPECT_EQ(raw(alloc != nullptr ? alloc->id : std::get<free_event>(row).id), ++id);
  }
}

}  // namespace
}  // namespace sluice::writer
