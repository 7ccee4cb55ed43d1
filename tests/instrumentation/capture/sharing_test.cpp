// Memory that one process uses and another owns, through the real capture library: an imported block links to its
// owner's block.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/index/growing_index.hpp"
#include "core/index/memory/shared_memory.hpp"
#include "tests/instrumentation/capture/recording.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::test {
namespace {

using namespace trace;

class sharing_test : public testing::TestWithParam<route> {
 protected:
  static recording share(const std::string& method) {
    recording run = record_by(GetParam(), {.arguments = {method}, .program = "fake_sharing_program"});
    EXPECT_EQ(run.status, 0);
    return run;
  }
};
INSTANTIATE_TEST_SUITE_P(by, sharing_test, testing::Values(route::callbacks, route::entry_points),
                         testing::PrintToStringParamName());

struct import {
  alloc_event here;
  const alloc_event* owner = nullptr;  ///< Null if the owner is unknown.
  provenance source = provenance::exact;
};
std::vector<import> list_imports(const recording& run) {
  std::vector<import> imports;
  for (const alloc_event& a : run.allocs) {
    if ((a.flags & ipc_import) == 0) continue;
    imports.push_back({a});
    for (const link_event& link : run.links) {
      if (link.from != a.id) continue;
      EXPECT_EQ(link.kind, link_kind::import_to_owner);
      EXPECT_EQ(imports.back().owner, nullptr) << "two owners";
      const auto owner =
          std::find_if(run.allocs.begin(), run.allocs.end(), [&](const auto& o) { return o.id == link.to; });
      if (owner != run.allocs.end()) imports.back().owner = &*owner;
      imports.back().source = link.source;
    }
  }
  return imports;
}
/// Imported memory as `sluice report` lists it.
std::vector<index::imported_memory> reported(const recording& run) {
  index::growing_index index;
  while (!index.absorb(*run.snapshot, 16)) {
  }
  index::imported_memory_builder builder(index.import_owners());
  builder.add(index.memory(), all_time, index::recorded_range(*run.snapshot));
  return builder.metrics(index.import_owners());
}

TEST_P(sharing_test, a_block_that_is_opened_by_its_handle_leads_to_its_owners) {
  const recording run = share("blocks");
  const std::vector<import> imports = list_imports(run);
  ASSERT_EQ(imports.size(), 2U) << "a block opened twice is recorded once";
  for (const import& had : imports) {
    ASSERT_NE(had.owner, nullptr);
    EXPECT_NE(had.owner->process, had.here.process);
    EXPECT_EQ(had.owner->bytes, had.here.bytes);
    EXPECT_EQ(had.owner->flags & ipc_import, 0U);
    EXPECT_EQ(had.source, provenance::exact);
  }
  const auto metrics = reported(run);
  ASSERT_EQ(metrics.size(), 1U);
  EXPECT_EQ(metrics[0].owner, imports[0].owner->process);
  EXPECT_EQ(metrics[0].process, imports[0].here.process);
  EXPECT_EQ(metrics[0].blocks, 2U);
  EXPECT_EQ(metrics[0].bytes, 3 * mib);
}

TEST_P(sharing_test, a_block_of_a_process_that_nobody_recorded_has_no_owner) {
  const recording run = share("outside");
  const std::vector<import> imports = list_imports(run);
  ASSERT_EQ(imports.size(), 1U);
  EXPECT_EQ(imports[0].owner, nullptr);
  const auto metrics = reported(run);
  ASSERT_EQ(metrics.size(), 1U);
  EXPECT_EQ(metrics[0].owner, process_id::none);
  EXPECT_EQ(metrics[0].bytes, 3 * mib);
}

// The descriptors are open files of the same device file. They are sent in a different order than they were created,
// and their owner closes them.
TEST_P(sharing_test, physical_memory_had_by_descriptor_leads_to_its_owners) {
  const recording run = share("physical");
  const std::vector<import> imports = list_imports(run);
  ASSERT_EQ(imports.size(), 3U);
  std::size_t known = 0;
  for (const alloc_event& mapping : run.allocs) {
    if (mapping.kind != memory_kind::mapping) continue;
    const import& had = imports[known++];
    ASSERT_NE(had.owner, nullptr);
    EXPECT_EQ(had.owner->kind, memory_kind::physical);
    EXPECT_EQ(had.owner->bytes, mapping.bytes);
    EXPECT_NE(had.owner->process, had.here.process);
  }
  EXPECT_EQ(known, 2U);
  EXPECT_EQ(imports[2].owner, nullptr) << "its descriptor has no known origin";
  const auto metrics = reported(run);
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[0].bytes, 10 * mib) << "sizes come from the owner";
  EXPECT_EQ(metrics[1].owner, process_id::none);
}

// Both exported pointers contain the same data: only their pools distinguish them.
TEST_P(sharing_test, a_block_of_a_pool_leads_to_its_owners_in_that_pool) {
  const recording run = share("pools");
  const std::vector<import> imports = list_imports(run);
  ASSERT_EQ(imports.size(), 2U);
  std::vector<pool_id> ids;
  for (const alloc_event& a : run.allocs) {
    if ((a.flags & ipc_import) == 0 && a.layer == layer::pool) ids.push_back(a.pool);
  }
  ASSERT_EQ(ids.size(), 2U);
  ASSERT_NE(imports[0].owner, nullptr);
  ASSERT_NE(imports[1].owner, nullptr);
  EXPECT_EQ(imports[0].owner->pool, ids[1]);
  EXPECT_EQ(imports[1].owner->pool, ids[0]);
  EXPECT_EQ(imports[0].source, provenance::exact);
}

}  // namespace
}  // namespace sluice::test
